"""CPU load from scripted counters, and the counters themselves from /proc trees."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.protocol.events import CpuSample
from idlegap.core.protocol.reasons import because
from idlegap.core.sensors.cpu import CoreTimes, CpuCounters, CpuReader
from idlegap.core.sensors.reading import SECOND, ReadingError
from tests.core.sensors import trees

OWN_PID, ENGINE_PID, TID = 10, 20, 21


class ScriptedCounters(CpuCounters):
    """Counters that say what a test sets; an exception in place of a value is raised."""

    def __init__(self) -> None:
        self.core_times: tuple[CoreTimes, ...] | ReadingError = (CoreTimes(0, 0, 0),)
        self.processes: dict[int, float] = {}
        self.on_core: dict[int, int] = {}

    def cores(self) -> tuple[CoreTimes, ...]:
        if isinstance(self.core_times, ReadingError):
            raise self.core_times
        return self.core_times

    def process_s(self, pid: int) -> float:
        if pid not in self.processes:
            raise ReadingError(because("process-unreadable", pid=pid, detail="gone"))
        return self.processes[pid]

    def last_core(self, tid: int) -> int:
        if tid not in self.on_core:
            raise ReadingError(because("thread-unreadable", tid=tid, detail="gone"))
        return self.on_core[tid]


class Machine:
    """A reader on scripted counters that moves on a second at a time."""

    def __init__(self, root: Path) -> None:
        self.tree = trees.docker_v2(root)
        self.counters = ScriptedCounters()
        self.own_ns = 0
        self.now_ns = 0
        self.reader = CpuReader(root, self.counters, own_cpu_ns=lambda: self.own_ns, own_pid=OWN_PID)

    def run_engine(self) -> None:
        self.counters.processes[ENGINE_PID] = 50.0
        self.counters.on_core[TID] = 1
        self.reader.watch_engine(ENGINE_PID, TID)

    def advance(self, *core_times: tuple[float, float, float]) -> CpuSample | None:
        self.now_ns += SECOND
        self.counters.core_times = tuple(CoreTimes(*times) for times in core_times)
        return self.reader.sample(self.now_ns)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def sampled(sample: CpuSample | None) -> CpuSample:
    assert sample is not None
    return sample


def test_the_first_reading_is_only_remembered(machine: Machine) -> None:
    assert machine.advance((5, 0, 10)) is None


def test_shares_of_each_core_and_of_each_party(machine: Machine) -> None:
    machine.run_engine()
    machine.tree.write("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3450000\n")
    machine.advance((10, 1, 100), (20, 1, 100))
    machine.counters.processes[ENGINE_PID] += 0.9
    machine.own_ns += SECOND // 20
    sample = sampled(machine.advance((10.5, 1.1, 101), (21, 1.1, 101)))
    assert sample.core_pct == pytest.approx((50.0, 100.0))
    assert sample.steal_pct == pytest.approx(10.0)
    assert sample.engine_pct == pytest.approx(90.0)
    assert sample.monitor_pct == pytest.approx(5.0)
    assert sample.others_pct == pytest.approx(55.0)
    assert (sample.decode_core, sample.core_mhz, sample.load_1m) == (1, 3450.0, 1.25)
    assert sample.missing == {}


def test_before_the_engine_runs_the_rest_is_known(machine: Machine) -> None:
    machine.advance((0, 0, 1))
    sample = sampled(machine.advance((0.25, 0, 2)))
    assert sample.others_pct == pytest.approx(25.0)
    assert (sample.engine_pct, sample.decode_core, sample.core_mhz) == (None, None, None)
    assert set(sample.missing) == {"engine_pct", "decode_core", "core_mhz"}


def test_a_new_engine_is_not_charged_for_its_past(machine: Machine) -> None:
    machine.advance((0, 0, 1))
    machine.run_engine()
    sample = sampled(machine.advance((1, 0, 2)))
    assert sample.engine_pct is None
    # Its own share of the load is unknown, so what is left for others is, too.
    assert sample.others_pct is None
    machine.counters.processes[77] = 3.0
    machine.reader.watch_engine(77, TID)
    assert sampled(machine.advance((1, 0, 3))).engine_pct is None
    machine.counters.processes[77] = 3.5
    assert sampled(machine.advance((1, 0, 4))).engine_pct == pytest.approx(50.0)


def test_an_engine_that_is_gone_is_missing_not_idle(machine: Machine) -> None:
    machine.run_engine()
    machine.advance((0, 0, 1))
    machine.counters.processes.clear()
    machine.counters.on_core.clear()
    sample = sampled(machine.advance((0, 0, 2)))
    assert (sample.engine_pct, sample.decode_core) == (None, None)
    assert sample.missing["engine_pct"] == because("process-unreadable", pid=20, detail="gone")
    assert sample.missing["decode_core"] == because("thread-unreadable", tid=21, detail="gone")


def test_in_process_counts_the_process_once(machine: Machine) -> None:
    machine.counters.processes[OWN_PID] = 1.0
    machine.counters.on_core[TID] = 0
    machine.reader.watch_engine(OWN_PID, TID)
    machine.advance((0, 0, 1))
    machine.counters.processes[OWN_PID] = 1.6
    machine.own_ns += 6 * SECOND // 10
    sample = sampled(machine.advance((0.8, 0, 2)))
    assert sample.engine_pct == pytest.approx(60.0)
    assert sample.monitor_pct is None
    assert sample.others_pct == pytest.approx(20.0)


def test_unreadable_core_times_leave_the_other_readings(machine: Machine) -> None:
    machine.run_engine()
    machine.advance((0, 0, 1))
    machine.counters.core_times = ReadingError(because("cpu-times-zero"))
    machine.now_ns += SECOND
    machine.counters.processes[ENGINE_PID] += 0.4
    sample = sampled(machine.reader.sample(machine.now_ns))
    assert sample.core_pct == ()
    assert (sample.steal_pct, sample.others_pct) == (None, None)
    assert sample.missing["others_pct"] == because("cpu-times-zero")
    assert sample.engine_pct == pytest.approx(40.0)


def test_counters_that_stand_still_are_missing_not_idle(machine: Machine) -> None:
    machine.advance((5, 0, 10), (5, 0, 10))
    sample = sampled(machine.advance((5, 0, 10), (6, 0, 11)))
    assert sample.core_pct == ()
    assert sample.missing["core_pct"] == because("cpu-times-still")


def test_a_core_that_comes_or_goes_starts_the_comparison_anew(machine: Machine) -> None:
    machine.advance((0, 0, 1), (0, 0, 1))
    assert sampled(machine.advance((1, 0, 2))).missing["core_pct"] == because("first-reading")
    assert sampled(machine.advance((1.5, 0, 3))).core_pct == pytest.approx((50.0,))


def test_a_missing_load_average_is_said(machine: Machine) -> None:
    (machine.tree.root / "proc/loadavg").unlink()
    machine.advance((0, 0, 1))
    sample = sampled(machine.advance((0, 0, 2)))
    assert sample.load_1m is None
    assert sample.missing["load_1m"] == because("unreadable", path="/proc/loadavg")


times = st.floats(0, 1e7)


@given(rows=st.lists(st.tuples(times, times, times), min_size=3, max_size=3), own=st.integers(0, 10**12))
def test_shares_stay_in_range_whatever_the_counters_do(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, float, float]], own: int
) -> None:
    machine = Machine(tmp_path_factory.mktemp("root"))
    for row in rows:
        machine.own_ns = own - machine.own_ns
        sample = machine.advance(row)
        if sample is None or not sample.core_pct:
            continue
        assert all(0 <= share <= 100 for share in sample.core_pct)
        assert sample.steal_pct is not None
        assert 0 <= sample.steal_pct <= 100
        assert sample.others_pct is not None
        assert sample.others_pct >= 0
        assert sample.monitor_pct is not None
        assert sample.monitor_pct >= 0


# --- psutil behind the counters ---------------------------------------------------


@pytest.fixture
def procfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A tree that psutil reads through its own setting for that."""
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path / "proc"))
    return tmp_path


