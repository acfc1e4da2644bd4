"""What a benchmark shows.

The controlled comparison is `graph` against `eager-static`: the same kernels over the same
cache, submitted once instead of one by one. The share of the token that this saves is the cost
of dispatch. The profile gives a second, independent view: the share in which the device idled
because the host was late. `core.measure.limits` judges by the profile, and by replay without one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from idlegap.core.bench.schema import BenchResult
from idlegap.core.bench.summary import ArmSummary, first_of
from idlegap.core.measure.limits import Judgement, is_different, judge_by_replay
from idlegap.core.measure.statistics import Ratio, paired_ratio_interval
from idlegap.core.protocol.modes import BASELINE, EAGER, REPLAYED

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

    @property
    def saved(self) -> float:
        """Share (0..1) of the token that it saves."""
        return max(1 - 1 / self.ratio.value, 0)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What the arms say together; None where the arms for it were not measured.

    Attributes:
        judgement: of eager-static; where nothing tells, it holds the reason.
        replay: the controlled comparison alone.
        controlled, gained: speed-ups against eager-static, and against the fastest eager mode.
        prefill: graph's prefill over eager-static's.
        other_kernels: arms over the baseline's cache that do not run its kernels.
    """

    judgement: Judgement
    baseline: ArmSummary | None
    graph: ArmSummary | None
    replay: SpeedUp | None
    controlled: tuple[SpeedUp, ...]
    gained: tuple[SpeedUp, ...]
    prefill: Ratio | None
    other_kernels: tuple[ArmSummary, ...]

    @property
    def disagrees(self) -> bool:
        """Whether replay saves clearly more or less than the profile saw the device wait."""
        late = self.judgement.late_share
        return self.replay is not None and late is not None and abs(late - self.replay.saved) > DISAGREEMENT

    @property
    def prefill_moved(self) -> bool:
        """Whether prefill changed, as it should not: its kernels are long."""
        found = self.prefill
        return found is not None and found.significant and abs(found.value - 1) > PREFILL_MOVED


def conclude(result: BenchResult, arms: Sequence[ArmSummary]) -> Conclusion:
    """Judge `result`, whose arms are summarised in `arms`."""
    measured = [arm for arm in arms if arm.run_medians_ns]
    baseline, graph = first_of(measured, BASELINE), first_of(measured, REPLAYED)
    return Conclusion(
        judgement=eager_limit(result, arms),
        baseline=baseline,
        graph=graph,
        replay=speed_up(graph, baseline) if graph and baseline else None,
        controlled=_speed_ups(measured, baseline),
        gained=_speed_ups(measured, fastest_eager(measured)),
        prefill=_paired(graph.prefills_ns, baseline.prefills_ns) if graph and baseline else None,
        other_kernels=tuple(arm for arm in measured if baseline and _runs_other_kernels(arm, baseline)),
    )


def fastest_eager(arms: Sequence[ArmSummary]) -> ArmSummary | None:
    """The eager arm of the shortest median token."""
    eager = [arm for arm in arms if arm.mode in EAGER and arm.median_ns is not None]
    return min(eager, key=lambda arm: arm.median_ns or 0, default=None)


def eager_limit(result: BenchResult, arms: Sequence[ArmSummary]) -> Judgement:
    """What limits eager-static: by its profile, else by what replaying the same kernels saves."""
    measured = [arm for arm in arms if arm.run_medians_ns]
    baseline, graph = first_of(measured, BASELINE), first_of(measured, REPLAYED)
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
    ratio = _paired(against.run_medians_ns, arm.run_medians_ns)
    return None if ratio is None else SpeedUp(arm.label, against.label, ratio)


def _paired(over: Mapping[int, float], under: Mapping[int, float]) -> Ratio | None:
    turns = sorted(over.keys() & under.keys())
    return paired_ratio_interval([over[t] for t in turns], [under[t] for t in turns]) if turns else None


def _speed_ups(arms: Sequence[ArmSummary], against: ArmSummary | None) -> tuple[SpeedUp, ...]:
    if against is None:
        return ()
    return tuple(found for arm in arms if arm is not against and (found := speed_up(arm, against)))


def _runs_other_kernels(arm: ArmSummary, baseline: ArmSummary) -> bool:
    if arm.mode == "eager" or arm.window is None or baseline.window is None:
        return False
    return arm.window.activities != baseline.window.activities
