"""What a benchmark says, in one sentence, and what nobody may read into it.

The controlled comparison is `graph` against `eager-static`: the same kernels over the same
cache, submitted once instead of one by one. The share of the token that this saves is the cost
of dispatch. The profile gives a second, independent view: the share in which the device idled
because the host was late. `core.measure.limits` judges by the profile, and by replay without one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from idlegap.core.bench.schema import BenchResult
from idlegap.core.bench.summary import ArmSummary
from idlegap.core.measure.limits import Judgement, is_different, judge_by_replay
from idlegap.core.measure.statistics import MIN_RUNS, Ratio, paired_ratio_interval
from idlegap.core.protocol.modes import BASELINE, EAGER, REPLAYED, ModeName
from idlegap.core.text.phrases import LIMIT_WORDS, sentence
from idlegap.core.text.reasons import logit_diff_words
from idlegap.core.text.units import interval, ms, percent

DISAGREEMENT = 0.20
"""Replay and profile measure the same thing apart; a larger difference needs an explanation."""

PREFILL_MOVED = 0.05
"""Prefill is the same code in all static modes; beyond this something else differed too."""


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """How much faster `label` is than `against`: the ratio of their token times."""

    label: str
    against: str
    ratio: Ratio

    @property
    def significant(self) -> bool:
        """Whether it is a difference at all."""
        return is_different(self.ratio)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """`judgement` is of eager-static; where nothing tells, it holds the reason, and so does `headline`.

    `controlled` are the speed-ups against eager-static, `gained` those against the fastest
    eager mode; `caveats` is what may not be concluded.
    """

    judgement: Judgement
    headline: str
    controlled: tuple[SpeedUp, ...]
    gained: tuple[SpeedUp, ...]
    prefill: str
    caveats: tuple[str, ...]


def conclude(result: BenchResult, arms: Sequence[ArmSummary]) -> Conclusion:
    """Judge `result`, whose arms are summarised in `arms`."""
    measured = [arm for arm in arms if arm.run_medians_ns]
    baseline = _first(measured, BASELINE)
    eager = [arm for arm in measured if arm.mode in EAGER and arm.median_ns is not None]
    fastest = min(eager, key=lambda arm: arm.median_ns or 0, default=None)
    judgement = eager_limit(result, arms)
    return Conclusion(
        judgement=judgement,
        headline=_headline(result, judgement, baseline, _first(measured, REPLAYED)),
        controlled=_speed_ups(measured, baseline),
        gained=_speed_ups(measured, fastest),
        prefill=_prefill(baseline, _first(measured, REPLAYED)),
        caveats=tuple(_caveats(result, measured, baseline)),
    )


def eager_limit(result: BenchResult, arms: Sequence[ArmSummary]) -> Judgement:
    """What limits eager-static: by its profile, else by what replaying the same kernels saves."""
    measured = [arm for arm in arms if arm.run_medians_ns]
    baseline, graph = _first(measured, BASELINE), _first(measured, REPLAYED)
    if result.engine.device == "cpu":
        return Judgement("unknown", "nothing", 0, reason="no GPU took part")
    if baseline is None or baseline.median_ns is None:
        return Judgement("unknown", "nothing", 0, reason=f"{BASELINE} was not measured")
    found = speed_up(graph, baseline) if graph is not None else None
    if baseline.split is None and found is not None and found.significant:
        return judge_by_replay(baseline.median_ns, baseline.median_ns / found.ratio.value)
    return baseline.judgement


def speed_up(arm: ArmSummary, against: ArmSummary) -> SpeedUp | None:
    """The ratio over the turns that both took part in; None without a common one."""
    turns = sorted(arm.run_medians_ns.keys() & against.run_medians_ns.keys())
    if not turns:
        return None
    slow = [against.run_medians_ns[turn] for turn in turns]
    fast = [arm.run_medians_ns[turn] for turn in turns]
    return SpeedUp(arm.label, against.label, paired_ratio_interval(slow, fast))


def _speed_ups(arms: Sequence[ArmSummary], against: ArmSummary | None) -> tuple[SpeedUp, ...]:
    if against is None:
        return ()
    found = (speed_up(arm, against) for arm in arms if arm is not against)
    return tuple(ratio for ratio in found if ratio is not None)


def _first(arms: Sequence[ArmSummary], mode: ModeName) -> ArmSummary | None:
    return next((arm for arm in arms if arm.mode == mode), None)


def _headline(
    result: BenchResult, judgement: Judgement, baseline: ArmSummary | None, graph: ArmSummary | None
) -> str:
    if result.engine.device == "cpu":
        return "No GPU took part: these figures are the CPU's own and say nothing about dispatch."
    if baseline is None or baseline.median_ns is None:
        return "Cannot tell: eager-static, the baseline of the comparison, was not measured."
    replay = speed_up(graph, baseline) if graph is not None else None
    if graph is None or replay is None:
        return _by_profile_alone(judgement)
    limits, token = LIMIT_WORDS[judgement.limit], f"the median token's {ms(judgement.wall_ns)} ms"
    works = f"the GPU works {ms(judgement.busy_ns)} of {token}; " if judgement.busy_ns is not None else ""
    what = f"{works}the same kernels replayed from a graph make it {ms(graph.median_ns or 0)} ms"
    by_profile = f" By the profile, {limits}." if judgement.limit != "unknown" else ""
    if replay.ratio.difference == "too few runs":
        return (
            f"Not significant: {what}, but {replay.ratio.runs} counted runs are too few for an interval "
            f"(at least {MIN_RUNS}).{by_profile}"
        )
    if replay.significant:
        return f"{sentence(f'{limits}: {what}, {interval(replay.ratio)}')}{_doubt(judgement, replay)}"
    if judgement.limit in ("gpu", "bandwidth"):
        return sentence(f"{limits}: {what}, no significant difference ({interval(replay.ratio)})")
    return f"Not significant: {what}, {interval(replay.ratio)}: 1 is not ruled out.{by_profile}"


def _doubt(judgement: Judgement, replay: SpeedUp) -> str:
    """That replay and profile disagree, where they do."""
    late, saved = judgement.late_share, max(1 - 1 / replay.ratio.value, 0)
    if late is None or abs(late - saved) <= DISAGREEMENT:
        return ""
    return (
        f" Replay saves {percent(saved)} of the token, but the profile saw the GPU wait for the host "
        f"in {percent(late)}: the two disagree."
    )


def _by_profile_alone(judgement: Judgement) -> str:
    if judgement.limit == "unknown":
        return "Cannot tell: neither a graph run nor an accepted profile window."
    return sentence(
        f"{LIMIT_WORDS[judgement.limit]}, by the profile alone, without a graph run to confirm it: the GPU "
        f"works {ms(judgement.busy_ns or 0)} of the median token's {ms(judgement.wall_ns)} ms and waits "
        f"{ms(judgement.late_ns or 0)} ms for the host"
    )


def _prefill(baseline: ArmSummary | None, graph: ArmSummary | None) -> str:
    """Whether prefill stayed where it was, as it should: its kernels are long."""
    if baseline is None or graph is None:
        return ""
    turns = sorted(baseline.prefills_ns.keys() & graph.prefills_ns.keys())
    if not turns:
        return ""
    ratio = paired_ratio_interval(
        [graph.prefills_ns[t] for t in turns], [baseline.prefills_ns[t] for t in turns]
    )
    moved = f"Prefill: {ms(baseline.prefill_ns or 0)} ms eager, {ms(graph.prefill_ns or 0)} ms beside graphs"
    if ratio.significant and abs(ratio.value - 1) > PREFILL_MOVED:
        return f"{moved}: it should not have moved ({interval(ratio)}), so more than dispatch differed."
    return f"{moved}: unmoved, as it should be, for graphs hold the decode step alone."


def _caveats(result: BenchResult, arms: Sequence[ArmSummary], baseline: ArmSummary | None) -> "list[str]":
    engine = result.engine
    found = [
        f"It holds for batch {engine.batch}, {engine.prompt_tokens:,} + {engine.new_tokens:,} tokens of "
        f"{engine.model} on this machine: not for larger batches, nor for servers that overlap requests."
    ]
    if not result.complete:
        found.append(f"The benchmark is incomplete ({result.reason}).")
    others = _other_kernels(arms, baseline)
    if others and baseline is not None:
        found.append(
            f"{', '.join(others)} run other kernels than eager-static ({baseline.kernels:,} a token): their "
            "speed-ups are not dispatch alone."
        )
    found.extend(
        f"{arm.label} did not decode the same: its logits differ by {logit_diff_words(arm.verified)}, "
        f"eager's own by {arm.verified.noise_diff:.3g}."
        for arm in arms
        if arm.verified is not None and arm.verified.flagged
    )
    unverified = [arm for arm in arms if arm.verified is None]
    if unverified:
        names = ", ".join(arm.label for arm in unverified)
        found.append(f"Tokens were not compared ({names}): {unverified[0].missing.get('verified', '')}.")
    return found


def _other_kernels(arms: Sequence[ArmSummary], baseline: ArmSummary | None) -> list[str]:
    """The arms over the baseline's cache that do not run its kernels, with their numbers."""
    if baseline is None or baseline.window is None:
        return []
    return [
        f"{arm.label} ({arm.kernels:,})"
        for arm in arms
        if arm.mode != "eager"
        and arm.window is not None
        and arm.window.activities != baseline.window.activities
    ]
