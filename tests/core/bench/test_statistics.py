"""Two equal arms are seldom told apart, and three per cent is found: whole benchmarks, simulated.

The simulated host has the noise of a quiet one: 1 % from token to token, 0.3 % from run to run,
and in the A/A case also a drift of 10 % over the benchmark and a neighbour who comes and goes.
"""

import math
from random import Random

from idlegap.core.bench.conclusion import SpeedUp, speed_up
from idlegap.core.bench.plan import ArmSpec, BenchPlan
from idlegap.core.bench.runner import Bench
from idlegap.core.bench.summary import summarise
from tests.core.bench.fake_engine import MS, Cost, FakeEngine, cheaper, drive

QUIET = Cost(wall=4.2, dispatch=0.03, busy=3.7)
BENCHES = 20
MOST_FALSE_ALARMS = 2


def compare(engine: FakeEngine, plan: BenchPlan) -> SpeedUp:
    result = Bench(drive(engine), plan).run().result
    assert result is not None
    first, second = summarise(result)
    found = speed_up(second, first)
    assert found is not None
    assert found.ratio.runs == 5
    return found


def drifting(now_ns: int) -> float:
    return 1 + 0.1 * math.sin(now_ns / 1e9)


def neighbour(random: Random) -> int:
    """One token in ten waits for a CPU, for 0.2 ms on average."""
    return round(random.expovariate(1 / (0.2 * MS))) if random.random() < 0.1 else 0


def test_the_same_mode_under_two_names_is_called_different_in_at_most_two_of_twenty_benches() -> None:
    plan = BenchPlan((ArmSpec("a", "graph"), ArmSpec("b", "graph")), verify=False)
    called = 0
    for seed in range(BENCHES):
        engine = FakeEngine({"graph": QUIET}, seed=seed, speed=drifting, delay_ns=neighbour)
        called += compare(engine, plan).significant
    assert called <= MOST_FALSE_ALARMS


def test_three_per_cent_of_added_time_is_found_in_nearly_every_bench() -> None:
    plan = BenchPlan((ArmSpec("a", "graph"), ArmSpec("b", "fused-graph")), verify=False)
    found = 0
    for seed in range(BENCHES):
        engine = FakeEngine({"graph": QUIET, "fused-graph": cheaper(QUIET, 1.03)}, seed=seed)
        difference = compare(engine, plan)
        found += difference.significant and difference.ratio.difference == "lower"
    assert found >= BENCHES - 1
