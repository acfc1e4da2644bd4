"""From NVML to events: finding the device, rates, errors, pausing, hanging."""

from types import ModuleType, SimpleNamespace

import pytest

from idlegap.core.protocol.events import GpuInfo, GpuSample
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.sensors.gpu import GpuReader, checked_bindings
from idlegap.core.sensors.gpu_readings import GPU_FIELDS
from idlegap.core.sensors.nvml import Nvml
from idlegap.core.sensors.reading import MS, SECOND, ReadingError
from tests.core.sensors.fake_nvml import (
    FUNCTION_NOT_FOUND,
    GIB,
    LIBRARY_NOT_FOUND,
    NO_PERMISSION,
    NOT_SUPPORTED,
    UNKNOWN,
    UUID,
    FakeError,
    FakeGpu,
    FakeNvml,
    mig_pair,
)

STEP = 250 * MS


class Bench:
    """A reader on a fake NVML, ticked four times a second."""

    def __init__(self, *gpus: FakeGpu, cost_ns: int = 0) -> None:
        self.nvml = FakeNvml(*gpus, cost_ns=cost_ns)
        self.reader = GpuReader(lambda: self.nvml, self.nvml.clock)
        self.now_ns = 0

    def tick(self, seconds: float = 0.25) -> list[GpuInfo | GpuSample]:
        """Tick through so much time; the events of all ticks."""
        events: list[GpuInfo | GpuSample] = []
        for _ in range(round(seconds * 4)):
            events += self.reader.tick(self.now_ns)
            self.now_ns += STEP
            for gpu in self.nvml.gpus:
                gpu.run_for(0.25, graphics=19, sm=4, dram=2)
        return events

    def last_sample(self, seconds: float = 0.25) -> GpuSample:
        event = self.tick(seconds)[-1]
        assert isinstance(event, GpuSample)
        return event

    def info(self) -> GpuInfo:
        event = self.tick()[0]
        assert isinstance(event, GpuInfo)
        return event


def test_a_single_gpu_is_described_and_sampled_at_once() -> None:
    bench = Bench(FakeGpu())
    info, sample = bench.tick()
    assert info == GpuInfo(
        t_ns=0,
        name="NVIDIA H200",
        uuid=f"GPU-{UUID}",
        driver="580.159",
        memory_bytes=141 * GIB,
        bus_width_bits=6016,
        max_memory_mhz=3201,
        max_sm_mhz=1980,
        power_limit_mw=700_000,
        pcie_generation=5,
        pcie_width=16,
        ecc=True,
    )
    waiting = dict.fromkeys(("gpm_graphics_pct", "gpm_sm_pct", "gpm_dram_pct"), because("gpm-second-sample"))
    expected = GpuSample(
        t_ns=0,
        util_pct=17.0,
        util_samples_pct=15.0,
        memory_used_bytes=3 * GIB,
        power_mw=212_000,
        sm_mhz=1980,
        memory_mhz=3201,
        temperature_c=41,
        event_reasons=0x4,
        missing=waiting,
    )
    assert sample == expected
    second = bench.last_sample()
    assert second.missing == {}
    assert (second.gpm_graphics_pct, second.gpm_sm_pct, second.gpm_dram_pct) == pytest.approx((19, 4, 2))


def test_only_new_utilisation_samples_count_and_an_idle_ring_repeats_the_last_mean() -> None:
    gpu = FakeGpu()
    bench = Bench(gpu)
    bench.tick()
    assert bench.last_sample(1).util_samples_pct == 15.0
    gpu.util_samples = [(2_000, 20), (3_000, 90), (4_000, 100)]
    assert bench.last_sample(1).util_samples_pct == 95.0


def test_utilisation_samples_that_are_not_percent_are_rejected_for_good() -> None:
    gpu = FakeGpu(util_samples=[(1_000, 290_000)])
    bench = Bench(gpu)
    _, sample = bench.tick()
    assert sample.util_samples_pct is None
    assert sample.missing["util_samples_pct"] == because("samples-not-percent", most=290_000)


