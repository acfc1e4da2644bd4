"""CPU load of the host, of the engine and of this process, and the decode thread's core.

All of it is differences of cumulative times (proc_stat(5)). Waiting for I/O counts as idle:
the core is free. Stolen time counts apart: a neighbour of the virtual machine had the core.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

import psutil

from idlegap.core.protocol.events import CpuSample
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.sensors.errors import ReadingError
from idlegap.core.sensors.virtual import read_line

CPU_FIELDS = tuple(name for name in CpuSample.__struct_fields__ if name not in {"t_ns", "missing"})

_NO_ENGINE = because("no-engine")
_FIRST = because("first-reading")
_STILL = because("cpu-times-still")


class CoreTimes(NamedTuple):
    """Cumulative seconds of one core since boot; `total_s` includes idle, I/O wait and steal."""

    busy_s: float
    steal_s: float
    total_s: float


class CpuCounters(Protocol):
    """Where cumulative CPU times come from. Every method may raise ReadingError."""

    def cores(self) -> tuple[CoreTimes, ...]:
        """Times of every core."""

    def process_s(self, pid: int) -> float:
        """CPU seconds, user and system, that a process has used."""

    def last_core(self, tid: int) -> int:
        """The core that a thread runs on or ran on last."""


class PsutilCounters:
    """The counters as psutil reads them; psutil.PROCFS_PATH says where."""

    def cores(self) -> tuple[CoreTimes, ...]:
        """See `CpuCounters`; raises ReadingError, also where all times are zero (gVisor)."""
        try:
            rows = psutil.cpu_times(percpu=True)
        # psutil works out the fields at import; where that failed it has no row type to call.
        except (OSError, ValueError, TypeError, IndexError) as error:
            reason = because("unreadable", path="/proc/stat", detail=type(error).__name__)
            raise ReadingError(reason) from error
        cores = tuple(_core_times(row._asdict()) for row in rows)
        if not any(core.total_s for core in cores):
            raise ReadingError(because("cpu-times-zero"))
        return cores

    def process_s(self, pid: int) -> float:
        """See `CpuCounters`."""
        try:
            times = psutil.Process(pid).cpu_times()
        except (psutil.Error, OSError, ValueError) as error:
            raise ReadingError(because("process-unreadable", pid=pid, detail=_why(error))) from error
        return times.user + times.system

    def last_core(self, tid: int) -> int:
        """See `CpuCounters`; a thread's id works where psutil asks for a process's."""
        try:
            return psutil.Process(tid).cpu_num()
        except (psutil.Error, OSError, ValueError, IndexError) as error:
            raise ReadingError(because("thread-unreadable", tid=tid, detail=_why(error))) from error


class CpuReader:
    """Samples of CPU load since the previous sample.

    Args:
        root: where ``proc`` and ``sys`` are found, for load and clock.
        counters: the cumulative times.
        own_cpu_ns: CPU time of this process, exact where ``/proc`` has only 10 ms steps.
        own_pid: this process, told apart from the engine's.
    """

    def __init__(
        self,
        root: Path,
        counters: CpuCounters,
        own_cpu_ns: Callable[[], int] = time.process_time_ns,
        own_pid: int | None = None,
    ) -> None:
        self._root = root
        self._counters = counters
        self._own_cpu_ns = own_cpu_ns
        self._own_pid = os.getpid() if own_pid is None else own_pid
        self._engine: tuple[int, int] | None = None
        self._cores: tuple[CoreTimes, ...] = ()
        self._own_s: float | None = None
        self._engine_s: tuple[int, float] | None = None
        self._sampled_ns: int | None = None

    def watch_engine(self, pid: int, tid: int) -> None:
        """Follow this engine process and decode thread from the next sample on."""
        self._engine = (pid, tid)

    def sample(self, now_ns: int) -> CpuSample | None:
        """Load since the last call; None at the first one."""
        before_ns, self._sampled_ns = self._sampled_ns, now_ns
        interval_s = 0.0 if before_ns is None else (now_ns - before_ns) / 1e9
        pid, tid = self._engine or (None, None)
        missing: dict[str, Reason] = {}
        core_pct, steal_pct = self._core_pct(missing)
        monitor_pct = self._monitor_pct(pid, interval_s, missing)
        engine_pct = self._engine_pct(pid, interval_s, missing)
        decode_core = self._decode_core(tid, missing)
        if before_ns is None:
            return None
        others_pct = None
        if not core_pct:
            missing["others_pct"] = missing["core_pct"]
        elif pid is not None and engine_pct is None:
            missing["others_pct"] = because("of-engine", missing["engine_pct"])
        else:
            # Jiffies of the cores and of a process do not tick together: no less than nothing.
            others_pct = max(0.0, sum(core_pct) - (engine_pct or 0.0) - (monitor_pct or 0.0))
        return CpuSample(
            t_ns=now_ns,
            core_pct=core_pct,
            engine_pct=engine_pct,
            monitor_pct=monitor_pct,
            others_pct=others_pct,
            steal_pct=steal_pct,
            decode_core=decode_core,
            load_1m=self._load(missing),
            core_mhz=self._core_mhz(decode_core, missing),
            missing=missing,
        )

    def _core_pct(self, missing: dict[str, Reason]) -> tuple[tuple[float, ...], float | None]:
        """Busy share of every core, and the stolen share of the whole machine, in percent."""
        before = self._cores
        try:
            self._cores = self._counters.cores()
        except ReadingError as error:
            self._cores = ()
            missing.update(core_pct=error.reason, steal_pct=error.reason)
            return (), None
        if len(before) != len(self._cores):
            missing.update(core_pct=_FIRST, steal_pct=_FIRST)
            return (), None
        passed = [
            CoreTimes(*(after - earlier for earlier, after in zip(old, new, strict=True)))
            for old, new in zip(before, self._cores, strict=True)
        ]
        if any(core.total_s <= 0 for core in passed):
            missing.update(core_pct=_STILL, steal_pct=_STILL)
            return (), None
        busy = tuple(_share(core.busy_s, core.total_s) for core in passed)
        return busy, sum(_share(core.steal_s, core.total_s) for core in passed) / len(passed)

    def _monitor_pct(self, engine: int | None, interval_s: float, missing: dict[str, Reason]) -> float | None:
        before, self._own_s = self._own_s, self._own_cpu_ns() / 1e9
        if engine == self._own_pid:
            missing["monitor_pct"] = because("within-engine")
            return None
        if before is None or interval_s <= 0:
            missing["monitor_pct"] = _FIRST
            return None
        return 100 * max(0.0, self._own_s - before) / interval_s

    def _engine_pct(self, pid: int | None, interval_s: float, missing: dict[str, Reason]) -> float | None:
        before, self._engine_s = self._engine_s, None
        if pid is None:
            missing["engine_pct"] = _NO_ENGINE
            return None
        try:
            used_s = self._counters.process_s(pid)
        except ReadingError as error:
            missing["engine_pct"] = error.reason
            return None
        self._engine_s = (pid, used_s)
        if before is None or before[0] != pid or interval_s <= 0:
            missing["engine_pct"] = _FIRST
            return None
        return 100 * max(0.0, used_s - before[1]) / interval_s

    def _decode_core(self, tid: int | None, missing: dict[str, Reason]) -> int | None:
        if tid is None:
            missing["decode_core"] = _NO_ENGINE
            return None
        try:
            return self._counters.last_core(tid)
        except ReadingError as error:
            missing["decode_core"] = error.reason
            return None

    def _load(self, missing: dict[str, Reason]) -> float | None:
        try:
            return float(read_line(self._root / "proc/loadavg").split()[0])
        except (ValueError, IndexError):
            missing["load_1m"] = because("unreadable", path="/proc/loadavg")
            return None

    def _core_mhz(self, core: int | None, missing: dict[str, Reason]) -> float | None:
        """Clock of the decode thread's core, from cpufreq.

        The MHz of ``/proc/cpuinfo`` are no substitute: a virtual machine prints the nominal
        clock there, whatever the core does.
        """
        if core is None:
            missing["core_mhz"] = missing["decode_core"]
            return None
        khz = read_line(self._root / f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq")
        if not khz.isdecimal():
            missing["core_mhz"] = because("no-cpufreq")
            return None
        return int(khz) / 1000


def _core_times(row: dict[str, float]) -> CoreTimes:
    """Fold psutil's fields; guest time is already within user and nice (proc_stat(5))."""
    busy_s = sum(row.get(name, 0.0) for name in ("user", "nice", "system", "irq", "softirq"))
    steal_s = row.get("steal", 0.0)
    return CoreTimes(busy_s, steal_s, busy_s + steal_s + row.get("idle", 0.0) + row.get("iowait", 0.0))


def _share(part_s: float, total_s: float) -> float:
    """Percent, kept within 0..100 because counters may run backwards (I/O wait, lxcfs)."""
    return min(100.0, max(0.0, 100 * part_s / total_s))


def _why(error: Exception) -> str:
    return "gone" if isinstance(error, psutil.NoSuchProcess) else type(error).__name__
