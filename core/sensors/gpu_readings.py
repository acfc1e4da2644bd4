"""What is read of one GPU again and again: which fields, how often, from which handle.

The rates follow the cost: NVML calls take the driver's lock, so nothing is asked more often
than it changes, and neither processes nor fans are asked for at all.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from idlegap.core.protocol.events import GpuSample
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.sensors.errors import ReadingError
from idlegap.core.sensors.gpm import METRICS, Gpm
from idlegap.core.sensors.gpu_device import GpuDevice
from idlegap.core.sensors.nvml import NOT_SUPPORTED, Nvml, NvmlCalls, NvmlError, Retry
from idlegap.core.sensors.pacing import MS, SECOND, Every
from idlegap.core.sensors.util_samples import UtilSamples

T = TypeVar("T")

FAST_NS = 250 * MS
SLOW_NS = 1 * SECOND
MEMORY_NS = 10 * SECOND

GPU_FIELDS = tuple(name for name in GpuSample.__struct_fields__ if name not in {"t_ns", "call_ns", "missing"})


class Field(Generic[T]):
    """One reading: its last value, or why there is none.

    `ways` are alternatives from newest to oldest; one that this driver or these bindings do
    not know is dropped for the next.
    """

    def __init__(self, name: str, *ways: Callable[[Nvml], T]) -> None:
        self.name = name
        self.value: T | None = None
        self._ways = list(ways)
        self._retry = Retry()

    def refresh(self, calls: NvmlCalls, now_ns: int, *, mig: bool) -> None:
        """Read it again, unless it is given up or backing off."""
        if not self._retry.ready(now_ns):
            return
        while True:
            try:
                self.value = calls(self.name, self._ways[0])
            except ReadingError as error:
                self.value = None
                if error.for_good and len(self._ways) > 1:
                    del self._ways[0]
                    continue
                unsupported = isinstance(error, NvmlError) and error.code == NOT_SUPPORTED
                self._retry.failed(
                    now_ns, ReadingError(because("mig"), for_good=True) if mig and unsupported else error
                )
            else:
                self._retry.worked(now_ns)
            return

    def reason(self, now_ns: int) -> Reason | None:
        """Why `value` is None; None while there is one."""
        return self._retry.reason(now_ns)


class GpuReadings:
    """The readings of one device, refreshed by tiers."""

    def __init__(self, calls: NvmlCalls, device: GpuDevice, driver: str | None) -> None:
        handle, board = device.handle, device.board
        self._calls = calls
        self._mig = device.mig_instance is not None
        self._util = Field("util_pct", lambda n: float(n.nvmlDeviceGetUtilizationRates(handle).gpu))
        self._util_samples = Field("util_samples_pct", UtilSamples(handle).read)
        # Version 2 tells the driver's own reserve apart from what is used.
        self._memory = Field(
            "memory_used_bytes", lambda n: int(n.nvmlDeviceGetMemoryInfo(handle, n.nvmlMemory_v2).used)
        )
        self._power = Field("power_mw", lambda n: n.nvmlDeviceGetPowerUsage(board))
        self._sm = Field("sm_mhz", lambda n: n.nvmlDeviceGetClockInfo(board, n.NVML_CLOCK_SM))
        self._memory_clock = Field("memory_mhz", lambda n: n.nvmlDeviceGetClockInfo(board, n.NVML_CLOCK_MEM))
        self._temperature = Field(
            "temperature_c",
            lambda n: n.nvmlDeviceGetTemperatureV(board, n.NVML_TEMPERATURE_GPU),
            lambda n: n.nvmlDeviceGetTemperature(board, n.NVML_TEMPERATURE_GPU),
        )
        self._reasons = Field(
            "event_reasons",
            lambda n: n.nvmlDeviceGetCurrentClocksEventReasons(board),
            lambda n: n.nvmlDeviceGetCurrentClocksThrottleReasons(board),
        )
        slow: tuple[Field[Any], ...] = (
            self._sm,
            self._memory_clock,
            self._power,
            self._reasons,
            self._temperature,
            self._util_samples,
        )
        self._tiers: tuple[tuple[Every, tuple[Field[Any], ...]], ...] = (
            (Every(FAST_NS), (self._util,)),
            (Every(SLOW_NS), slow),
            (Every(MEMORY_NS), (self._memory,)),
        )
        self._gpm = Gpm(calls, device, driver)
        self._gpm_every = Every(FAST_NS)
        self._gpm_retry = Retry()

    def refresh(self, now_ns: int) -> None:
        """Read what is due."""
        for every, fields in self._tiers:
            if every.due(now_ns):
                for field in fields:
                    field.refresh(self._calls, now_ns, mig=self._mig)
        if self._gpm_every.due(now_ns) and self._gpm_retry.ready(now_ns):
            try:
                self._gpm.refresh(now_ns)
            except ReadingError as error:
                self._gpm_retry.failed(now_ns, error)
            else:
                self._gpm_retry.worked(now_ns)

    def unavailable(self, now_ns: int) -> dict[str, Reason]:
        """Why fields could not be read, by name: the capability table after a first refresh."""
        fields = (field for _, tier in self._tiers for field in tier)
        reasons = {field.name: field.reason(now_ns) for field in fields}
        reasons.update((name, self._gpm_retry.reason(now_ns)) for name, _ in METRICS)
        return {name: reason for name, reason in reasons.items() if reason is not None}

    def sample(self, now_ns: int, call_ns: int) -> GpuSample:
        """The last values as one event."""
        return GpuSample(
            t_ns=now_ns,
            util_pct=self._util.value,
            util_samples_pct=self._util_samples.value,
            memory_used_bytes=self._memory.value,
            power_mw=self._power.value,
            sm_mhz=self._sm.value,
            memory_mhz=self._memory_clock.value,
            temperature_c=self._temperature.value,
            event_reasons=self._reasons.value,
            gpm_graphics_pct=self._gpm.values.get("gpm_graphics_pct"),
            gpm_sm_pct=self._gpm.values.get("gpm_sm_pct"),
            gpm_dram_pct=self._gpm.values.get("gpm_dram_pct"),
            call_ns=call_ns,
            missing=self._gpm.missing | self.unavailable(now_ns),
        )

    def close(self) -> None:
        """Give back what was allocated in NVML."""
        self._gpm.close()
