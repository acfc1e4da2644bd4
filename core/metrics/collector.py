"""Answers a scrape from the last snapshot; between scrapes it does nothing.

Names and units follow Prometheus' conventions: base units, ``_total`` for counters, ratios from
0 to 1. A reading that is missing has no sample, so that it is not taken for 0.
"""

import time
from collections.abc import Callable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from idlegap.core.metrics.engine import engine_families
from idlegap.core.metrics.families import NS, gauge, gauges, scaled
from idlegap.core.protocol.events import CpuSample, GpuSample
from idlegap.core.sensors.nvml import event_reason_names
from idlegap.core.session.snapshot import Snapshot

PCT = 0.01


class MetricsCollector(Collector):
    """Asks `latest` for the last snapshot (None: none yet), from the server's threads.

    `clock` is CLOCK_MONOTONIC in ns; it tells how old the snapshot is.
    """

    def __init__(
        self,
        latest: Callable[[], Snapshot | None],
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._latest, self._clock = latest, clock

    def collect(self) -> Iterator[Metric]:
        """All families that have a sample now."""
        snapshot = self._latest()
        if snapshot is None:
            return
        age_s = (self._clock() - snapshot.t_ns) * NS
        families = [gauge("snapshot_age_seconds", "Time since the last snapshot.", age_s)]
        families += engine_families(snapshot)
        families += _machine_families(snapshot)
        yield from (family for family in families if family.samples)


def _machine_families(snapshot: Snapshot) -> Iterator[Metric]:
    """Of each sensor, what its newest sample holds; CPU use is in cores (1.5: one and a half)."""
    if snapshot.cpu is not None:
        yield from _cpu_families(snapshot.cpu)
    if snapshot.cgroup is not None:
        quota = snapshot.cgroup.quota_cores
        yield gauge("cpu_quota_cores", "CPU quota; no sample where none is set.", quota)
    if snapshot.gpu is not None:
        yield from _gpu_families(snapshot.gpu)
    if (monitor := snapshot.monitor) is not None:
        yield gauge("screen_cpu_cores", "Cores used by the screen's process.", scaled(monitor.cpu_pct, PCT))
        yield gauge("screen_frame_seconds", "CPU time of one frame.", scaled(monitor.frame_ns, NS))


def _cpu_families(cpu: CpuSample) -> Iterator[Metric]:
    users = (("engine", cpu.engine_pct), ("monitor", cpu.monitor_pct), ("others", cpu.others_pct))
    yield gauges("cpu_cores", "Cores in use.", "user", ((who, scaled(pct, PCT)) for who, pct in users))
    yield gauge("cpu_steal_ratio", "Share of CPU time kept by the hypervisor.", scaled(cpu.steal_pct, PCT))
    yield gauge("decode_core", "Core that the decode thread ran on last.", cpu.decode_core)


def _gpu_families(gpu: GpuSample) -> Iterator[Metric]:
    share = "gpu_utilization_ratio"
    yield gauge(share, "NVML: share of time in which any kernel ran.", scaled(gpu.util_pct, PCT))
    yield gauge("gpu_sm_ratio", "GPM: share of SMs in use.", scaled(gpu.gpm_sm_pct, PCT))
    yield gauge("gpu_dram_ratio", "GPM: share of DRAM bandwidth in use.", scaled(gpu.gpm_dram_pct, PCT))
    yield gauge("gpu_memory_used_bytes", "Device memory in use.", gpu.memory_used_bytes)
    yield gauge("gpu_power_watts", "Power draw.", scaled(gpu.power_mw, 1e-3))
    yield gauge("gpu_temperature_celsius", "Temperature.", gpu.temperature_c)
    clocks = (("sm", gpu.sm_mhz), ("memory", gpu.memory_mhz))
    yield gauges("gpu_clock_hertz", "Clocks.", "clock", ((name, scaled(mhz, 1e6)) for name, mhz in clocks))
    reasons = event_reason_names(gpu.event_reasons or 0)
    yield gauges("gpu_event_reason", "1: clocks are held down by it.", "reason", ((r, 1) for r in reasons))
