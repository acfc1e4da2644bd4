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
from idlegap.core.measure.roofline import (
    mbu,
    mean_ns,
    specified_bandwidth,
    tokens_per_s,
    weight_stream_bound_ns,
)
from idlegap.core.measure.statistics import quantile
from idlegap.core.measure.typical_token import Typical, typical
from idlegap.core.protocol.events import ProfileWindow, Token, Verified
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.reasons import ReasonOrText
from idlegap.core.text.reasons import words


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """One column of the table. What is None has its reason, in words, in `missing` under the same name.

    Attributes:
        tok_per_s, mean_ns: of all counted tokens (`core.measure.roofline`).
        beyond_bound_ns: median token time minus the weight-stream bound.
        run_medians_ns: median token time of each counted run, by its turn.
        prefills_ns: prefill of each counted run, by its turn.
    """

    label: str
    mode: ModeName
    runs: int
    tokens: int
    tok_per_s: float | None = None
    mean_ns: int | None = None
    median_ns: int | None = None
    p95_ns: int | None = None
    p99_ns: int | None = None
    dispatch_ns: int | None = None
    split: Split | None = None
    window: ProfileWindow | None = None
    bound_ns: int | None = None
    beyond_bound_ns: int | None = None
    mbu_spec: float | None = None
    mbu_measured: float | None = None
    prefill_ns: int | None = None
    peak_memory_bytes: int | None = None
    verified: Verified | None = None
    run_medians_ns: dict[int, float] = field(default_factory=dict)
    prefills_ns: dict[int, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def busy_ns(self) -> int | None:
        """Device busy time of the median token."""
        return self.split.busy_ns if self.split else None

    @property
    def host_gap_ns(self) -> int | None:
        """See `core.measure.device_time`, as for the next two."""
        return self.split.host_gap_ns if self.split else None

    @property
    def launch_latency_ns(self) -> int | None:
        return self.split.launch_latency_ns if self.split else None

    @property
    def device_gap_ns(self) -> int | None:
        return self.split.device_gap_ns if self.split else None

    @property
    def kernels(self) -> int | None:
        """Kernels per token."""
        return self.window.kernels if self.window else None

    @property
    def agreement(self) -> str | None:
        """How many tokens of how many were equal to eager's: ``255/255``."""
        return f"{self.verified.agree}/{self.verified.steps}" if self.verified else None

    @property
    def idle_ns(self) -> int | None:
        """Time of the median token in which the device did nothing."""
        return self.split.idle_ns if self.split else None

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
    if not runs:
        reason = words(arm.refused or "no counted run")
        return ArmSummary(arm.label, arm.mode, 0, 0, verified=arm.verified, missing={"median_ns": reason})
    missing: dict[str, str] = {}
    walls = _pooled(runs, lambda tokens: tokens.wall_ns)
    wall_ns = round(median(walls))
    tok_per_s = tokens_per_s(result.engine.batch, walls)
    bound_ns = _bound(result, missing)
    window = arm.window
    if window is None:
        # One that was interrupted has not asked yet, and would have been told the same.
        needs = (
            "profile windows need CUDA" if result.engine.device == "cpu" else "no profile window was taken"
        )
        missing["split"] = words(arm.windows[-1].reason) if arm.windows else needs
    spec, source = _spec(result)
    measured = result.bandwidth.copy_bytes_per_s if result.bandwidth else None
    weights, steps = result.engine.weight_bytes, tok_per_s / result.engine.batch
    if spec is None:
        missing["mbu_spec"] = words(source)
    if measured is None:
        missing["mbu_measured"] = missing["bound_ns"]
    if arm.verified is None:
        missing["verified"] = words(arm.verify_reason)
    peaks = [run.peak_memory_bytes for run in runs if run.peak_memory_bytes is not None]
    if not peaks:
        missing["peak_memory_bytes"] = words(runs[0].missing.get("peak_memory_bytes", "not measured"))
    return ArmSummary(
        label=arm.label,
        mode=arm.mode,
        runs=len(runs),
        tokens=len(walls),
        tok_per_s=tok_per_s,
        mean_ns=mean_ns(walls),
        median_ns=wall_ns,
        p95_ns=round(quantile(walls, 0.95)),
        p99_ns=round(quantile(walls, 0.99)),
        dispatch_ns=round(median(_pooled(runs, lambda tokens: tokens.dispatch_ns))),
        split=split_token(wall_ns, window, bound_ns) if window else None,
        window=window,
        bound_ns=bound_ns,
        beyond_bound_ns=wall_ns - bound_ns if bound_ns is not None else None,
        mbu_spec=mbu(weights, steps, spec) if spec else None,
        mbu_measured=mbu(weights, steps, measured) if measured else None,
        prefill_ns=round(median([run.prefill_ns for run in runs])),
        peak_memory_bytes=round(median(peaks)) if peaks else None,
        verified=arm.verified,
        run_medians_ns={run.turn: median(run.tokens.counted(run.tokens.wall_ns)) for run in runs},
        prefills_ns={run.turn: float(run.prefill_ns) for run in runs},
        missing=missing,
    )


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


def _bound(result: BenchResult, missing: dict[str, str]) -> int | None:
    bandwidth = result.bandwidth
    if bandwidth is None or not bandwidth.copy_bytes_per_s:
        reason = bandwidth.missing.get("copy_bytes_per_s") if bandwidth else None
        missing["bound_ns"] = missing["beyond_bound_ns"] = words(reason or "bandwidth was not measured")
        return None
    return weight_stream_bound_ns(result.engine.weight_bytes, bandwidth.copy_bytes_per_s)


def _spec(result: BenchResult) -> tuple[float | None, ReasonOrText]:
    if result.engine.device == "cpu" and result.spec_bandwidth is None:
        return None, "decoding on the CPU"
    return specified_bandwidth(result.spec_bandwidth, result.gpu)
