"""CPU load of the host, of the engine and of this process, and the decode thread's core.

All of it is differences of cumulative times (proc_stat(5)). Waiting for I/O counts as idle:
the core is free. Stolen time counts apart: a neighbour of the virtual machine had the core.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

from idlegap.core.protocol.events import CpuSample
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.sensors.reading import ReadingError, ask, read_text

CPU_FIELDS = tuple(name for name in CpuSample.__struct_fields__ if name not in {"t_ns", "missing"})


class CoreTimes(NamedTuple):
    """Cumulative seconds of one core since boot; `total_s` includes idle, I/O wait and steal."""

    busy_s: float
    steal_s: float
    total_s: float


class CpuCounters:
    """Cumulative CPU times as psutil reads them; psutil.PROCFS_PATH says where. All raise ReadingError."""

    def cores(self) -> tuple[CoreTimes, ...]:
        try:
            rows = psutil.cpu_times(percpu=True)
        # psutil works out the fields at import; where that failed it has no row type to call.
        except (OSError, ValueError, TypeError, IndexError) as error:
            reason = because("unreadable", path="/proc/stat", detail=type(error).__name__)
            raise ReadingError(reason) from error
        cores = tuple(_core_times(row._asdict()) for row in rows)
        # All are zero under gVisor.
        if not any(core.total_s for core in cores):
            raise ReadingError(because("cpu-times-zero"))
        return cores

    def process_s(self, pid: int) -> float:
        """CPU seconds, user and system, that a process has used."""
        try:
            times = psutil.Process(pid).cpu_times()
        except (psutil.Error, OSError, ValueError) as error:
            raise ReadingError(because("process-unreadable", pid=pid, detail=_why(error))) from error
        return times.user + times.system

    def last_core(self, tid: int) -> int:
        """The core that a thread runs on or ran on last; its id works where psutil asks for a process's."""
        try:
            return psutil.Process(tid).cpu_num()
        except (psutil.Error, OSError, ValueError, IndexError) as error:
            raise ReadingError(because("thread-unreadable", tid=tid, detail=_why(error))) from error


class CpuReader:
    """Samples of CPU load since the previous sample.

    `own_cpu_ns` is the CPU time of this process, exact where ``/proc`` has only 10 ms steps; `own_pid`
    tells it apart from the engine's.
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
        self._engine = (pid, tid)

    def sample(self, now_ns: int) -> CpuSample | None:
        """Load since the last call; None at the first one."""
        before_ns, self._sampled_ns = self._sampled_ns, now_ns
        interval_s = 0.0 if before_ns is None else (now_ns - before_ns) / 1e9
        pid, tid = self._engine or (None, None)
        missing: dict[str, Reason] = {}
        core_pct, steal_pct = ask(missing, "core_pct", self._core_and_steal_pct) or ((), None)
        monitor_pct = ask(missing, "monitor_pct", lambda: self._monitor_pct(pid, interval_s))
        engine_pct = ask(missing, "engine_pct", lambda: self._engine_pct(pid, interval_s))
        decode_core = ask(missing, "decode_core", lambda: self._decode_core(tid))
        if before_ns is None:
            return None
        core_mhz = others_pct = None
        if decode_core is None:
            missing["core_mhz"] = missing["decode_core"]
        else:
            core_mhz = ask(missing, "core_mhz", lambda: self._core_mhz(decode_core))
        if not core_pct:
            missing["steal_pct"] = missing["others_pct"] = missing["core_pct"]
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
            load_1m=ask(missing, "load_1m", self._load),
            core_mhz=core_mhz,
            missing=missing,
        )

    def _core_and_steal_pct(self) -> tuple[tuple[float, ...], float]:
        """Busy share of every core, and the stolen share of the whole machine, in percent."""
        before, self._cores = self._cores, ()
        self._cores = self._counters.cores()
        if len(before) != len(self._cores):
            raise ReadingError(because("first-reading"))
        passed = [
            CoreTimes(*(after - earlier for earlier, after in zip(old, new, strict=True)))
            for old, new in zip(before, self._cores, strict=True)
        ]
        if any(core.total_s <= 0 for core in passed):
            raise ReadingError(because("cpu-times-still"))
        busy = tuple(_share(core.busy_s, core.total_s) for core in passed)
        return busy, sum(_share(core.steal_s, core.total_s) for core in passed) / len(passed)

    def _monitor_pct(self, engine: int | None, interval_s: float) -> float:
        before, self._own_s = self._own_s, self._own_cpu_ns() / 1e9
        if engine == self._own_pid:
            raise ReadingError(because("within-engine"))
        if before is None or interval_s <= 0:
            raise ReadingError(because("first-reading"))
        return 100 * max(0.0, self._own_s - before) / interval_s

    def _engine_pct(self, pid: int | None, interval_s: float) -> float:
        before, self._engine_s = self._engine_s, None
        if pid is None:
            raise ReadingError(because("no-engine"))
        used_s = self._counters.process_s(pid)
        self._engine_s = (pid, used_s)
        if before is None or before[0] != pid or interval_s <= 0:
            raise ReadingError(because("first-reading"))
        return 100 * max(0.0, used_s - before[1]) / interval_s

    def _decode_core(self, tid: int | None) -> int:
        if tid is None:
            raise ReadingError(because("no-engine"))
        return self._counters.last_core(tid)

    def _load(self) -> float:
        try:
            return float(read_text(self._root / "proc/loadavg").split()[0])
        except (ValueError, IndexError) as error:
            raise ReadingError(because("unreadable", path="/proc/loadavg")) from error

    def _core_mhz(self, core: int) -> float:
        """Clock of a core, from cpufreq.

        The MHz of ``/proc/cpuinfo`` are no substitute: a virtual machine prints the nominal
        clock there, whatever the core does.
        """
        khz = read_text(self._root / f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq")
        if not khz.isdecimal():
            raise ReadingError(because("no-cpufreq"))
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