def test_each_tier_keeps_its_rate_and_repeats_its_last_value() -> None:
    gpu = FakeGpu()
    bench = Bench(gpu)
    bench.tick()
    bench.nvml.calls.clear()
    gpu.util, gpu.power, gpu.used = 99, 300_000, 5 * GIB
    sample = bench.last_sample(0.75)
    assert (sample.util_pct, sample.power_mw, sample.memory_used_bytes) == (99.0, 212_000, 3 * GIB)
    sample = bench.last_sample(0.25)
    assert (sample.power_mw, sample.memory_used_bytes) == (300_000, 3 * GIB)
    sample = bench.last_sample(9)
    assert sample.memory_used_bytes == 5 * GIB
    calls = bench.nvml.calls
    assert (calls["nvmlDeviceGetUtilizationRates"], calls["nvmlGpmSampleGet"]) == (40, 40)
    assert (calls["nvmlDeviceGetPowerUsage"], calls["nvmlDeviceGetClockInfo"]) == (10, 20)
    assert (calls["nvmlDeviceGetTemperatureV"], calls["nvmlDeviceGetCurrentClocksEventReasons"]) == (10, 10)
    assert calls["nvmlDeviceGetMemoryInfo"] == 1


def test_the_time_in_nvml_is_told_with_each_sample() -> None:
    bench = Bench(FakeGpu(), cost_ns=1_000)
    bench.tick()
    # Utilisation, a GPM sample and its metrics.
    assert bench.last_sample().call_ns == 3_000


def test_several_gpus_wait_for_the_engine_s_choice() -> None:
    first, second = FakeGpu(uuid="GPU-11111111-0000-0000-0000-000000000000", util=1), FakeGpu(util=2)
    bench = Bench(first, second)
    (info,) = bench.tick(3)
    assert isinstance(info, GpuInfo)
    assert info.missing == {"nvml": because("gpu-unnamed", count=2)}
    bench.reader.select(UUID)
    info, sample = bench.tick()
    assert isinstance(info, GpuInfo)
    assert isinstance(sample, GpuSample)
    assert (info.uuid, sample.util_pct) == (f"GPU-{UUID}", 2.0)


def test_naming_the_gpu_already_described_changes_nothing() -> None:
    bench = Bench(FakeGpu())
    bench.tick()
    bench.reader.select(UUID.upper())
    assert [type(event) for event in bench.tick(0.5)] == [GpuSample, GpuSample]


def test_choosing_another_device_describes_it_and_frees_the_first_one_s_samples() -> None:
    other = FakeGpu(uuid="GPU-22222222-0000-0000-0000-000000000000", name="NVIDIA A10")
    bench = Bench(FakeGpu(), other)
    bench.reader.select(UUID)
    bench.tick(0.5)
    bench.reader.select("22222222-0000-0000-0000-000000000000")
    assert bench.info().name == "NVIDIA A10"
    assert [sample.freed for sample in bench.nvml.samples] == [True, True, False, False]


def test_an_unknown_uuid_is_reported_once_and_not_replaced_by_another_gpu() -> None:
    bench = Bench(FakeGpu())
    bench.reader.select("ffffffff-0000-0000-0000-000000000000")
    (info,) = bench.tick(5)
    assert info.missing == {"nvml": because("gpu-unknown", uuid="ffffffff-0000-0000-0000-000000000000")}


def test_no_gpu_at_all() -> None:
    assert Bench().info().missing == {"nvml": because("no-gpu")}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (LIBRARY_NOT_FOUND, because("no-driver")),
        (9, because("driver-not-loaded")),
        (18, because("driver-mismatch")),
    ],
)
def test_no_usable_driver_is_one_event_with_one_reason(code: int, reason: Reason) -> None:
    bench = Bench(FakeGpu())
    bench.nvml.errors["nvmlInit"] = code
    assert bench.tick(60) == [GpuInfo(t_ns=0, name=None, uuid=None, missing={"nvml": reason})]
    assert bench.nvml.calls["nvmlInit"] == 1


