"""NVML without a GPU: scripted devices, errors by function, and a record of every call."""
# ruff: noqa: N802, N815 - the names are NVML's own

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND = 3, 4, 6, 12, 13
GPU_IS_LOST, VERSION_MISMATCH, IN_USE, UNKNOWN = 15, 18, 19, 999
TEXTS = {
    NOT_SUPPORTED: "Not Supported",
    GPU_IS_LOST: "GPU is lost",
    IN_USE: "In use",
    UNKNOWN: "Unknown Error",
}

UUID = "d7a0c5f2-0000-1111-2222-333344445555"
GIB = 1 << 30


class FakeError(Exception):
    """As NVMLError: a number and a text."""

    def __init__(self, value: int) -> None:
        super().__init__(TEXTS.get(value, f"error {value}"))
        self.value = value


@dataclass
class FakeGpu:
    """One device; `board` is the whole GPU of a MIG instance."""

    uuid: str = f"GPU-{UUID}"
    name: str = "NVIDIA H200"
    board: "FakeGpu | None" = None
    gpu_instance: int = 3
    util: int = 17
    util_samples: list[tuple[int, int]] = field(default_factory=lambda: [(1_000, 10), (2_000, 20)])
    used: int = 3 * GIB
    power: int = 212_000
    sm_mhz: int = 1980
    memory_mhz: int = 3201
    temperature: int = 41
    reasons: int = 0x4
    bus_width: int = 6016
    gpm_supported: int = 1
    # What the hardware counters have added up to, in percent x seconds, by metric id.
    counters: dict[int, float] = field(default_factory=lambda: {1: 0.0, 2: 0.0, 10: 0.0})
    seconds: float = 0.0

    def run_for(self, seconds: float, graphics: float, sm: float, dram: float) -> None:
        """Let the counters advance as they do at these utilisations."""
        self.seconds += seconds
        for metric, percent in ((1, graphics), (2, sm), (10, dram)):
            self.counters[metric] += percent * seconds


@dataclass
class FakeSample:
    """What `nvmlGpmSampleGet` fills: the counters at one moment."""

    counters: dict[int, float] = field(default_factory=dict)
    seconds: float = 0.0
    freed: bool = False


class FakeMetrics:
    """The struct for `nvmlGpmMetricsGet`."""

    def __init__(self) -> None:
        self.version = 0
        self.numMetrics = 0
        self.sample1: FakeSample | None = None
        self.sample2: FakeSample | None = None
        self.metrics = [SimpleNamespace(metricId=0, nvmlReturn=999, value=0.0) for _ in range(477)]


