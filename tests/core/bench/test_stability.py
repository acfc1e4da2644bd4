"""Doubts about a result: each found where it is, with its evidence, and not where it is not."""

from random import Random

import msgspec
import pytest

from idlegap.core.bench.schema import Arm, BenchResult, Conditions
from idlegap.core.bench.stability import Finding, contention, stability
from idlegap.core.bench.summary import summarise
from tests.core.bench.results import MS, arm, bench, columns, run, window


def doubts(result: BenchResult) -> list[Finding]:
    return list(stability(result, summarise(result)))


def topics(*arms: Arm, **changes: object) -> list[str]:
    return [found.topic for found in doubts(bench(*arms, **changes))]


def steady(mode: str = "graph", level: float = 4.2, seed: int = 1) -> Arm:
    """Runs with the noise of a quiet machine."""
    random = Random(seed)
    made = arm(mode)  # type: ignore[arg-type]
    runs = tuple(
        run(turn, columns([level * random.gauss(1, 0.01) for _ in range(40)], 0.03)) for turn in range(6)
    )
    return msgspec.structs.replace(made, runs=runs)


def under(made: Arm, *conditions: Conditions) -> Arm:
    """`made` with these conditions in its counted runs, in turn."""
    runs = list(made.runs)
    for turn, seen in enumerate(conditions, 1):
        runs[turn] = msgspec.structs.replace(runs[turn], conditions=seen)
    return msgspec.structs.replace(made, runs=tuple(runs))


@pytest.mark.parametrize("seed", range(20))
def test_a_steady_machine_raises_no_doubt(seed: int) -> None:
    quiet = Conditions(
        others_cores=0.3, steal_pct=0.2, throttled_ns=0, sm_mhz=(1965, 1980, 1980), event_reasons=1
    )
    assert (
        topics(
            under(steady("eager-static", 22.4, seed), quiet), under(steady("graph", 4.2, seed + 100), quiet)
        )
        == []
    )


def test_a_rising_level_is_drift_and_the_evidence_names_its_ends() -> None:
    (found,) = doubts(bench(arm("graph", [4.0, 4.1, 4.2, 4.3, 4.4])))
    assert found.topic == "drift"
    assert "9.5 % slower" in found.evidence
    assert "4.00 to 4.40 ms" in found.evidence
    assert "faster" in doubts(bench(arm("graph", [4.4, 4.3, 4.2, 4.1, 4.0])))[0].evidence


def test_a_small_or_an_irregular_change_is_no_drift() -> None:
    assert "drift" not in topics(arm("graph", [4.0, 4.01, 4.02, 4.03, 4.04]))
    assert "drift" not in topics(arm("graph", [4.0, 4.3, 4.1, 4.4, 4.2]))
    assert "drift" not in topics(arm("graph", [4.0, 4.2, 4.4, 4.6]))


def test_tokens_of_two_speeds_within_runs_are_found() -> None:
    runs = [run(turn, columns([4.0, 4.0, 6.0] * 20)) for turn in range(6)]
    (found,) = doubts(bench(arm("graph", runs=tuple(runs))))
    assert found.topic == "two speeds"
    assert (
        "67 % of the tokens near 4.00 ms, the rest near 6.00 ms (both within 5 of 5 runs)" in found.evidence
    )


def test_whole_runs_of_two_speeds_are_told_from_that() -> None:
    found = doubts(bench(arm("graph", [4.0, 6.0, 4.0, 6.0, 4.0])))
    assert {doubt.topic for doubt in found} == {"two speeds", "spread"}
    assert any("whole runs at one or the other" in doubt.evidence for doubt in found)


def test_runs_that_differ_by_a_tenth_are_too_spread_to_say_much() -> None:
    (found,) = doubts(bench(arm("graph", [4.0, 5.4, 4.7, 5.05, 4.35])))
    assert found.topic == "spread"
    assert "12 % (4.00 to 5.40 ms)" in found.evidence


