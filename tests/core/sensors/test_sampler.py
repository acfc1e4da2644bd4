"""The sampler: what each thread says and when, and that it ends."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from idlegap.core.protocol.events import CgroupSample, CpuSample, GpuInfo, GpuSample, HostInfo, SensorEvent
from idlegap.core.protocol.reasons import because
from idlegap.core.sensors.cpu import CPU_FIELDS, CoreTimes, CpuCounters
from idlegap.core.sensors.reading import MS, SECOND
from idlegap.core.sensors.sampler import HostReader, Sampler
from tests.core.sensors import trees
from tests.core.sensors.fake_nvml import UUID, FakeGpu, FakeNvml

E = TypeVar("E")
STEP = 250 * MS
PATIENCE_S = 30.0


class AlternatingCounters(CpuCounters):
    """A core that is busy half of the time."""

    def __init__(self) -> None:
        self.reads = 0

    def cores(self) -> tuple[CoreTimes, ...]:
        self.reads += 1
        return (CoreTimes(self.reads * 0.5, 0.0, self.reads * 1.0),)

    def process_s(self, pid: int) -> float:
        return 0.0

    def last_core(self, tid: int) -> int:
        return tid % 16


class BrokenCounters(AlternatingCounters):
    def cores(self) -> tuple[CoreTimes, ...]:
        raise RuntimeError("a bug")


# --- the host's side, without threads ---------------------------------------------


def test_the_host_is_described_once_and_first(tmp_path: Path) -> None:
    tree = trees.docker_v2(tmp_path)
    reader = HostReader(tmp_path, AlternatingCounters(), lambda now_ns: None)
    first = reader.tick(0)
    assert [type(event) for event in first] == [HostInfo]
    assert isinstance(first[0], HostInfo)
    assert first[0].usable_cores <= 2.0
    tree.system_pressure(5_000)
    second = reader.tick(STEP)
    assert [type(event) for event in second] == [CpuSample, CgroupSample]
    cpu, cgroup = second
    assert isinstance(cpu, CpuSample)
    assert isinstance(cgroup, CgroupSample)
    assert cpu.core_pct == pytest.approx((50.0,))
    assert (cgroup.quota_cores, cgroup.system_pressure_us, cgroup.interval_ns) == (2.0, 4_000, STEP)


def test_a_stale_gpu_is_told_once_a_second(tmp_path: Path) -> None:
    trees.docker_v2(tmp_path)
    asked: list[int] = []

    def stale(now_ns: int) -> GpuSample:
        asked.append(now_ns)
        return GpuSample(t_ns=now_ns)

    reader = HostReader(tmp_path, AlternatingCounters(), stale)
    told = [event for step in range(9) for event in reader.tick(step * STEP) if isinstance(event, GpuSample)]
    assert asked == [0, SECOND, 2 * SECOND]
    assert [event.t_ns for event in told] == asked


# --- with threads -------------------------------------------------------------------


class Running:
    """A sampler under test, its events in a queue."""

    def __init__(
        self, root: Path, nvml: FakeNvml, *, broken: bool = False, nvml_enabled: bool = True
    ) -> None:
        self.events: queue.SimpleQueue[SensorEvent] = queue.SimpleQueue()
        self.sampler = Sampler(
            self.events.put,
            root=root,
            nvml=nvml,
            nvml_enabled=nvml_enabled,
            counters=BrokenCounters() if broken else AlternatingCounters(),
        )

    def wait_for(self, kind: type[E], accept: Callable[[E], bool] = lambda event: True) -> E:
        """The next event of a kind that is accepted, among as many as a test may wait for."""
        for _ in range(200):
            event = self.events.get(timeout=PATIENCE_S)
            if isinstance(event, kind) and accept(event):
                return event
        raise AssertionError(f"no such {kind.__name__}")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    trees.docker_v2(tmp_path)
    return tmp_path


@pytest.fixture
def running(root: Path) -> Iterator[Running]:
    bench = Running(root, FakeNvml(FakeGpu()))
    bench.sampler.start()
    yield bench
    bench.sampler.stop(PATIENCE_S)


def sensor_threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()} & {"host-sensors", "nvml"}


def test_all_kinds_of_events_arrive_with_rising_times(running: Running) -> None:
    before_ns = time.perf_counter_ns()
    host = running.wait_for(HostInfo)
    first = running.wait_for(CpuSample)
    second = running.wait_for(CpuSample)
    running.wait_for(CgroupSample)
    running.wait_for(GpuSample, lambda sample: sample.util_pct == 17.0)
    assert host.t_ns < first.t_ns < second.t_ns
    assert abs(host.t_ns - before_ns) < 60 * SECOND


def test_watching_an_engine_reaches_both_threads(root: Path) -> None:
    nvml = FakeNvml(FakeGpu(uuid="GPU-0", name="first"), FakeGpu(name="second"))
    bench = Running(root, nvml)
    bench.sampler.start()
    bench.wait_for(GpuInfo, lambda info: "nvml" in info.missing)
    bench.sampler.watch_engine(pid=1, tid=21, device_uuid=UUID)
    found: set[str] = set()
    for _ in range(200):
        event = bench.events.get(timeout=PATIENCE_S)
        if isinstance(event, GpuInfo) and event.name == "second":
            found.add("device")
        if isinstance(event, CpuSample) and event.decode_core == 5:
            found.add("thread")
        if len(found) == 2:
            break
    bench.sampler.stop(PATIENCE_S)
    assert found == {"device", "thread"}


def test_stop_ends_both_threads_and_shuts_nvml_down(root: Path) -> None:
    nvml = FakeNvml(FakeGpu())
    bench = Running(root, nvml)
    bench.sampler.start()
    bench.wait_for(GpuSample)
    assert sensor_threads() == {"host-sensors", "nvml"}
    bench.sampler.stop(PATIENCE_S)
    bench.sampler.stop(PATIENCE_S)
    assert sensor_threads() == set()
    assert not nvml.running


def test_stop_before_start_is_harmless(root: Path) -> None:
    Running(root, FakeNvml()).sampler.stop()


def test_with_nvml_switched_off_it_is_never_touched(root: Path) -> None:
    nvml = FakeNvml(FakeGpu())
    bench = Running(root, nvml, nvml_enabled=False)
    bench.sampler.start()
    assert bench.wait_for(GpuInfo).missing == {"nvml": because("nvml-off")}
    bench.wait_for(CpuSample)
    assert sensor_threads() == {"host-sensors"}
    bench.sampler.stop(PATIENCE_S)
    assert nvml.calls.total() == 0


def test_a_hung_nvml_leaves_the_host_s_panel_alive_and_stop_bounded(root: Path) -> None:
    nvml = FakeNvml(FakeGpu())
    hung, release = threading.Event(), threading.Event()

    def hang(name: str) -> None:
        hung.set()
        release.wait(PATIENCE_S)

    nvml.during = hang
    bench = Running(root, nvml)
    bench.sampler.start()
    assert hung.wait(PATIENCE_S)
    bench.wait_for(CpuSample)
    bench.wait_for(CpuSample)
    bench.sampler.stop(timeout_s=0.0)
    assert "nvml" in sensor_threads()
    release.set()
    bench.sampler.stop(PATIENCE_S)
    assert sensor_threads() == set()


def test_a_sensor_with_a_bug_says_so_and_the_other_goes_on(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Running(root, FakeNvml(FakeGpu()), broken=True)
    bench.sampler.start()
    sample = bench.wait_for(CpuSample)
    assert sample.missing == dict.fromkeys(CPU_FIELDS, because("sensor-failed", detail="RuntimeError: a bug"))
    bench.wait_for(GpuSample)
    bench.wait_for(GpuSample)
    bench.sampler.stop(PATIENCE_S)
    assert "a bug" in caplog.text
