"""CPU quota, throttling and pressure of this process's cgroup: v1, v2 and hybrid.

Sources: Documentation/admin-guide/cgroup-v2.rst (``cpu.max``, ``cpu.stat``, ``cpu.pressure``),
Documentation/scheduler/sched-bwc.rst (v1) and Documentation/accounting/psi.rst.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from idlegap.core.protocol.events import CgroupSample
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.sensors.mounts import CgroupDir, Mount, find_cpu_cgroup, find_unified_cgroup
from idlegap.core.sensors.reading import SECOND, Every, ReadingError, ask

QUOTA_EVERY_NS = 10 * SECOND
"""Quotas seldom change (a pod resized in place), so they are not read with every sample."""

_SOME_TOTAL = re.compile(r"^some .*\btotal=([0-9]+)", re.MULTILINE)


class Throttling(NamedTuple):
    """Cumulative: how often, and for how long (summed over CPUs), a cgroup was held back."""

    times: int
    time_ns: int


def quota_cores(directory: Path, version: int) -> float | None:
    """The CPU bandwidth limit set on one cgroup, in cores; None where it has none."""
    try:
        if version == 2:
            quota, period = (directory / "cpu.max").read_text().split()
        else:
            quota = (directory / "cpu.cfs_quota_us").read_text()
            period = (directory / "cpu.cfs_period_us").read_text()
        # "max" on v2 is no number and -1 on v1 no limit.
        cores = int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None
    return cores if cores > 0 else None


def throttling(directory: Path, version: int) -> Throttling:
    """From ``cpu.stat`` of one cgroup; ReadingError where the file or the fields are absent (root
    cgroup, controller off)."""
    try:
        text = (directory / "cpu.stat").read_text()
    except OSError as error:
        raise ReadingError(because("cpu-stat-unreadable", detail=error.strerror or "")) from error
    fields = dict(line.split(maxsplit=1) for line in text.splitlines() if " " in line.strip())
    time, unit_ns = ("throttled_usec", 1000) if version == 2 else ("throttled_time", 1)
    try:
        return Throttling(int(fields["nr_throttled"]), int(fields[time]) * unit_ns)
    except (KeyError, ValueError) as error:
        raise ReadingError(because("no-cpu-controller")) from error


def pressure_us(path: Path) -> int:
    """The total of the "some" line of a PSI file: time in which any task waited, in µs. Raises
    ReadingError where PSI is not built in, switched off or unreadable."""
    try:
        text = path.read_text()
    except FileNotFoundError as error:
        raise ReadingError(because("no-psi")) from error
    except OSError as error:
        raise ReadingError(because("psi-unreadable", detail=error.strerror or "")) from error
    found = _SOME_TOTAL.search(text)
    if found is None:
        raise ReadingError(because("psi-unreadable", detail="no total"))
    return int(found[1])


class CgroupReader:
    """Samples of the cgroup that this process is in, found once at creation."""

    def __init__(self, root: Path, mounts: tuple[Mount, ...]) -> None:
        self._root = root
        self._levels: tuple[Path, ...] = ()
        self._version = 2
        self._unified: CgroupDir | None = None
        self._no_quota = because("no-quota")
        try:
            cpu = find_cpu_cgroup(root, mounts)
            self._levels, self._version = cpu.levels, cpu.version
        except ReadingError as error:
            self._no_quota = error.reason
        with suppress(ReadingError):
            self._unified = find_unified_cgroup(root, mounts)
        self._quota_every = Every(QUOTA_EVERY_NS)
        self._quotas: dict[Path, float] = {}
        self._throttling: dict[Path, Throttling] = {}
        self._pressure: dict[Callable[[], Path], int] = {}
        self._sampled_ns: int | None = None
        self._read_quotas()

    @property
    def quota(self) -> float | None:
        """The smallest quota between this cgroup and the top, in cores."""
        return min(self._quotas.values(), default=None)

    def sample(self, now_ns: int) -> CgroupSample | None:
        """What has happened since the last call; None at the first one.

        Everything is read each time, so that one interval holds for all differences.
        """
        if self._quota_every.due(now_ns):
            self._read_quotas()
        missing: dict[str, Reason] = {}
        if self.quota is None:
            missing["quota_cores"] = self._no_quota
        held = ask(missing, "throttled", self._throttled_since)
        if held is None:
            missing["throttled_ns"] = missing["throttled"]
        own_us = ask(missing, "cgroup_pressure_us", lambda: self._pressure_since(self._own_psi))
        system_us = ask(missing, "system_pressure_us", lambda: self._pressure_since(self._system_psi))
        before_ns, self._sampled_ns = self._sampled_ns, now_ns
        if before_ns is None:
            return None
        return CgroupSample(
            t_ns=now_ns,
            quota_cores=self.quota,
            throttled=held.times if held else None,
            throttled_ns=held.time_ns if held else None,
            cgroup_pressure_us=own_us,
            system_pressure_us=system_us,
            interval_ns=now_ns - before_ns,
            missing=missing,
        )

    def _read_quotas(self) -> None:
        found = {level: quota_cores(level, self._version) for level in self._levels}
        self._quotas = {level: cores for level, cores in found.items() if cores is not None}

    def _throttled_since(self) -> Throttling:
        """Throttling since the last call, summed over the levels that set a quota.

        A cgroup's own counters leave out what its ancestors' quotas did, so those are read
        as well; ancestors without a quota are not, because reading theirs makes the kernel
        add up everything below them.
        """
        before, self._throttling = self._throttling, {}
        reason = self._no_quota
        for level in self._quotas or self._levels[:1]:
            try:
                self._throttling[level] = throttling(level, self._version)
            except ReadingError as error:
                reason = error.reason
        pairs = [(before[level], after) for level, after in self._throttling.items() if level in before]
        if not pairs:
            raise ReadingError(because("first-reading") if self._throttling else reason)
        # Counters may run backwards under lxcfs.
        return Throttling(
            sum(max(0, after.times - earlier.times) for earlier, after in pairs),
            sum(max(0, after.time_ns - earlier.time_ns) for earlier, after in pairs),
        )

    def _pressure_since(self, psi: Callable[[], Path]) -> int:
        before = self._pressure.pop(psi, None)
        self._pressure[psi] = total = pressure_us(psi())
        if before is None:
            raise ReadingError(because("first-reading"))
        return max(0, total - before)

    def _system_psi(self) -> Path:
        return self._root / "proc/pressure/cpu"

    def _own_psi(self) -> Path:
        if self._unified is None:
            raise ReadingError(because("no-cgroup-v2"))
        # Only the root of the whole hierarchy lacks this file. Its pressure is the machine's,
        # and showing the same number twice would call other containers' waiting our own.
        if not (self._unified.own / "cgroup.type").exists():
            raise ReadingError(because("root-cgroup"))
        return self._unified.own / "cpu.pressure"