def test_a_passing_failure_to_start_is_tried_again() -> None:
    bench = Bench(FakeGpu())
    bench.nvml.errors["nvmlInit"] = UNKNOWN
    (info,) = bench.tick(2)
    assert info.missing == {"nvml": because("nvml-error", error="Unknown Error")}
    bench.nvml.errors.clear()
    events = bench.tick(2)
    assert isinstance(events[0], GpuInfo)
    assert events[0].name == "NVIDIA H200"


def test_bindings_that_cannot_be_loaded_are_the_reason() -> None:
    def load() -> Nvml:
        raise ReadingError(because("no-bindings"), for_good=True)

    reader = GpuReader(load, lambda: 0)
    (info,) = reader.tick(0)
    assert info.missing == {"nvml": because("no-bindings")}
    assert reader.tick(SECOND) == []
    assert reader.stale_sample(SECOND) is None
    reader.close()


def test_a_wrong_pynvml_is_told_from_the_right_one() -> None:
    package = ModuleType("pynvml")
    package.__path__ = ["/somewhere/pynvml"]
    for name in dir(FakeNvml):
        if name.startswith(("nvml", "NVML")):
            setattr(package, name, getattr(FakeNvml, name))
    for module in (package, SimpleNamespace(NVMLError=FakeError, nvmlInit=print)):
        with pytest.raises(ReadingError, match="install nvidia-ml-py") as caught:
            checked_bindings(module)  # type: ignore[arg-type]
        assert caught.value.for_good
    nvml = FakeNvml()
    assert checked_bindings(nvml) is nvml


def test_unsupported_readings_make_up_the_capability_table_and_are_never_asked_again() -> None:
    bench = Bench(FakeGpu(gpm_supported=0))
    bench.nvml.errors |= {
        "nvmlDeviceGetMemoryBusWidth": NOT_SUPPORTED,
        "nvmlDeviceGetPowerUsage": NOT_SUPPORTED,
        "nvmlDeviceGetMemoryInfo": FUNCTION_NOT_FOUND,
    }
    info = bench.info()
    assert info.bus_width_bits is None
    assert info.spec_bytes_per_s is None
    assert info.missing == {
        "bus_width_bits": because("not-supported"),
        "power_mw": because("not-supported"),
        "memory_bytes": because("driver-too-old"),
        "memory_used_bytes": because("driver-too-old"),
        "gpm_graphics_pct": because("needs-hopper"),
        "gpm_sm_pct": because("needs-hopper"),
        "gpm_dram_pct": because("needs-hopper"),
    }
    bench.nvml.calls.clear()
    sample = bench.last_sample(30)
    assert (sample.power_mw, sample.memory_used_bytes, sample.gpm_sm_pct) == (None, None, None)
    assert sample.missing["power_mw"] == because("not-supported")
    calls = bench.nvml.calls
    assert calls["nvmlDeviceGetPowerUsage"] + calls["nvmlDeviceGetMemoryInfo"] == 0
    assert calls["nvmlGpmQueryDeviceSupport"] == 0


def test_a_static_zero_is_no_reading() -> None:
    info = Bench(FakeGpu(bus_width=0)).info()
    assert info.bus_width_bits is None
    assert info.missing == {"bus_width_bits": because("nvml-zero")}


def test_older_drivers_are_asked_the_older_way() -> None:
    bench = Bench(FakeGpu(reasons=0x40))
    bench.nvml.errors |= {
        "nvmlDeviceGetCurrentClocksEventReasons": FUNCTION_NOT_FOUND,
        "nvmlDeviceGetTemperatureV": FUNCTION_NOT_FOUND,
    }
    sample = bench.last_sample(2)
    assert (sample.event_reasons, sample.temperature_c) == (0x40, 41)
    assert bench.nvml.calls["nvmlDeviceGetCurrentClocksEventReasons"] == 1
    assert bench.nvml.calls["nvmlDeviceGetCurrentClocksThrottleReasons"] == 2


