"""The real nvidia-ml-py has what the sensors expect of it; no driver is needed for that."""

import inspect
import subprocess
import sys

import pynvml
import pytest

from idlegap.core.protocol.reasons import because
from idlegap.core.sensors.gpm import METRICS, Gpm
from idlegap.core.sensors.gpu import load_nvml
from idlegap.core.sensors.gpu_device import find_device
from idlegap.core.sensors.nvml import Nvml, NvmlCalls, NvmlError
from tests.core.sensors.fake_nvml import UUID, FakeGpu, FakeNvml, FakeSample


def expected_functions() -> dict[str, int]:
    """Names in the protocol with their number of arguments."""
    functions = inspect.getmembers(Nvml, inspect.isfunction)
    return {
        name: len(inspect.signature(function).parameters) - 1
        for name, function in functions
        if name.startswith("nvml")
    }


def test_the_installed_bindings_are_accepted() -> None:
    assert load_nvml() is pynvml


def test_every_function_exists_and_takes_as_many_arguments() -> None:
    assert len(expected_functions()) > 25
    for name, count in expected_functions().items():
        inspect.signature(getattr(pynvml, name)).bind(*range(count))


def test_every_constant_exists() -> None:
    names = [name for name in Nvml.__annotations__ if hasattr(pynvml, name)]
    assert names == list(Nvml.__annotations__)
    assert {metric for _, metric in METRICS} == {
        pynvml.NVML_GPM_METRIC_GRAPHICS_UTIL,
        pynvml.NVML_GPM_METRIC_SM_UTIL,
        pynvml.NVML_GPM_METRIC_DRAM_BW_UTIL,
    }


def test_real_errors_carry_the_number_that_decides() -> None:
    class Failing(FakeNvml):
        NVMLError = pynvml.NVMLError

        def nvmlInit(self) -> None:  # noqa: N802 - NVML's name
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)

    nvml = Failing()
    with pytest.raises(NvmlError) as caught:
        NvmlCalls(nvml, nvml.clock)("start", lambda lib: lib.nvmlInit())
    assert (caught.value.code, caught.value.for_good) == (15, False)
    assert caught.value.reason == because("nvml-error", error="GPU is lost")


def test_gpm_fits_the_real_struct() -> None:
    class RealStructs(FakeNvml):
        def c_nvmlGpmMetricsGet_t(self) -> object:  # type: ignore[override]  # noqa: N802 - NVML's name
            return pynvml.c_nvmlGpmMetricsGet_t()

        def nvmlGpmSampleAlloc(self) -> object:  # type: ignore[override]  # noqa: N802 - NVML's name
            return pynvml.c_nvmlGpmSample_t()

        def _fill(self, gpu: FakeGpu, sample: FakeSample) -> None:
            """The real samples are opaque."""

        def nvmlGpmSampleGet(self, gpu: FakeGpu, sample: FakeSample) -> None:  # noqa: N802 - NVML's name
            self.calls["nvmlGpmSampleGet"] += 1

        def nvmlGpmMetricsGet(self, request: pynvml.c_nvmlGpmMetricsGet_t) -> None:  # noqa: N802 - NVML's name
            for slot in range(request.numMetrics):
                request.metrics[slot].nvmlReturn = 0
                request.metrics[slot].value = request.metrics[slot].metricId * 1.5

    nvml = RealStructs(FakeGpu())
    calls = NvmlCalls(nvml, nvml.clock)
    calls("start", lambda lib: lib.nvmlInit())
    gpm = Gpm(calls, find_device(calls, UUID), "580.159")
    gpm.refresh(0)
    gpm.refresh(10**9)
    assert gpm.values == {"gpm_graphics_pct": 1.5, "gpm_sm_pct": 3.0, "gpm_dram_pct": 15.0}


def test_importing_the_sensors_loads_neither_nvml_nor_torch() -> None:
    code = (
        "import sys, core.sensors.sampler; print(sorted({'pynvml', 'torch', 'textual'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
