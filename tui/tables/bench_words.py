"""What a benchmark says, in one sentence, and what must not be read into it."""

from collections.abc import Iterator, Sequence

from idlegap.core.bench.conclusion import Conclusion, SpeedUp
from idlegap.core.bench.schema import BenchResult
from idlegap.core.bench.summary import ArmSummary
from idlegap.core.measure.limits import Judgement
from idlegap.core.measure.statistics import MIN_RUNS
from idlegap.core.text.phrases import LIMIT_WORDS, sentence
from idlegap.core.text.reasons import logit_diff_words
from idlegap.core.text.units import interval, ms, percent


def headline(result: BenchResult, found: Conclusion) -> str:
    """What limits eager decode here, by the controlled comparison and the profile; where nothing tells,
    the reason."""
    judgement, baseline, graph, replay = found.judgement, found.baseline, found.graph, found.replay
    if result.engine.device == "cpu":
        return "No GPU took part: these figures are the CPU's own and say nothing about dispatch."
    if baseline is None or baseline.median_ns is None:
        return "Cannot tell: eager-static, the baseline of the comparison, was not measured."
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
        return f"{sentence(f'{limits}: {what}, {interval(replay.ratio)}')}{_doubt(found, replay)}"
    if judgement.limit in ("gpu", "bandwidth"):
        return sentence(f"{limits}: {what}, no significant difference ({interval(replay.ratio)})")
    return f"Not significant: {what}, {interval(replay.ratio)}: 1 is not ruled out.{by_profile}"


def _doubt(found: Conclusion, replay: SpeedUp) -> str:
    """That replay and profile disagree, where they do."""
    if not found.disagrees:
        return ""
    return (
        f" Replay saves {percent(replay.saved)} of the token, but the profile saw the GPU wait for the host "
        f"in {percent(found.judgement.late_share or 0)}: the two disagree."
    )


def _by_profile_alone(judgement: Judgement) -> str:
    if judgement.limit == "unknown":
        return "Cannot tell: neither a graph run nor an accepted profile window."
    return sentence(
        f"{LIMIT_WORDS[judgement.limit]}, by the profile alone, without a graph run to confirm it: the GPU "
        f"works {ms(judgement.busy_ns or 0)} of the median token's {ms(judgement.wall_ns)} ms and waits "
        f"{ms(judgement.late_ns or 0)} ms for the host"
    )


def prefill_words(found: Conclusion) -> str:
    """Whether prefill stayed where it was; "" where it was not measured in both modes."""
    if found.baseline is None or found.graph is None or found.prefill is None:
        return ""
    eager_ns, graph_ns = found.baseline.prefill_ns or 0, found.graph.prefill_ns or 0
    moved = f"Prefill: {ms(eager_ns)} ms eager, {ms(graph_ns)} ms beside graphs"
    if found.prefill_moved:
        return (
            f"{moved}: it should not have moved ({interval(found.prefill)}), so more than dispatch differed."
        )
    return f"{moved}: unmoved, as it should be, for graphs hold the decode step alone."


def caveats(result: BenchResult, arms: Sequence[ArmSummary], found: Conclusion) -> Iterator[str]:
    """What may not be concluded."""
    engine, measured = result.engine, [arm for arm in arms if arm.run_medians_ns]
    yield (
        f"It holds for batch {engine.batch}, {engine.prompt_tokens:,} + {engine.new_tokens:,} tokens of "
        f"{engine.model} on this machine: not for larger batches, nor for servers that overlap requests."
    )
    if not result.complete:
        yield f"The benchmark is incomplete ({result.reason})."
    if found.other_kernels and found.baseline is not None:

        def kernels(arm: ArmSummary) -> int:
            return arm.window.kernels if arm.window is not None else 0

        others = ", ".join(f"{arm.label} ({kernels(arm):,})" for arm in found.other_kernels)
        yield (
            f"{others} run other kernels than eager-static ({kernels(found.baseline):,} a token): their "
            "speed-ups are not dispatch alone."
        )
    for arm in measured:
        verified = arm.verified
        if verified is not None and verified.flagged:
            yield (
                f"{arm.label} did not decode the same: its logits differ by {logit_diff_words(verified)}, "
                f"eager's own by {verified.noise_diff:.3g}."
            )
    unverified = [arm for arm in measured if arm.verified is None]
    if unverified:
        names = ", ".join(arm.label for arm in unverified)
        yield f"Tokens were not compared ({names}): {unverified[0].missing.get('verified', '')}."
