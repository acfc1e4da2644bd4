"""The figures of one arm of a benchmark, computed from its raw samples.

Rate, mean and quantiles are over all counted tokens of all counted runs; prefill and memory are
medians over runs, the unit that repeats. Device times come from the arm's profile window
and are put beside the wall time of unprofiled tokens (`core.measure.device_time.split_token`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import median

from idlegap.core.bench.schema import Arm, BenchResult, Columns, Run
from idlegap.core.measure.device_time import Split, split_token
from idlegap.core.measure.limits import Judgement, judge
from idlegap.core.measure.rate import TokenTimes, mean_ns, tokens_per_s
from idlegap.core.measure.roofline import Ceiling, ceiling
from idlegap.core.measure.statistics import quantile
from idlegap.core.measure.typical_token import Typical, typical
from idlegap.core.protocol.events import ProfileWindow, Token, Verified
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.reasons import ReasonOrText
from idlegap.core.text.reasons import words


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """One column of the table. What is None has its reason, in words, in `missing`.

    Attributes:
        tok_per_s, mean_ns: of all counted tokens (`core.measure.rate`), and so are the MBUs of `ceiling`.
        run_medians_ns: median token time of each counted run, by its turn.
        prefills_ns: prefill of each counted run, by its turn.
    """

    label: str
    mode: ModeName
    runs: int
    tokens: int
    ceiling: Ceiling
    tok_per_s: float | None = None
    mean_ns: int | None = None
    median_ns: int | None = None
    p95_ns: int | None = None
    p99_ns: int | None = None
    dispatch_ns: int | None = None
    split: Split | None = None
    window: ProfileWindow | None = None
    prefill_ns: int | None = None
    peak_memory_bytes: int | None = None
    verified: Verified | None = None
    run_medians_ns: dict[int, float] = field(default_factory=dict)
    prefills_ns: dict[int, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def beyond_bound_ns(self) -> int | None:
        """Median token time minus the weight-stream bound."""
        bound_ns = self.ceiling.bound_ns
        return None if bound_ns is None or self.median_ns is None else self.median_ns - bound_ns

    @property
    def judgement(self) -> Judgement:
        """What limits the median token, by its split alone."""
        reason = self.missing.get("split", "")
        return judge(self.split, wall_ns=self.median_ns or 0, dispatch_ns=self.dispatch_ns, reason=reason)

    @property
    def dispatch_per_kernel_ns(self) -> float | None:
        """Host time to submit one kernel, its share of the model's Python included."""
        if self.dispatch_ns is None or self.window is None or not self.window.kernels:
            return None
        return self.dispatch_ns / self.window.kernels


def summarise(result: BenchResult) -> tuple[ArmSummary, ...]:
    """All arms of `result`, in its order."""
    return tuple(_summary(result, arm) for arm in result.arms)


def _summary(result: BenchResult, arm: Arm) -> ArmSummary:
    runs = [run for run in arm.counted if run.tokens.counted(run.tokens.wall_ns)]
    walls = _pooled(runs, lambda tokens: tokens.wall_ns)
    tok_per_s = tokens_per_s(result.engine.batch, walls) if walls else None
    reached = ceiling(result.engine, result.bandwidth, result.gpu, result.spec_bandwidth, tok_per_s)
    if not runs:
        reason = words(arm.refused or "no counted run")
        return ArmSummary(
            arm.label, arm.mode, 0, 0, reached, verified=arm.verified, missing={"median_ns": reason}
        )
    took, window = TokenTimes.of(walls, _pooled(runs, lambda tokens: tokens.dispatch_ns)), arm.window
    peaks = [run.peak_memory_bytes for run in runs if run.peak_memory_bytes is not None]
    return ArmSummary(
        label=arm.label,
        mode=arm.mode,
        runs=len(runs),
        tokens=len(walls),
        tok_per_s=tok_per_s,
        mean_ns=mean_ns(walls),
        median_ns=took.wall_ns,
        p95_ns=round(quantile(walls, 0.95)),
        p99_ns=took.p99_ns,
        dispatch_ns=took.dispatch_ns,
        split=split_token(took.wall_ns, window, reached.bound_ns) if window else None,
        window=window,
        ceiling=reached,
        prefill_ns=round(median([run.prefill_ns for run in runs])),
        peak_memory_bytes=round(median(peaks)) if peaks else None,
        verified=arm.verified,
        run_medians_ns={run.turn: median(run.tokens.counted(run.tokens.wall_ns)) for run in runs},
        prefills_ns={run.turn: float(run.prefill_ns) for run in runs},
        missing={name: words(reason) for name, reason in _reasons(result, arm, runs, reached).items()},
    )


def _reasons(result: BenchResult, arm: Arm, runs: Sequence[Run], reached: Ceiling) -> dict[str, ReasonOrText]:
    """Why each figure would be missing if it is; those that are there need none."""
    # An arm that was interrupted has not asked for a window yet, and would have been told the same.
    needs = "profile windows need CUDA" if result.engine.device == "cpu" else "no profile window was taken"
    unmeasured = result.bandwidth.missing.get("copy_bytes_per_s") if result.bandwidth else None
    return {
        "split": arm.windows[-1].reason if arm.windows else needs,
        "bound_ns": unmeasured or "bandwidth was not measured",
        "mbu_spec": reached.spec_source,
        "peak_memory_bytes": runs[0].missing.get("peak_memory_bytes", "not measured"),
        "verified": arm.verify_reason,
    }


def first_of(arms: Sequence[ArmSummary], mode: ModeName) -> ArmSummary | None:
    """The first arm of `mode`: of two arms of one mode it is the one that counts."""
    return next((arm for arm in arms if arm.mode == mode), None)


def usual_token(runs: Sequence[Run]) -> Typical | None:
    """What a token of these runs usually cost, over all of their counted tokens; None for too few."""
    return typical([token for run in runs for token in _tokens(run.tokens)])


def _tokens(columns: Columns) -> list[Token]:
    """The counted tokens, without their starts."""
    cpu = columns.cpu_ns or (None,) * len(columns.wall_ns)
    found = [
        Token(0, dispatch_ns, wall_ns, cpu_ns)
        for wall_ns, dispatch_ns, cpu_ns in zip(columns.wall_ns, columns.dispatch_ns, cpu, strict=True)
    ]
    return columns.counted(found)


def _pooled(runs: Sequence[Run], column: Callable[[Columns], tuple[int, ...]]) -> list[int]:
    return list(chain.from_iterable(run.tokens.counted(column(run.tokens)) for run in runs))
