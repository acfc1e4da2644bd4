"""Faults of the machine around an engine: a CPU quota, and a driver that is asked too much."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.faults import Fault, Span, Victim
from idlegap.core.protocol.events import AnyEvent, GpuSample
from idlegap.core.sensors.gpu import load_nvml
from idlegap.core.sensors.mounts import find_cpu_cgroup, read_mounts
from idlegap.core.sensors.nvml import NvmlCalls

QUOTA_PERIOD_US = 100_000
QUOTA_US = 50_000
NVML_SAMPLE_NS = 20_000_000


class QuotaGroup(Fault):
    """A real cgroup around this process and all that it starts; its quota is the fault.

    Raises OSError or ReadingError where no cgroup can be made here.
    """

    name = "quota"
    causes = ("quota",)

    def __init__(self) -> None:
        found = find_cpu_cgroup(Path("/"), read_mounts(Path("/")))
        self._parent, self._version = found.own, found.version
        self._own = found.own / f"idlegap-bench-{os.getpid()}"
        if self._version == 2:
            (self._parent / "cgroup.subtree_control").write_text("+cpu")
        self._own.mkdir()
        try:
            (self._own / "cgroup.procs").write_text(str(os.getpid()))
            self._set("-1")
        except OSError:
            self.leave()
            raise

    def begin(self, victim: Victim, seconds: float) -> None:
        self._started = time.perf_counter_ns()
        self._set(str(QUOTA_US))

    def end(self) -> Span:
        self._set("-1")
        return self._started, time.perf_counter_ns()

    def _set(self, quota_us: str) -> None:
        if self._version == 2:
            limit = "max" if quota_us == "-1" else quota_us
            (self._own / "cpu.max").write_text(f"{limit} {QUOTA_PERIOD_US}")
        else:
            (self._own / "cpu.cfs_quota_us").write_text(quota_us)

    def leave(self) -> None:
        """Move this process back and take the cgroup away; the engine must have ended."""
        (self._parent / "cgroup.procs").write_text(str(os.getpid()))
        self._own.rmdir()


class QuotaOnDisk(Fault):
    """Where no cgroup can be made: the engine is stopped for half of each period, and a cgroup
    tree on disk describes it as the kernel would."""

    name = "quota (on disk)"
    causes = ("quota",)

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "proc/self").mkdir(parents=True)
        (root / "sys/fs/cgroup").mkdir(parents=True)
        (root / "proc/self/cgroup").write_text("0::/\n")
        (root / "proc/self/mountinfo").write_text("30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
        (root / "sys/fs/cgroup/cpu.max").write_text(f"{QUOTA_US} {QUOTA_PERIOD_US}\n")
        self._count = self._throttled_us = 0
        self._tell()

    def begin(self, victim: Victim, seconds: float) -> None:
        self._started, self._over = time.perf_counter_ns(), threading.Event()
        self._thread = threading.Thread(target=self._throttle, args=(victim.pid,))
        self._thread.start()

    def end(self) -> Span:
        self._over.set()
        self._thread.join()
        return self._started, time.perf_counter_ns()

    def _throttle(self, pid: int) -> None:
        runs_s = QUOTA_US / 1e6
        while not self._over.wait(runs_s):
            stopped = time.perf_counter_ns()
            os.kill(pid, signal.SIGSTOP)
            time.sleep(QUOTA_PERIOD_US / 1e6 - runs_s)
            self._count += 1
            self._throttled_us += (time.perf_counter_ns() - stopped) // 1000
            self._tell()
            os.kill(pid, signal.SIGCONT)

    def _tell(self) -> None:
        stat = self.root / "sys/fs/cgroup/cpu.stat"
        fresh = stat.with_suffix(".new")
        fresh.write_text(f"nr_throttled {self._count}\nthrottled_usec {self._throttled_us}\n")
        fresh.replace(stat)


class NvmlStorm(Fault):
    """NVML asked without a pause, as a careless monitor would; each round is reported as ours.

    Raises ReadingError where there is no NVML.
    """

    name = "NVML storm"
    causes = ("probe",)

    def __init__(self, emit: Callable[[AnyEvent], None]) -> None:
        self._emit = emit
        self._nvml = load_nvml()
        calls = NvmlCalls(self._nvml, time.perf_counter_ns)
        calls("nvmlInit", lambda nvml: nvml.nvmlInit())
        self._handle = calls("nvmlDeviceGetHandleByIndex", lambda nvml: nvml.nvmlDeviceGetHandleByIndex(0))

    def begin(self, victim: Victim, seconds: float) -> None:
        self._started, self._over = time.perf_counter_ns(), threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def end(self) -> Span:
        self._over.set()
        self._thread.join()
        return self._started, time.perf_counter_ns()

    def _ask(self) -> None:
        nvml, handle = self._nvml, self._handle
        while not self._over.is_set():
            started = now = time.perf_counter_ns()
            while now - started < NVML_SAMPLE_NS:
                nvml.nvmlDeviceGetUtilizationRates(handle)
                nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2)
                nvml.nvmlDeviceGetPowerUsage(handle)
                now = time.perf_counter_ns()
            self._emit(GpuSample(now, call_ns=now - started))
