"""Faults to inject beside and inside an engine, each for a known time.

A fault begins, lasts for a burst and ends; `end` says from when to when it really acted. Those
that act inside the engine's process are carried out by `benchmarks.victim`.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from core.analysis.slow import Cause
from core.events import AnyEvent, GpuSample
from core.neighbours import NoisyNeighbours
from core.sensors.gpu import load_nvml
from core.sensors.mounts import find_cpu_cgroup, read_mounts
from core.sensors.nvml import NvmlCalls

STOP_S = 0.030
LOCK_MS = 30
QUOTA_PERIOD_US = 100_000
QUOTA_US = 50_000
NVML_SAMPLE_NS = 20_000_000

HOG = """
import ctypes, os, select, sys
ctypes.CDLL(None).prctl(1, 9)
os.sched_setaffinity(0, {int(core) for core in sys.argv[1].split(",")})
source, target = bytearray(64 << 20), bytearray(64 << 20)
while not select.select([0], [], [], 0)[0]:
    target[:] = source
"""

Span = tuple[int, int]
"""From when to when, CLOCK_MONOTONIC ns."""


class Victim(Protocol):
    """What the faults need to know of the engine under test."""

    pid: int
    tid: int

    def order(self, line: str) -> None: ...

    def answer(self) -> Span: ...


class Fault(Protocol):
    """One injected cause. `causes` are the answers that are right; `once` is one short blow
    rather than a state that lasts for the burst."""

    name: str
    causes: tuple[Cause, ...]
    once: bool

    def begin(self, victim: Victim, seconds: float) -> None: ...

    def end(self) -> Span: ...


class NeighbourOnCore:
    """One busy process on the decode thread's core, and both pinned to it."""

    name, causes, once = "neighbour, same core", ("neighbour",), False

    def begin(self, victim: Victim, seconds: float) -> None:
        self._tid = victim.tid
        self._usable = os.sched_getaffinity(victim.tid)
        core = max(self._usable)
        os.sched_setaffinity(victim.tid, {core})
        self._started = time.perf_counter_ns()
        self._neighbours = NoisyNeighbours(lambda _: None)
        self._neighbours.add(1, core)

    def end(self) -> Span:
        self._neighbours.remove_all()
        os.sched_setaffinity(self._tid, self._usable)
        return self._started, time.perf_counter_ns()


class NeighboursEverywhere:
    """Twice as many busy processes as cores, pinned to none."""

    name, causes, once = "neighbours, all cores", ("neighbour",), False

    def begin(self, victim: Victim, seconds: float) -> None:
        self._started = time.perf_counter_ns()
        self._neighbours = NoisyNeighbours(lambda _: None)
        self._neighbours.add(2 * len(os.sched_getaffinity(0)))

    def end(self) -> Span:
        self._neighbours.remove_all()
        return self._started, time.perf_counter_ns()


class _Ordered:
    """A fault inside the engine's process."""

    once = True

    def begin(self, victim: Victim, seconds: float) -> None:
        self._victim = victim
        victim.order(self.line(seconds))

    def end(self) -> Span:
        return self._victim.answer()

    def line(self, seconds: float) -> str:
        raise NotImplementedError


class HelperThreads(_Ordered):
    """Twice as many computing threads of the engine's own process as there are cores."""

    name, causes, once = "own helper threads", ("own threads",), False

    def line(self, seconds: float) -> str:
        return f"helpers {2 * len(os.sched_getaffinity(0))} {round(seconds * 1e3)}"


class Collection(_Ordered):
    """A full garbage collection on the decode thread."""

    name, causes = "garbage collection", ("more cpu",)

    def line(self, seconds: float) -> str:
        return "gc"


class LockHeld(_Ordered):
    """Another thread holds a lock that the step needs."""

    name, causes = "lock held", ("blocked",)

    def line(self, seconds: float) -> str:
        return f"lock {LOCK_MS}"


class Stopped:
    """SIGSTOP, and SIGCONT 30 ms later: a debugger, a checkpoint, a frozen container."""

    name, causes, once = "stopped by a signal", ("blocked",), True

    def begin(self, victim: Victim, seconds: float) -> None:
        self._started = time.perf_counter_ns()
        os.kill(victim.pid, signal.SIGSTOP)
        time.sleep(STOP_S)
        os.kill(victim.pid, signal.SIGCONT)
        self._ended = time.perf_counter_ns()

    def end(self) -> Span:
        return self._started, self._ended


class MemoryHog:
    """Processes that copy memory on every core but the decode thread's."""

    name, causes, once = "memory-bandwidth hog", ("more cpu",), False

    def begin(self, victim: Victim, seconds: float) -> None:
        self._tid = victim.tid
        self._usable = os.sched_getaffinity(victim.tid)
        own = max(self._usable)
        os.sched_setaffinity(victim.tid, {own})
        others = ",".join(str(core) for core in self._usable if core != own)
        self._started = time.perf_counter_ns()
        self._hogs = [
            subprocess.Popen([sys.executable, "-I", "-S", "-c", HOG, others], stdin=subprocess.PIPE)
            for _ in range(max(1, min(8, len(self._usable) - 1)))
        ]

    def end(self) -> Span:
        for hog in self._hogs:
            hog.kill()
        for hog in self._hogs:
            hog.communicate()
        os.sched_setaffinity(self._tid, self._usable)
        return self._started, time.perf_counter_ns()


class QuotaGroup:
    """A real cgroup around this process and all that it starts; its quota is the fault.

    Raises OSError or ReadingError where no cgroup can be made here.
    """

    name, causes, once = "quota", ("quota",), False

    def __init__(self) -> None:
        found = find_cpu_cgroup(Path("/"), read_mounts(Path("/")))
        self._parent, self._version = found.own, found.version
        self._own = found.own / f"idlegap-bench-{os.getpid()}"
        if self._version == 2:
            (self._parent / "cgroup.subtree_control").write_text("+cpu")
        self._own.mkdir()
        (self._own / "cgroup.procs").write_text(str(os.getpid()))
        self._set("-1")

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


class QuotaOnDisk:
    """Where no cgroup can be made: the engine is stopped for half of each period, and a cgroup
    tree on disk tells of it as the kernel would."""

    name, causes, once = "quota (on disk)", ("quota",), False

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


class NvmlStorm:
    """NVML asked without a pause, as a careless monitor would; each round is reported as ours.

    Raises ReadingError where there is no NVML.
    """

    name, causes, once = "NVML storm", ("probe",), False

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
                nvml.nvmlDeviceGetMemoryInfo(handle)
                nvml.nvmlDeviceGetPowerUsage(handle)
                now = time.perf_counter_ns()
            self._emit(GpuSample(now, call_ns=now - started))
