"""Was the machine steady while it was measured? Each doubt with its evidence and what to do.

Interleaving protects ratios from much of this; absolute times are not protected.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

from idlegap.core.bench.schema import Arm, BenchResult, Run
from idlegap.core.bench.summary import ArmSummary
from idlegap.core.measure.limits import SLOWER_CLOCK, is_contended, is_stolen
from idlegap.core.measure.trends import LEAST_SHARE, trend, two_levels
from idlegap.core.slow_tokens.context import SLOWING_REASONS
from idlegap.core.text.reasons import words
from idlegap.core.text.units import ms, percent

DRIFT_CHANGE = 0.05
"""A trend of less than 5 % from the first to the last run changes no conclusion."""

DRIFT_P = 0.05
"""Five runs in strictly rising or falling order have p = 0.017; four cannot get below 0.08."""

SPREAD = 0.10
"""Standard deviation of the runs over their mean, from which five runs say little."""

Topic = Literal["contention", "drift", "two speeds", "clocks", "spread", "lost tokens", "profile"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One doubt about a result. Contention is said beside its headline."""

    topic: Topic
    evidence: str
    advice: str


def stability(result: BenchResult, arms: Sequence[ArmSummary]) -> tuple[Finding, ...]:
    """Everything that speaks against `result`, most serious first."""
    found: list[Finding] = [*_contended(result), *_lost(result)]
    for arm, summary in zip(result.arms, arms, strict=True):
        found.extend(_drift(summary))
        found.extend(_two_speeds(arm))
        found.extend(_spread(summary))
        found.extend(_rejected(arm))
    found.extend(_clocks(result))
    return tuple(found)


def contention(result: BenchResult) -> str:
    """What stands beside the headline if somebody else used the machine, else ""."""
    return next((found.evidence for found in _contended(result)), "")


def _contended(result: BenchResult) -> Iterable[Finding]:
    """Every sign that somebody else used the machine, most serious first."""
    runs = [(f"{arm.label} run {run.turn}", run) for arm in result.arms for run in arm.counted]
    waited = [(_waited_share(run), name, run) for name, run in runs if is_contended(_waited_share(run), 1)]
    if waited:
        share, name, run = max(waited, key=lambda entry: entry[0])
        others = run.conditions.others_cores
        busy = f" while others kept {others:.1f} cores busy" if others is not None else ""
        yield Finding(
            "contention",
            f"in {len(waited)} of {len(runs)} runs the decode thread waited for a CPU, "
            f"{percent(share)} of the time in {name}{busy}",
            "repeat when the host is quiet, or rent one with CPUs of its own; compare modes by their "
            "ratios, not by their times",
        )
    # The kernel adds throttled time up over the group's run queues: an upper bound.
    stopped = [(run.conditions.throttled_ns or 0, name, run) for name, run in runs]
    held = [(stopped_ns, name) for stopped_ns, name, run in stopped if is_contended(stopped_ns, run.span_ns)]
    if held:
        throttled_ns, name = max(held)
        yield Finding(
            "contention",
            f"a CPU quota stopped the engine's group in {len(held)} of {len(runs)} runs, for "
            f"{ms(throttled_ns)} ms in {name}",
            "raise the container's CPU limit",
        )
    steal = [run.conditions.steal_pct or 0.0 for _, run in runs if is_stolen(run.conditions.steal_pct or 0.0)]
    if steal:
        yield Finding(
            "contention",
            f"the hypervisor gave up to {max(steal):.0f} % of the machine's time to others in "
            f"{len(steal)} of {len(runs)} runs",
            "rent a machine whose CPUs are not oversold",
        )


def _waited_share(run: Run) -> float:
    """Share of the counted tokens' time that the decode thread waited for a CPU."""
    if run.tokens.run_delay_ns is None:
        return 0.0
    walls = run.tokens.counted(run.tokens.wall_ns)
    return sum(run.tokens.counted(run.tokens.run_delay_ns)) / sum(walls) if walls else 0.0


