"""Runs the sensors: one thread for the host, one for NVML, each paced by deadlines.

NVML has a thread to itself because its calls may hang in the driver; the host's thread then
goes on and tells how stale the GPU's readings are.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from idlegap.core.protocol.events import CpuSample, GpuSample, SensorEvent
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.sensors.cgroup import CgroupReader
from idlegap.core.sensors.cpu import CPU_FIELDS, CpuCounters, CpuReader
from idlegap.core.sensors.gpu import GpuReader, load_nvml, no_gpu
from idlegap.core.sensors.host import read_host
from idlegap.core.sensors.mounts import read_mounts
from idlegap.core.sensors.nvml import Nvml
from idlegap.core.sensors.reading import MS, SECOND, Every

PERIOD_NS = 250 * MS
STALE_EVERY_NS = 1 * SECOND

_log = logging.getLogger(__name__)


class HostReader:
    """The host's events: its description first, then CPU and cgroup samples at each tick."""

    def __init__(
        self, root: Path, counters: CpuCounters, stale_gpu: Callable[[int], GpuSample | None]
    ) -> None:
        self._root = root
        self._mounts = read_mounts(root)
        self._cgroup = CgroupReader(root, self._mounts)
        self._described = False
        self._stale_gpu = stale_gpu
        self._stale_every = Every(STALE_EVERY_NS)
        self.cpu = CpuReader(root, counters)

    def tick(self, now_ns: int) -> list[SensorEvent]:
        host = None
        if not self._described:
            self._described = True
            affinity = os.sched_getaffinity(0)
            host = read_host(self._root, self._mounts, affinity, self._cgroup.quota, now_ns)
        events = [
            host,
            self.cpu.sample(now_ns),
            self._cgroup.sample(now_ns),
            self._stale_gpu(now_ns) if self._stale_every.due(now_ns) else None,
        ]
        return [event for event in events if event is not None]

    def broken(self, now_ns: int, reason: Reason) -> CpuSample:
        """A sample in which every reading is missing for the same reason."""
        return CpuSample(t_ns=now_ns, core_pct=(), missing=dict.fromkeys(CPU_FIELDS, reason))


class Sampler:
    """The app's sensors. `emit` is called from two threads and must not block for long.

    `root` is where ``proc`` and ``sys`` are found; `nvml` None imports the real bindings; `clock`
    gives the `t_ns` of all events; `nvml_enabled` False leaves NVML alone altogether.
    """

    def __init__(
        self,
        emit: Callable[[SensorEvent], None],
        *,
        root: Path = Path("/"),
        nvml: Nvml | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
        nvml_enabled: bool = True,
        counters: CpuCounters | None = None,
    ) -> None:
        self._emit = emit
        self._clock = clock
        self._gpu = GpuReader(load_nvml if nvml is None else lambda: nvml, clock)
        self._host = HostReader(root, counters or CpuCounters(), self._gpu.stale_sample)
        self._nvml_enabled = nvml_enabled
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to emit events; the host's description comes first, within milliseconds."""
        readers: list[tuple[str, HostReader | GpuReader]] = [("host-sensors", self._host)]
        if self._nvml_enabled:
            readers.append(("nvml", self._gpu))
        else:
            self._emit(no_gpu(self._clock(), because("nvml-off")))
        for name, reader in readers:
            thread = threading.Thread(target=self._run, args=(reader,), name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def watch_engine(self, pid: int, tid: int, device_uuid: str | None) -> None:
        """Follow this engine process, its decode thread and its device from now on."""
        self._host.cpu.watch_engine(pid, tid)
        self._gpu.select(device_uuid)

    def stop(self, timeout_s: float = 2.0) -> None:
        """End both threads, waiting no longer than this; one that hangs in NVML is left behind."""
        self._stopping.set()
        deadline = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._threads = [thread for thread in self._threads if thread.is_alive()]

    def _run(self, reader: HostReader | GpuReader) -> None:
        every = Every(PERIOD_NS)
        try:
            while not self._stopping.wait(every.wait_ns(self._clock()) / SECOND):
                now_ns = self._clock()
                if every.due(now_ns):
                    for event in reader.tick(now_ns):
                        self._emit(event)
        except Exception as error:  # noqa: BLE001 - the panel must show that its sensor is gone
            _log.exception("a sensor stopped")
            reason = because("sensor-failed", detail=f"{type(error).__name__}: {error}")
            self._emit(reader.broken(self._clock(), reason))
        finally:
            if isinstance(reader, GpuReader):
                reader.close()
