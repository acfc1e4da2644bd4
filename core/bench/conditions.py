"""The conditions of a run: what the sensors saw meanwhile."""

from collections.abc import Callable, Sequence
from itertools import islice
from statistics import fmean, median
from typing import TypeVar

from idlegap.core.bench.schema import Conditions
from idlegap.core.protocol.events import CgroupSample, CpuSample, GpuSample
from idlegap.core.protocol.reasons import ReasonOrText, because
from idlegap.core.slow_tokens.context import HW_SLOWDOWN
from idlegap.core.slow_tokens.samples import Samples

NEXT_SAMPLE_NS = 500_000_000
"""Twice the sensors' period."""

Sample = CpuSample | CgroupSample | GpuSample
S = TypeVar("S", CpuSample, CgroupSample, GpuSample)


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


V = TypeVar("V")
R = TypeVar("R")


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
