"""The one-minute check: a short benchmark, judged line by line."""

from math import ceil

import msgspec

from idlegap.core.bench.assemble import LEAD_IN
from idlegap.core.bench.plan import BenchPlan, Enough, arms_for
from idlegap.core.bench.schema import BenchResult
from idlegap.core.bench.summary import summarise
from idlegap.core.check.card import Card
from idlegap.core.check.gpu_lines import gpu_lines, speed_lines
from idlegap.core.check.host_lines import P99_TOKENS, WATCHED_S, host_lines, watched_line
from idlegap.core.check.predictions import Predictions, predict
from idlegap.core.protocol.modes import BASELINE, REPLAYED

CHECK_SECONDS = 60.0
CHECK_NEW_TOKENS = 64
"""A run of a quarter of the usual length, so that a minute holds enough of them on slow hosts."""

MOST_RUNS = 40

ON_CPU = Enough(runs=ceil(P99_TOKENS / (CHECK_NEW_TOKENS - LEAD_IN)), seconds=WATCHED_S)
"""Without a GPU only the host's lines remain, which more of the minute would not make better."""


class CheckResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A card with its predictions (``levers`` in files), and the benchmark that both were read from."""

    card: Card
    predictions: Predictions = msgspec.field(name="levers")
    bench: BenchResult


def check_plan(seconds: float = CHECK_SECONDS) -> BenchPlan:
    """Eager-static against graph, in as many turns as `seconds` from the start allow; on the CPU
    in no more than the host's lines need."""
    return BenchPlan(
        arms_for([BASELINE, REPLAYED]),
        runs=MOST_RUNS,
        verify=False,
        probe=True,
        seconds=seconds,
        on_cpu=ON_CPU,
    )


def judge(result: BenchResult) -> CheckResult:
    """The card of the machine that `result` was measured on."""
    arms = summarise(result)
    gpu = result.engine.device != "cpu"
    watched = [] if gpu else [watched_line(result)]
    lines = [*gpu_lines(result), *speed_lines(result, arms), *watched, *host_lines(result)]
    return CheckResult(Card.of(lines, gpu=gpu), predict(arms), result)