def test_waiting_for_io_is_idle_and_guest_time_is_counted_once(procfs: Path) -> None:
    tree = trees.docker_v2(procfs)
    #          user nice system idle iowait irq softirq steal guest guest_nice
    tree.cores("300 10 50 400 200 5 35 100 250 5")
    (core,) = CpuCounters().cores()
    ticks = os.sysconf("SC_CLK_TCK")
    assert core == pytest.approx(CoreTimes(400 / ticks, 100 / ticks, 1100 / ticks))


def test_all_zero_times_are_unreadable(procfs: Path) -> None:
    trees.gvisor(procfs)
    with pytest.raises(ReadingError, match="all zero"):
        CpuCounters().cores()


def test_an_absent_stat_file_is_unreadable(procfs: Path) -> None:
    with pytest.raises(ReadingError, match="/proc/stat unreadable"):
        CpuCounters().cores()


def test_a_truncated_stat_file_is_unreadable(procfs: Path) -> None:
    tree = trees.docker_v2(procfs)
    tree.write("proc/stat", "cpu  1 2\ncpu0 1 2\n")
    with pytest.raises(ReadingError, match="/proc/stat unreadable"):
        CpuCounters().cores()


def test_process_times_and_last_core_from_stat(procfs: Path) -> None:
    tree = trees.docker_v2(procfs)
    before_times = "S 1 1 1 0 -1 4194560 100 0 0 0"
    after_times = (
        "700 300 20 0 1 0 5000 1000 50 184467 1 1 1 1 1 0 0 0 0 0 0 0 17 6 0 0 0 0 0 0 0 0 0 0 0 0 0"
    )
    tree.write("proc/4242/stat", f"4242 (a ) (b) {before_times} 1234 66 {after_times}\n")
    counters = CpuCounters()
    assert counters.process_s(4242) == pytest.approx(1300 / os.sysconf("SC_CLK_TCK"))
    assert counters.last_core(4242) == 6


def test_a_process_that_does_not_exist_is_gone(procfs: Path) -> None:
    trees.docker_v2(procfs)
    with pytest.raises(ReadingError, match="process 4242: gone"):
        CpuCounters().process_s(4242)
    with pytest.raises(ReadingError, match="thread 4242: gone"):
        CpuCounters().last_core(4242)


def test_the_real_counters_know_a_thread_by_its_id() -> None:
    cores: list[int] = []

    def worker() -> None:
        cores.append(CpuCounters().last_core(threading.get_native_id()))

    thread = threading.Thread(target=worker)
    thread.start()
    thread.join()
    assert cores[0] in range(os.cpu_count() or 1)
