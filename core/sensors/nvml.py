"""NVML as the sensors see it: the functions they call, its errors and clock event reasons in words,
and retries.

The library comes in as an object behind the `Nvml` protocol, so nothing here imports it.
Numbers are those of nvml.h, which are part of the ABI.
"""
# ruff: noqa: N802, N815 - the names are NVML's own

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.sensors.reading import SECOND, ReadingError

T = TypeVar("T")

NOT_SUPPORTED, INVALID_ARGUMENT, NOT_FOUND = 3, 2, 6

_FOR_GOOD: dict[int, str] = {
    NOT_SUPPORTED: "not-supported",
    9: "driver-not-loaded",
    12: "no-driver",
    13: "driver-too-old",
    18: "driver-mismatch",
    25: "driver-too-old",
    26: "driver-dropped",
}
"""Asking again cannot help; all other errors are tried again later."""

_EVENT_REASONS = (
    (0x001, "GPU idle"),
    (0x002, "application clocks"),
    (0x004, "software power cap"),
    (0x008, "hardware slowdown"),
    (0x010, "sync boost"),
    (0x020, "software thermal slowdown"),
    (0x040, "hardware thermal slowdown"),
    (0x080, "power brake"),
    (0x100, "display clock"),
    (0x200, "board limit"),
    (0x400, "reliability"),
)
"""Bits of ``nvmlClocksEventReasons``."""


class Nvml(Protocol):
    """The part of ``pynvml`` (nvidia-ml-py) that is used here. Handles are opaque."""

    NVMLError: type[Exception]
    NVML_CLOCK_SM: int
    NVML_CLOCK_MEM: int
    NVML_TEMPERATURE_GPU: int
    NVML_GPU_UTILIZATION_SAMPLES: int
    nvmlMemory_v2: int
    NVML_GPM_METRICS_GET_VERSION: int
    c_nvmlGpmMetricsGet_t: Callable[[], Any]

    def nvmlInit(self) -> object: ...
    def nvmlShutdown(self) -> object: ...
    def nvmlSystemGetDriverVersion(self) -> str | bytes: ...
    def nvmlDeviceGetCount(self) -> int: ...
    def nvmlDeviceGetHandleByIndex(self, index: int) -> object: ...
    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> object: ...
    def nvmlDeviceGetUUID(self, handle: object) -> str | bytes: ...
    def nvmlDeviceGetName(self, handle: object) -> str | bytes: ...
    def nvmlDeviceIsMigDeviceHandle(self, handle: object) -> object: ...
    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, handle: object) -> object: ...
    def nvmlDeviceGetGpuInstanceId(self, handle: object) -> int: ...
    def nvmlDeviceGetMemoryBusWidth(self, handle: object) -> int: ...
    def nvmlDeviceGetMaxClockInfo(self, handle: object, clock: int) -> int: ...
    def nvmlDeviceGetEnforcedPowerLimit(self, handle: object) -> int: ...
    def nvmlDeviceGetMaxPcieLinkGeneration(self, handle: object) -> int: ...
    def nvmlDeviceGetCurrPcieLinkWidth(self, handle: object) -> int: ...
    def nvmlDeviceGetCurrentEccMode(self, handle: object) -> int: ...
    def nvmlDeviceGetMemoryInfo(self, handle: object, version: int) -> Any: ...
    def nvmlDeviceGetUtilizationRates(self, handle: object) -> Any: ...
    def nvmlDeviceGetSamples(self, handle: object, kind: int, since_us: int) -> tuple[int, list[Any]]: ...
    def nvmlDeviceGetPowerUsage(self, handle: object) -> int: ...
    def nvmlDeviceGetClockInfo(self, handle: object, clock: int) -> int: ...
    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: object) -> int: ...
    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: object) -> int: ...
    def nvmlDeviceGetTemperatureV(self, handle: object, sensor: int) -> int: ...
    def nvmlDeviceGetTemperature(self, handle: object, sensor: int) -> int: ...
    def nvmlGpmQueryDeviceSupport(self, handle: object) -> Any: ...
    def nvmlGpmSampleAlloc(self) -> object: ...
    def nvmlGpmSampleFree(self, sample: object) -> object: ...
    def nvmlGpmSampleGet(self, handle: object, sample: object) -> object: ...
    def nvmlGpmMigSampleGet(self, handle: object, instance: int, sample: object) -> object: ...
    def nvmlGpmMetricsGet(self, metrics: Any) -> object: ...


class NvmlError(ReadingError):
    """NVML answered with an error; `code` is its number."""

    def __init__(self, code: int, text: str) -> None:
        known = _FOR_GOOD.get(code)
        super().__init__(because(known) if known else because("nvml-error", error=text), for_good=bool(known))
        self.code = code


class NvmlCalls:
    """Every call to NVML goes through here: timed, its errors as reasons, and seen to hang.

    `spent_ns` is the time spent in NVML so far; `pending` what is being called and since when, for a
    watcher on another thread.
    """

    def __init__(self, nvml: Nvml, clock: Callable[[], int]) -> None:
        self._nvml = nvml
        self._clock = clock
        self.spent_ns = 0
        self.pending: tuple[str, int] | None = None

    def __call__(self, what: str, call: Callable[[Nvml], T]) -> T:
        """Run `call` on the library. Raises NvmlError where NVML answers with an error, and any other
        ReadingError where the Python bindings lack the function."""
        started_ns = self._clock()
        self.pending = (what, started_ns)
        try:
            return call(self._nvml)
        except AttributeError as error:
            raise ReadingError(because("old-bindings", function=error.name or ""), for_good=True) from error
        except self._nvml.NVMLError as error:
            raise NvmlError(getattr(error, "value", -1), str(error)) from error
        finally:
            self.pending = None
            self.spent_ns += self._clock() - started_ns


class Retry:
    """Whether something that may fail should be tried now, and why it is missing meanwhile.

    A failure for good ends all attempts. After any other one the next attempt waits 1 s, 2 s,
    4 s and so on up to 30 s, and the reason tells the age of the last success.
    """

    def __init__(self) -> None:
        self.dead = False
        self._reason: Reason | None = None
        self._fresh_ns: int | None = None
        self._retry_ns = 0
        self._pause_ns = 0

    def ready(self, now_ns: int) -> bool:
        return not self.dead and now_ns >= self._retry_ns

    def worked(self, now_ns: int) -> None:
        self._reason, self._fresh_ns, self._retry_ns, self._pause_ns = None, now_ns, 0, 0

    def failed(self, now_ns: int, error: ReadingError) -> None:
        self.dead, self._reason = error.for_good, error.reason
        if self._fresh_ns is None:
            self._fresh_ns = now_ns
        self._pause_ns = min(max(1 * SECOND, 2 * self._pause_ns), 30 * SECOND)
        self._retry_ns = now_ns + self._pause_ns

    def reason(self, now_ns: int) -> Reason | None:
        """Why there is no value now; None where the last attempt succeeded."""
        if self._reason is None or self.dead:
            return self._reason
        return because("stale", self._reason, age_s=(now_ns - (self._fresh_ns or 0)) // SECOND)


def event_reason_names(mask: int) -> tuple[str, ...]:
    """Why clocks are below their maximum, lowest bit first; bits without a name, which newer drivers
    add, together as hex."""
    names = [name for bit, name in _EVENT_REASONS if mask & bit]
    unknown = mask & ~sum(bit for bit, _ in _EVENT_REASONS)
    return (*names, f"unknown {unknown:#x}") if unknown else tuple(names)