def test_waiting_for_a_cpu_is_contention_with_whoever_had_it() -> None:
    waiting = run(2, columns([10.0] * 4, delays_ms=[0, 2, 0, 2]), conditions=Conditions(others_cores=9.1))
    still = [run(turn, columns([10.0] * 4, delays_ms=[0.05] * 4)) for turn in (1, 3)]
    made = arm("eager-static", runs=(still[0], waiting, still[1]), windows=())
    result = bench(made)
    found = doubts(result)
    assert [doubt.topic for doubt in found] == ["contention"]
    assert found[0].evidence == (
        "in 1 of 3 runs the decode thread waited for a CPU, 10 % of the time in eager-static run 2 while "
        "others kept 9.1 cores busy"
    )
    assert contention(result) == found[0].evidence


@pytest.mark.parametrize(
    ("share", "seen", "contended"),
    [
        (0.049, Conditions(), False),
        (0.051, Conditions(), True),
        (0.0, Conditions(throttled_ns=11 * MS), False),
        (0.0, Conditions(throttled_ns=12 * MS), True),
        (0.0, Conditions(steal_pct=4.9), False),
        (0.0, Conditions(steal_pct=5.0), True),
    ],
)
def test_contended_is_more_than_a_twentieth_of_the_time(
    share: float, seen: Conditions, contended: bool
) -> None:
    """Of the run: a prefill of 30 ms and 20 tokens of 10."""
    held = [run(turn, columns([10.0] * 20, delays_ms=[10 * share] * 20), conditions=seen) for turn in (1, 2)]
    assert topics(arm("graph", runs=tuple(held))) == ["contention"] * contended


def test_the_warm_up_may_be_disturbed() -> None:
    disturbed = run(0, columns([10.0] * 4, delays_ms=[9.0] * 4))
    made = arm("graph", runs=(disturbed, *steady().runs[1:]))
    assert topics(made) == []


@pytest.mark.parametrize(
    ("seen", "topic", "part"),
    [
        (
            Conditions(throttled_ns=40 * MS),
            "contention",
            "group in 1 of 5 runs, for 40.0 ms",
        ),
        (
            Conditions(steal_pct=12.0),
            "contention",
            "12 % of the machine's time to others in 1 of 5",
        ),
        (Conditions(sm_mhz=(1410, 1980, 1980)), "clocks", "between 1,410 and 1,980 MHz while graph ran"),
        (Conditions(event_reasons=0x40), "clocks", "hardware thermal slowdown"),
    ],
)
def test_each_sensor_has_its_doubt(seen: Conditions, topic: str, part: str) -> None:
    (found,) = doubts(bench(under(steady(), seen)))
    assert found.topic == topic
    assert part in found.evidence
    assert found.advice


def test_an_idle_gpu_is_no_slowdown() -> None:
    assert topics(under(steady(), Conditions(event_reasons=0x1))) == []


def test_clocks_that_differ_between_runs_are_found_too() -> None:
    seen = [Conditions(sm_mhz=(mhz, mhz, mhz)) for mhz in (1980, 1980, 1700)]
    assert topics(under(steady(), *seen)) == ["clocks"]


def test_lost_tokens_and_rejected_profiles_are_told() -> None:
    lost = msgspec.structs.replace(steady().runs[5], complete=False)
    cut = msgspec.structs.replace(steady(), runs=(*steady().runs[:5], lost))
    assert (
        "12 messages of the engine were lost; 1 incomplete runs" in doubts(bench(cut, dropped=12))[0].evidence
    )
    rejected = window("graph", accepted=False, reason="1,430 kernels per step, 1,429 in the window before")
    (found,) = doubts(bench(msgspec.structs.replace(steady(), windows=(rejected,))))
    assert found.topic == "profile"
    assert "1,430 kernels per step" in found.evidence


def test_on_the_cpu_a_missing_profile_is_no_doubt() -> None:
    none = window("graph", accepted=False, steps=0, reason="profile windows need CUDA")
    assert topics(msgspec.structs.replace(steady(), windows=(none,))) == []
    assert contention(bench(steady())) == ""