class FakeNvml:
    """The module-like object that the sensors take for ``pynvml``.

    Attributes:
        errors: error number by function name; the function then raises.
        calls: how often each function was called.
        during: called within every call with its name, to look at the sensors meanwhile.
        cost_ns: how far `now_ns` moves on with every call.
    """

    NVMLError = FakeError
    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_TEMPERATURE_GPU = 0
    NVML_GPU_UTILIZATION_SAMPLES = 1
    nvmlMemory_v2 = 0x2000028
    NVML_GPM_METRICS_GET_VERSION = 1

    def __init__(self, *gpus: FakeGpu, cost_ns: int = 0) -> None:
        self.gpus = list(gpus)
        self.errors: dict[str, int] = {}
        self.calls: Counter[str] = Counter()
        self.during: Callable[[str], None] = lambda name: None
        self.driver = "580.159"
        self.now_ns = 0
        self.cost_ns = cost_ns
        self.running = False
        self.samples: list[FakeSample] = []
        self.metric_errors: dict[int, int] = {}

    def clock(self) -> int:
        return self.now_ns

    def _enter(self, name: str) -> None:
        self.calls[name] += 1
        self.now_ns += self.cost_ns
        self.during(name)
        if name in self.errors:
            raise FakeError(self.errors[name])
        if not self.running and name != "nvmlInit":
            raise FakeError(1)

    def nvmlInit(self) -> None:
        self._enter("nvmlInit")
        self.running = True

    def nvmlShutdown(self) -> None:
        self._enter("nvmlShutdown")
        assert all(sample.freed for sample in self.samples), "shut down with samples allocated"
        self.running = False

    def nvmlSystemGetDriverVersion(self) -> str:
        self._enter("nvmlSystemGetDriverVersion")
        return self.driver

    def nvmlDeviceGetCount(self) -> int:
        self._enter("nvmlDeviceGetCount")
        return sum(gpu.board is None for gpu in self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        self._enter("nvmlDeviceGetHandleByIndex")
        return [gpu for gpu in self.gpus if gpu.board is None][index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> FakeGpu:
        self._enter("nvmlDeviceGetHandleByUUID")
        for gpu in self.gpus:
            if gpu.uuid == uuid:
                return gpu
        raise FakeError(NOT_FOUND)

    def nvmlDeviceGetUUID(self, gpu: FakeGpu) -> str:
        self._enter("nvmlDeviceGetUUID")
        return gpu.uuid

    def nvmlDeviceGetName(self, gpu: FakeGpu) -> bytes:
        self._enter("nvmlDeviceGetName")
        return gpu.name.encode()

    def nvmlDeviceIsMigDeviceHandle(self, gpu: FakeGpu) -> bool:
        self._enter("nvmlDeviceIsMigDeviceHandle")
        return gpu.board is not None

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, gpu: FakeGpu) -> FakeGpu:
        self._enter("nvmlDeviceGetDeviceHandleFromMigDeviceHandle")
        assert gpu.board is not None
        return gpu.board

    def nvmlDeviceGetGpuInstanceId(self, gpu: FakeGpu) -> int:
        self._enter("nvmlDeviceGetGpuInstanceId")
        return gpu.gpu_instance

    def nvmlDeviceGetMemoryBusWidth(self, gpu: FakeGpu) -> int:
        self._enter("nvmlDeviceGetMemoryBusWidth")
        return gpu.bus_width

    def nvmlDeviceGetMaxClockInfo(self, gpu: FakeGpu, clock: int) -> int:
        self._enter("nvmlDeviceGetMaxClockInfo")
        return {1: 1980, 2: 3201}[clock]

    def nvmlDeviceGetEnforcedPowerLimit(self, gpu: FakeGpu) -> int:
        self._enter("nvmlDeviceGetEnforcedPowerLimit")
        return 700_000

    def nvmlDeviceGetMaxPcieLinkGeneration(self, gpu: FakeGpu) -> int:
        self._enter("nvmlDeviceGetMaxPcieLinkGeneration")
        return 5

    def nvmlDeviceGetCurrPcieLinkWidth(self, gpu: FakeGpu) -> int:
        self._enter("nvmlDeviceGetCurrPcieLinkWidth")
        return 16

    def nvmlDeviceGetCurrentEccMode(self, gpu: FakeGpu) -> int:
        self._enter("nvmlDeviceGetCurrentEccMode")
        return 1

    def nvmlDeviceGetMemoryInfo(self, gpu: FakeGpu, version: int) -> SimpleNamespace:
        self._enter("nvmlDeviceGetMemoryInfo")
        assert version == self.nvmlMemory_v2
        return SimpleNamespace(total=141 * GIB, used=gpu.used, reserved=GIB, free=0)

    def nvmlDeviceGetUtilizationRates(self, gpu: FakeGpu) -> SimpleNamespace:
        self._enter("nvmlDeviceGetUtilizationRates")
        if gpu.board is not None:
            raise FakeError(NOT_SUPPORTED)
        return SimpleNamespace(gpu=gpu.util, memory=5)

    def nvmlDeviceGetSamples(
        self, gpu: FakeGpu, kind: int, since_us: int
    ) -> tuple[int, list[SimpleNamespace]]:
        self._enter("nvmlDeviceGetSamples")
        assert kind == self.NVML_GPU_UTILIZATION_SAMPLES
        new = [
            SimpleNamespace(timeStamp=time_us, sampleValue=SimpleNamespace(uiVal=value))
            for time_us, value in gpu.util_samples
            if time_us > since_us
        ]
        if not new:
            raise FakeError(6)
        return 1, new

    def nvmlDeviceGetPowerUsage(self, gpu: FakeGpu) -> int:
        self._enter("nvmlDeviceGetPowerUsage")
        return gpu.power

    def nvmlDeviceGetClockInfo(self, gpu: FakeGpu, clock: int) -> int:
        self._enter("nvmlDeviceGetClockInfo")
        return {1: gpu.sm_mhz, 2: gpu.memory_mhz}[clock]

    def nvmlDeviceGetCurrentClocksEventReasons(self, gpu: FakeGpu) -> int:
        self._enter("nvmlDeviceGetCurrentClocksEventReasons")
        return gpu.reasons

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, gpu: FakeGpu) -> int:
        self._enter("nvmlDeviceGetCurrentClocksThrottleReasons")
        return gpu.reasons

    def nvmlDeviceGetTemperatureV(self, gpu: FakeGpu, sensor: int) -> int:
        self._enter("nvmlDeviceGetTemperatureV")
        return gpu.temperature

    def nvmlDeviceGetTemperature(self, gpu: FakeGpu, sensor: int) -> int:
        self._enter("nvmlDeviceGetTemperature")
        return gpu.temperature

    def nvmlGpmQueryDeviceSupport(self, gpu: FakeGpu) -> SimpleNamespace:
        self._enter("nvmlGpmQueryDeviceSupport")
        return SimpleNamespace(isSupportedDevice=gpu.gpm_supported)

    def nvmlGpmSampleAlloc(self) -> FakeSample:
        self._enter("nvmlGpmSampleAlloc")
        self.samples.append(FakeSample())
        return self.samples[-1]

    def nvmlGpmSampleFree(self, sample: FakeSample) -> None:
        self._enter("nvmlGpmSampleFree")
        assert not sample.freed, "freed twice"
        sample.freed = True

    def nvmlGpmSampleGet(self, gpu: FakeGpu, sample: FakeSample) -> None:
        self._enter("nvmlGpmSampleGet")
        assert gpu.board is None, "a MIG instance has a call of its own"
        self._fill(gpu, sample)

    def nvmlGpmMigSampleGet(self, gpu: FakeGpu, instance: int, sample: FakeSample) -> None:
        self._enter("nvmlGpmMigSampleGet")
        assert gpu.board is None, "asked of the whole GPU"
        self._fill(gpu, sample)

    def _fill(self, gpu: FakeGpu, sample: FakeSample) -> None:
        assert not sample.freed
        sample.counters, sample.seconds = dict(gpu.counters), gpu.seconds

    def c_nvmlGpmMetricsGet_t(self) -> FakeMetrics:
        self.calls["c_nvmlGpmMetricsGet_t"] += 1
        return FakeMetrics()

    def nvmlGpmMetricsGet(self, request: Any) -> None:
        self._enter("nvmlGpmMetricsGet")
        assert request.version == self.NVML_GPM_METRICS_GET_VERSION
        first, second = request.sample1, request.sample2
        for metric in request.metrics[: request.numMetrics]:
            metric.nvmlReturn = self.metric_errors.get(metric.metricId, 0)
            grown = second.counters[metric.metricId] - first.counters[metric.metricId]
            passed = second.seconds - first.seconds
            metric.value = grown / passed if passed else float("nan")


def mig_pair() -> tuple[FakeGpu, FakeGpu]:
    """A whole GPU and one MIG instance of it."""
    board = FakeGpu(uuid="GPU-00000000-aaaa-bbbb-cccc-000000000000", util=90)
    instance = FakeGpu(uuid=f"MIG-{UUID}", name="NVIDIA H200 MIG 1g.18gb", board=board, used=GIB, power=-1)
    return board, instance