def _lost(result: BenchResult) -> Iterable[Finding]:
    short = sum(not run.complete for arm in result.arms for run in arm.runs)
    if result.dropped:
        yield Finding(
            "lost tokens",
            f"{result.dropped:,} messages of the engine were lost; {short} incomplete runs do not count",
            "the machine was too busy to read them: repeat with less beside it",
        )


def _drift(arm: ArmSummary) -> Iterable[Finding]:
    medians = [arm.run_medians_ns[turn] for turn in sorted(arm.run_medians_ns)]
    if len(medians) < 2:
        return
    found = trend(medians)
    if found.p <= DRIFT_P and abs(found.change) >= DRIFT_CHANGE:
        way = "slower" if found.change > 0 else "faster"
        yield Finding(
            "drift",
            f"{arm.label} became {percent(abs(found.change))} {way} from its first to its last run "
            f"({ms(medians[0])} to {ms(medians[-1])} ms, p = {found.p:.3f})",
            "let the machine settle and repeat; ratios of interleaved runs stand, times do not",
        )


def two_speeds(arm: Arm) -> str:
    """That the counted tokens of `arm` have two speeds, with both of them; "" where one describes them.

    A median or a mean hides that, and so does an interval over runs.
    """
    runs = [run.tokens.counted(run.tokens.wall_ns) for run in arm.counted]
    found = two_levels([wall for walls in runs for wall in walls])
    if found is None:
        return ""
    mixed = sum(
        LEAST_SHARE <= sum(wall > found.boundary for wall in walls) / len(walls) <= 1 - LEAST_SHARE
        for walls in runs
        if walls
    )
    where = f"both within {mixed} of {len(runs)} runs" if mixed else "whole runs at one or the other"
    return (
        f"{arm.label} has two speeds: {percent(found.low_share)} of the tokens near {ms(found.low)} ms, the "
        f"rest near {ms(found.high)} ms ({where})"
    )


def _two_speeds(arm: Arm) -> Iterable[Finding]:
    evidence = two_speeds(arm)
    if evidence:
        yield Finding(
            "two speeds",
            evidence,
            "one median hides this: look for a clock or a core that switches, pin the decode thread (--pin) "
            "or lock the clocks",
        )


def _spread(arm: ArmSummary) -> Iterable[Finding]:
    medians = list(arm.run_medians_ns.values())
    if len(medians) >= 3 and stdev(medians) > SPREAD * fmean(medians):
        yield Finding(
            "spread",
            f"the runs of {arm.label} differ by {percent(stdev(medians) / fmean(medians))} "
            f"({ms(min(medians))} to {ms(max(medians))} ms)",
            "take more runs (--runs 10) or find what disturbs the host",
        )


def _rejected(arm: Arm) -> Iterable[Finding]:
    if arm.windows and arm.window is None and arm.windows[-1].steps:
        yield Finding(
            "profile",
            f"{arm.label} has no profile: {words(arm.windows[-1].reason)}",
            "close other profilers and repeat; without it the idle gap is not known",
        )


def _clocks(result: BenchResult) -> Iterable[Finding]:
    for arm in result.arms:
        clocks = [run.conditions.sm_mhz for run in arm.counted if run.conditions.sm_mhz is not None]
        if clocks:
            lowest, highest = min(c[0] for c in clocks), max(c[2] for c in clocks)
            if lowest < SLOWER_CLOCK * highest:
                yield Finding(
                    "clocks",
                    f"the SM clock moved between {lowest:,} and {highest:,} MHz while {arm.label} ran",
                    "lock the clocks (nvidia-smi -lgc) where you may, or repeat when the card has warmed up",
                )
    masks = [run.conditions.event_reasons or 0 for arm in result.arms for run in arm.counted]
    names = [name for bit, name in SLOWING_REASONS.items() if any(mask & bit for mask in masks)]
    if names:
        yield Finding(
            "clocks",
            f"the GPU held its clocks back: {', '.join(names)}",
            "check its cooling and its power limit",
        )
