"""From what engine and sensors said within a round to a run of the result."""

from collections.abc import Callable, Sequence
from itertools import islice
from statistics import fmean, median
from typing import TypeVar

from idlegap.core.bench.driver import Round
from idlegap.core.bench.schema import Columns, Conditions, Run
from idlegap.core.protocol.events import CgroupSample, CpuSample, GpuSample, Token
from idlegap.core.protocol.reasons import ReasonOrText, because
from idlegap.core.slow_tokens.context import HW_SLOWDOWN
from idlegap.core.slow_tokens.samples import Samples

LEAD_IN = 3
"""Tokens at the head of each run that never count. The engine marks the first ones after a
change of mode, but some of its marks may fall into a round that our request then cuts off."""

NEXT_SAMPLE_NS = 500_000_000
"""Twice the sensors' period."""

Sample = CpuSample | CgroupSample | GpuSample
V = TypeVar("V")
R = TypeVar("R")
S = TypeVar("S", CpuSample, CgroupSample, GpuSample)


def assemble_run(turn: int, taken: Round, samples: Samples, first_ns: int) -> Run:
    """The run that `taken` was. `first_ns` is when the first run's prefill ended.

    A round that was cut short, or that lost tokens on the way, is kept but not complete.
    """
    started, ended = taken.started, taken.finished
    tokens = [token for batch in taken.batches for token in batch.tokens]
    end_ns = tokens[-1].done_ns if tokens else started.t_ns
    return Run(
        turn=turn,
        warm_up=turn == 0,
        started_ns=started.t_ns - first_ns,
        prefill_ns=started.prefill_ns,
        tokens=_columns(taken, started.t_ns),
        conditions=conditions(samples, started.t_ns - started.prefill_ns, end_ns),
        complete=ended is not None and ended.tokens == len(tokens),
        peak_memory_bytes=ended.peak_memory_bytes if ended else None,
        missing=ended.missing if ended else {"peak_memory_bytes": because("run-cut-short")},
    )


def _columns(taken: Round, origin_ns: int) -> Columns:
    tokens: list[Token] = []
    excluded: list[int] = []
    for batch in taken.batches:
        first = len(tokens)
        tokens.extend(batch.tokens)
        excluded.extend(i for i in range(first, len(tokens)) if batch.excluded is not None or i < LEAD_IN)
    return Columns(
        start_ns=tuple(token.start_ns - origin_ns for token in tokens),
        wall_ns=tuple(token.wall_ns for token in tokens),
        dispatch_ns=tuple(token.dispatch_ns for token in tokens),
        cpu_ns=_complete([token.cpu_ns for token in tokens]),
        run_delay_ns=_complete([token.run_delay_ns for token in tokens]),
        preempted=_complete([token.preempted for token in tokens]),
        blocked=_complete([token.blocked for token in tokens]),
        excluded=tuple(excluded),
    )


def _complete(values: Sequence[int | None]) -> tuple[int, ...] | None:
    """The column, or None where the engine could not read a single one of its values."""
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) and known else None


def idle_gpu(samples: Samples, before_ns: int) -> tuple[float | None, int | None]:
    """What others did with the GPU before `before_ns`, when the engine was ready: usual
    utilisation, and the first reading of memory in use (a later one may hold our context)."""
    early = [sample for sample in samples.gpu if sample.t_ns < before_ns]
    util = [sample.util_pct for sample in early if sample.util_pct is not None]
    used = (sample.memory_used_bytes for sample in early if sample.memory_used_bytes is not None)
    return _if(util, median), next(used, None)


def conditions(samples: Samples, start_ns: int, end_ns: int) -> Conditions:
    """What was seen between two moments.

    A sample speaks for the time since the one before it, so those count that ended within
    the span. A run shorter than the sampling period gets the first sample after it.
    """
    missing: dict[str, ReasonOrText] = {}

    def known(name: str, taken: Sequence[Sample], field: str) -> list[float]:
        values = [value for s in taken if (value := getattr(s, field)) is not None]
        if not values:
            reasons = (s.missing[field] for s in taken if field in s.missing)
            missing[name] = next(reasons, because("no-sample-in-run"))
        return values

    cpu = _within(samples.cpu, start_ns, end_ns)
    cgroup = _within(samples.cgroup, start_ns, end_ns)
    gpu = _within(samples.gpu, start_ns, end_ns)
    clocks = known("sm_mhz", gpu, "sm_mhz")
    reasons = known("event_reasons", gpu, "event_reasons")
    return Conditions(
        others_cores=_if(known("others_cores", cpu, "others_pct"), lambda v: fmean(v) / 100),
        steal_pct=_if(known("steal_pct", cpu, "steal_pct"), fmean),
        throttled_ns=_if(known("throttled_ns", cgroup, "throttled_ns"), lambda v: round(sum(v))),
        pressure=_pressure(cgroup, missing),
        sm_mhz=_if(clocks, lambda v: (round(min(v)), round(median(v)), round(max(v)))),
        memory_mhz=_if(known("memory_mhz", gpu, "memory_mhz"), lambda v: round(median(v))),
        event_reasons=_if(reasons, lambda v: _reasons([int(mask) for mask in v])),
        util_pct=_if(known("util_pct", gpu, "util_pct"), median),
        power_mw=_if(known("power_mw", gpu, "power_mw"), lambda v: round(median(v))),
        temperature_c=_if(known("temperature_c", gpu, "temperature_c"), lambda v: round(max(v))),
        missing=missing,
    )


def _pressure(samples: Sequence[CgroupSample], missing: dict[str, ReasonOrText]) -> float | None:
    """Share of the time with a task waiting: this group's where it has its own, else the
    machine's, since another container's waiting is not ours."""
    for field in ("cgroup_pressure_us", "system_pressure_us"):
        told = [s for s in samples if getattr(s, field) is not None and s.interval_ns > 0]
        if told:
            waited_ns = 1000 * sum(getattr(s, field) for s in told)
            share: float = waited_ns / sum(s.interval_ns for s in told)
            return min(1.0, share)
    reasons = (s.missing["system_pressure_us"] for s in samples if "system_pressure_us" in s.missing)
    missing["pressure"] = next(reasons, because("no-sample-in-run"))
    return None


def _within(samples: Sequence[S], start_ns: int, end_ns: int) -> list[S]:
    inside = [sample for sample in samples if start_ns < sample.t_ns <= end_ns]
    after = (sample for sample in samples if end_ns < sample.t_ns <= end_ns + NEXT_SAMPLE_NS)
    return inside or list(islice(after, 1))


def _if(values: Sequence[V], summarise: Callable[[Sequence[V]], R]) -> R | None:
    return summarise(values) if values else None


def _reasons(masks: Sequence[int]) -> int:
    """Every reason that was set. Hardware slowdown flashes whenever the power state changes, so
    it counts only if it was there for half of the time."""
    total = 0
    for mask in masks:
        total |= mask
    if 2 * sum(bool(mask & HW_SLOWDOWN) for mask in masks) < len(masks):
        total &= ~HW_SLOWDOWN
    return total
