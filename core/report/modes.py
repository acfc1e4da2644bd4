"""A mode's figures over a whole recording, and what noisy neighbours did to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from idlegap.core.measure.device_time import Split, split_token
from idlegap.core.measure.limits import Judgement, judge
from idlegap.core.measure.roofline import Ceiling, mbu, speed_up, tokens_per_s
from idlegap.core.measure.statistics import quantile
from idlegap.core.protocol.modes import BASELINE, MODE_NAMES, ModeName
from idlegap.core.protocol.reasons import ReasonOrText
from idlegap.core.session.setup import Setup, Times


@dataclass(frozen=True, slots=True)
class ModeRow:
    """One mode over all its counted tokens, without neighbours of our own making.

    `tok_per_s` and `mbu_spec` are of the mean token, `run_delay_ns` is a mean, because it comes in few
    large pieces; the other times are medians. `split` is None without an accepted profile
    window, and `split_reason` says why. `speedup` is against eager-static.
    """

    name: ModeName
    tokens: int
    tok_per_s: float
    wall_ns: int
    p99_ns: int
    dispatch_ns: int
    run_delay_ns: int | None
    prefill_ns: int | None
    mbu_spec: float | None
    speedup: float | None
    split: Split | None
    split_reason: ReasonOrText
    kernels: int | None

    @property
    def judgement(self) -> Judgement:
        """What limits this mode."""
        reason = self.split_reason
        return judge(self.split, wall_ns=self.wall_ns, dispatch_ns=self.dispatch_ns, reason=reason)


@dataclass(frozen=True, slots=True)
class Dose:
    """Tokens of one mode beside `neighbours` busy processes of our own making."""

    mode: ModeName
    neighbours: int
    tokens: int
    wall_ns: int
    p99_ns: int
    run_delay_ns: int | None


def mode_rows(setup: Setup, ceiling: Ceiling | None) -> tuple[ModeRow, ...]:
    """The modes that have tokens, in the catalogue's order."""
    times = setup.log.times if setup.log is not None else {}
    undisturbed = {name: times[name, 0] for name in MODE_NAMES if (name, 0) in times}
    baseline = undisturbed.get(BASELINE)
    baseline_ns = _median(baseline.wall_ns) if baseline is not None else None
    return tuple(_row(setup, name, found, ceiling, baseline_ns) for name, found in undisturbed.items())


def doses(setup: Setup) -> tuple[Dose, ...]:
    """Each mode that was tried with neighbours, beside its tokens without; by mode and number."""
    times = setup.log.times if setup.log is not None else {}
    tried = {mode for mode, count in times if count}
    ordered = sorted(times.items(), key=lambda item: (MODE_NAMES.index(item[0][0]), item[0][1]))
    return tuple(
        Dose(
            mode,
            count,
            len(found.wall_ns),
            _median(found.wall_ns),
            _p99(found.wall_ns),
            _mean(found.run_delay_ns),
        )
        for (mode, count), found in ordered
        if mode in tried
    )


def _row(
    setup: Setup, name: ModeName, times: Times, ceiling: Ceiling | None, baseline_ns: int | None
) -> ModeRow:
    history, wall_ns = setup.modes[name], _median(times.wall_ns)
    window, prefills_ns = history.profile, history.prefills_ns
    batch = setup.engine.batch if setup.engine is not None else 1
    rate = tokens_per_s(batch, times.wall_ns)
    bound_ns = ceiling.bound_ns if ceiling is not None else None
    spec = ceiling.spec_bytes_per_s if ceiling is not None else None
    reason = history.rejected.reason if history.rejected is not None else "no profile window was taken"
    return ModeRow(
        name=name,
        tokens=len(times.wall_ns),
        tok_per_s=rate,
        wall_ns=wall_ns,
        p99_ns=_p99(times.wall_ns),
        dispatch_ns=_median(times.dispatch_ns),
        run_delay_ns=_mean(times.run_delay_ns),
        prefill_ns=_median(prefills_ns) if prefills_ns else None,
        mbu_spec=mbu(setup.engine.weight_bytes, rate / batch, spec) if setup.engine and spec else None,
        speedup=speed_up(baseline_ns, wall_ns) if baseline_ns is not None else None,
        split=split_token(wall_ns, window, bound_ns) if window is not None else None,
        split_reason="" if window is not None else reason,
        kernels=window.kernels if window is not None else None,
    )


def _median(values: Sequence[int]) -> int:
    return round(median(values))


def _p99(values: Sequence[int]) -> int:
    return round(quantile(values, 0.99))


def _mean(values: Sequence[int]) -> int | None:
    return sum(values) // len(values) if values else None
