"""The GPU through NVML: finds the library and the device, and turns readings into events.

This is the only module that imports ``pynvml`` (the name under which nvidia-ml-py installs).
Without library, driver or GPU it says so in one `GpuInfo` and stays silent.
"""

from collections.abc import Callable
from contextlib import suppress

from msgspec import structs

from idlegap.core.protocol.events import GpuInfo, GpuSample
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.sensors.gpu_device import GpuDevice, describe, find_device
from idlegap.core.sensors.gpu_readings import GPU_FIELDS, GpuReadings
from idlegap.core.sensors.nvml import Nvml, NvmlCalls, Retry
from idlegap.core.sensors.reading import SECOND, ReadingError

HUNG_NS = 2 * SECOND
"""A call to NVML that has not returned for so long makes all its readings stale."""

_NEEDED = ("NVMLError", "nvmlInit", "nvmlDeviceGetHandleByUUID", "nvmlMemory_v2", "nvmlGpmQueryDeviceSupport")


def load_nvml() -> Nvml:
    """Import the bindings; ReadingError where they are not installed or not the right ones."""
    try:
        import pynvml
    except ImportError as error:
        raise ReadingError(because("no-bindings"), for_good=True) from error
    return checked_bindings(pynvml)


def checked_bindings(module: Nvml) -> Nvml:
    """Return `module` if it is nvidia-ml-py's, else raise ReadingError with what to do about it.

    The abandoned distribution ``pynvml`` installs an old package under the same name, and a
    stray ``pynvml.py`` may lie in the working directory.
    """
    if hasattr(module, "__path__") or not all(hasattr(module, name) for name in _NEEDED):
        raise ReadingError(because("wrong-bindings"), for_good=True)
    return module


class GpuReader:
    """One GPU's events. `tick` and `close` belong to one thread; the rest may be called by any.

    `load` gives the NVML bindings or raises ReadingError; it is called at the first tick.
    """

    def __init__(self, load: Callable[[], Nvml], clock: Callable[[], int]) -> None:
        self._load = load
        self._clock = clock
        self._wanted: str | None = None
        self._calls: NvmlCalls | None = None
        self._started = False
        self._sought: str | None = None
        self._retry = Retry()
        self._device: GpuDevice | None = None
        self._readings: GpuReadings | None = None
        self._told: Reason | None = None

    def select(self, uuid: str | None) -> None:
        """Read the device called `uuid` (torch's or NVML's spelling); None: the only one."""
        self._wanted = uuid

    def tick(self, now_ns: int) -> list[GpuInfo | GpuSample]:
        """Read what is due at `now_ns`, connecting first where that is not done yet."""
        before_ns = self._calls.spent_ns if self._calls else 0
        events: list[GpuInfo | GpuSample] = [*self._connect(now_ns)]
        if self._readings and self._calls:
            self._readings.refresh(now_ns)
            events.append(self._readings.sample(now_ns, self._calls.spent_ns - before_ns))
        return events

    def stale_sample(self, now_ns: int) -> GpuSample | None:
        """All readings as stale, if a call has been hanging; meant for another thread."""
        pending = self._calls.pending if self._calls else None
        if pending is None or now_ns - pending[1] < HUNG_NS:
            return None
        age_s = (now_ns - pending[1]) // SECOND
        return self.broken(now_ns, because("stale", because("nvml-hangs", call=pending[0]), age_s=age_s))

    def broken(self, now_ns: int, reason: Reason) -> GpuSample:
        """A sample in which every reading is missing for the same reason."""
        return GpuSample(t_ns=now_ns, missing=dict.fromkeys(GPU_FIELDS, reason))

    def close(self) -> None:
        """Free what was allocated, then shut NVML down."""
        self._drop_device()
        if self._calls and self._started:
            self._started = False
            with suppress(ReadingError):
                self._calls("nvmlShutdown", lambda nvml: nvml.nvmlShutdown())

    def _connect(self, now_ns: int) -> list[GpuInfo]:
        """Start NVML and find the device, if that is still to be done and due; or say why there is no
        GPU, unless that was said last."""
        wanted = self._wanted
        if wanted != self._sought:
            self._sought, self._retry = wanted, Retry()
            if self._device and wanted is not None and not self._device.is_called(wanted):
                self._drop_device()
        if self._device or not self._retry.ready(now_ns):
            return []
        try:
            if self._calls is None:
                self._calls = NvmlCalls(self._load(), self._clock)
            calls = self._calls
            if not self._started:
                calls("nvmlInit", lambda nvml: nvml.nvmlInit())
                self._started = True
            self._device = find_device(calls, wanted)
        except ReadingError as error:
            self._retry.failed(now_ns, error)
            if error.reason == self._told:
                return []
            self._told = error.reason
            return [no_gpu(now_ns, error.reason)]
        info = describe(calls, self._device, now_ns)
        self._readings = GpuReadings(calls, self._device, info.driver)
        self._readings.refresh(now_ns)
        self._told = None
        return [structs.replace(info, missing={**info.missing, **self._readings.unavailable(now_ns)})]

    def _drop_device(self) -> None:
        readings, self._readings, self._device = self._readings, None, None
        if readings:
            with suppress(ReadingError):
                readings.gpm.close()


def no_gpu(now_ns: int, reason: Reason) -> GpuInfo:
    """The description of no GPU at all; the reason stands under ``nvml``."""
    return GpuInfo(t_ns=now_ns, name=None, uuid=None, missing={"nvml": reason})
