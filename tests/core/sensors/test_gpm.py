"""The two-sample dance, its MIG rules and its clean-up."""

import pytest

from idlegap.core.protocol.reasons import because
from idlegap.core.sensors.gpm import Gpm
from idlegap.core.sensors.gpu_device import find_device
from idlegap.core.sensors.nvml import NvmlCalls, NvmlError
from idlegap.core.sensors.reading import MS, ReadingError
from tests.core.sensors.fake_nvml import IN_USE, UNKNOWN, UUID, FakeGpu, FakeNvml, mig_pair


def gpm_of(nvml: FakeNvml, driver: str = "580.159") -> Gpm:
    calls = NvmlCalls(nvml, nvml.clock)
    calls("start", lambda lib: lib.nvmlInit())
    return Gpm(calls, find_device(calls, UUID), driver)


def test_values_are_means_between_two_samples() -> None:
    gpu = FakeGpu()
    nvml = FakeNvml(gpu)
    gpm = gpm_of(nvml)
    gpm.refresh(0)
    assert gpm.values == {}
    assert gpm.missing["gpm_sm_pct"] == because("gpm-second-sample")
    gpu.run_for(0.25, graphics=96, sm=24, dram=16)
    gpm.refresh(250 * MS)
    assert gpm.values == pytest.approx({"gpm_graphics_pct": 96, "gpm_sm_pct": 24, "gpm_dram_pct": 16})
    assert gpm.missing == {}
    gpu.run_for(0.25, graphics=19, sm=4, dram=2)
    gpm.refresh(500 * MS)
    assert gpm.values == pytest.approx({"gpm_graphics_pct": 19, "gpm_sm_pct": 4, "gpm_dram_pct": 2})


def test_samples_closer_than_200_ms_are_not_taken() -> None:
    gpu = FakeGpu()
    nvml = FakeNvml(gpu)
    gpm = gpm_of(nvml)
    gpm.refresh(0)
    gpm.refresh(199 * MS)
    assert nvml.calls["nvmlGpmSampleGet"] == 1
    gpu.run_for(0.2, 50, 50, 50)
    gpm.refresh(200 * MS)
    assert nvml.calls["nvmlGpmSampleGet"] == 2
    assert len(gpm.values) == 3


def test_allocates_once_and_frees_both_samples_before_shutdown() -> None:
    gpu = FakeGpu()
    nvml = FakeNvml(gpu)
    gpm = gpm_of(nvml)
    for step in range(5):
        gpu.run_for(0.25, 1, 1, 1)
        gpm.refresh(step * 250 * MS)
    assert (nvml.calls["nvmlGpmSampleAlloc"], nvml.calls["c_nvmlGpmMetricsGet_t"]) == (2, 1)
    gpm.close()
    gpm.close()
    assert nvml.calls["nvmlGpmSampleFree"] == 2
    nvml.nvmlShutdown()


def test_only_metrics_that_nvml_vouches_for_count() -> None:
    gpu = FakeGpu()
    nvml = FakeNvml(gpu)
    nvml.metric_errors = {2: 3}
    gpm = gpm_of(nvml)
    gpm.refresh(0)
    gpu.run_for(0.25, graphics=40, sm=30, dram=130)
    gpm.refresh(250 * MS)
    assert gpm.values == pytest.approx({"gpm_graphics_pct": 40})
    assert gpm.missing == {
        "gpm_sm_pct": because("gpm-error", error=3),
        "gpm_dram_pct": because("gpm-impossible", value="130"),
    }


def test_a_metric_that_is_no_number_is_missing() -> None:
    gpm = gpm_of(FakeNvml(FakeGpu()))
    gpm.refresh(0)
    gpm.refresh(250 * MS)
    assert gpm.values == {}
    assert gpm.missing["gpm_sm_pct"] == because("gpm-impossible", value="nan")


def test_after_a_failure_no_mean_spans_it() -> None:
    gpu = FakeGpu()
    nvml = FakeNvml(gpu)
    gpm = gpm_of(nvml)
    gpm.refresh(0)
    nvml.errors["nvmlGpmSampleGet"] = UNKNOWN
    with pytest.raises(NvmlError):
        gpm.refresh(250 * MS)
    nvml.errors.clear()
    gpu.run_for(10, 90, 90, 90)
    gpm.refresh(500 * MS)
    assert gpm.values == {}
    gpu.run_for(0.25, 10, 10, 10)
    gpm.refresh(750 * MS)
    assert gpm.values["gpm_sm_pct"] == pytest.approx(10)


def test_an_older_gpu_needs_hopper() -> None:
    nvml = FakeNvml(FakeGpu(gpm_supported=0))
    with pytest.raises(ReadingError, match="needs Hopper") as caught:
        gpm_of(nvml).refresh(0)
    assert caught.value.for_good
    assert nvml.samples == []


def test_a_mig_instance_is_sampled_by_its_id_on_the_whole_gpu() -> None:
    board, instance = mig_pair()
    nvml = FakeNvml(board, instance)
    gpm = gpm_of(nvml)
    gpm.refresh(0)
    board.run_for(0.25, 30, 20, 10)
    gpm.refresh(250 * MS)
    assert gpm.values == pytest.approx({"gpm_graphics_pct": 30, "gpm_sm_pct": 20, "gpm_dram_pct": 10})
    assert nvml.calls["nvmlGpmSampleGet"] == 0


@pytest.mark.parametrize("driver", ["535.129.03", "", "unknown"])
def test_no_gpm_on_mig_with_an_old_driver(driver: str) -> None:
    nvml = FakeNvml(*mig_pair())
    with pytest.raises(ReadingError, match="driver 550") as caught:
        gpm_of(nvml, driver).refresh(0)
    assert caught.value.for_good
    assert nvml.calls["nvmlGpmMigSampleGet"] == 0


def test_gpm_that_breaks_the_memory_reading_is_given_up_and_freed() -> None:
    nvml = FakeNvml(*mig_pair())

    def break_memory(name: str) -> None:
        if name == "nvmlGpmMigSampleGet":
            nvml.errors["nvmlDeviceGetMemoryInfo"] = IN_USE

    nvml.during = break_memory
    with pytest.raises(ReadingError, match="GPM breaks the memory reading") as caught:
        gpm_of(nvml).refresh(0)
    assert caught.value.for_good
    assert [sample.freed for sample in nvml.samples] == [True, True]