def test_a_passing_error_makes_readings_stale_until_they_come_back() -> None:
    bench = Bench(FakeGpu())
    bench.tick(5)
    bench.nvml.errors["nvmlDeviceGetUtilizationRates"] = UNKNOWN
    sample = bench.last_sample(12)
    assert sample.util_pct is None
    assert sample.missing == {
        "util_pct": because("stale", because("nvml-error", error="Unknown Error"), age_s=12)
    }
    assert sample.power_mw == 212_000
    bench.nvml.calls.clear()
    bench.nvml.errors.clear()
    # The pauses grow to 8 s; the reading is back within that.
    sample = bench.last_sample(8)
    assert (sample.util_pct, sample.missing) == (17.0, {})


def test_mig_reads_memory_of_the_instance_and_the_rest_of_the_whole_gpu() -> None:
    board, instance = mig_pair()
    bench = Bench(board, instance)
    bench.reader.select(UUID)
    info, sample = bench.tick()
    assert isinstance(info, GpuInfo)
    assert isinstance(sample, GpuSample)
    assert (info.name, info.uuid) == ("NVIDIA H200 MIG 1g.18gb", f"MIG-{UUID}")
    assert info.bus_width_bits is None
    assert info.missing == {"bus_width_bits": because("mig-whole-gpu"), "util_pct": because("mig")}
    assert (sample.util_pct, sample.missing["util_pct"]) == (None, because("mig"))
    assert (sample.memory_used_bytes, sample.power_mw) == (GIB, 212_000)


def test_mig_without_a_view_of_the_whole_gpu_still_has_memory() -> None:
    bench = Bench(*mig_pair())
    bench.nvml.errors |= {
        "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": NO_PERMISSION,
        "nvmlDeviceGetPowerUsage": NOT_SUPPORTED,
    }
    bench.reader.select(f"MIG-{UUID}")
    bench.nvml.gpus[1].gpm_supported = 0
    sample = bench.last_sample()
    assert sample.memory_used_bytes == GIB
    assert sample.missing["power_mw"] == because("mig")


def test_a_call_that_hangs_is_seen_from_outside() -> None:
    bench = Bench(FakeGpu())
    bench.tick(1)
    assert bench.reader.stale_sample(bench.now_ns + 60 * SECOND) is None
    seen: dict[int, GpuSample | None] = {}

    def look(name: str) -> None:
        if name == "nvmlDeviceGetPowerUsage":
            for seconds in (1, 2, 12):
                seen[seconds] = bench.reader.stale_sample(bench.nvml.now_ns + seconds * SECOND)

    bench.nvml.during = look
    bench.tick(1)
    assert seen[1] is None
    assert seen[2] is not None
    late = seen[12]
    assert late is not None
    assert late.missing == dict.fromkeys(
        GPU_FIELDS, because("stale", because("nvml-hangs", call="power_mw"), age_s=12)
    )


def test_close_frees_and_shuts_down_and_may_be_repeated() -> None:
    bench = Bench(FakeGpu())
    bench.tick(1)
    bench.reader.close()
    bench.reader.close()
    assert not bench.nvml.running
    assert bench.nvml.calls["nvmlShutdown"] == 1
    assert all(sample.freed for sample in bench.nvml.samples)


def test_close_survives_a_library_that_fails() -> None:
    bench = Bench(FakeGpu())
    bench.tick(1)
    bench.nvml.errors |= {"nvmlGpmSampleFree": UNKNOWN, "nvmlShutdown": UNKNOWN}
    bench.reader.close()
    assert bench.nvml.calls["nvmlShutdown"] == 1


def test_a_broken_reader_says_so_in_every_field() -> None:
    sample = Bench().reader.broken(7, because("sensor-failed", detail="oops"))
    assert sample == GpuSample(
        t_ns=7, missing=dict.fromkeys(GPU_FIELDS, because("sensor-failed", detail="oops"))
    )
