"""What is read of one GPU again and again: which fields, how often, from which handle.

The rates follow the cost: NVML calls take the driver's lock, so nothing is asked more often
than it changes, and neither processes nor fans are asked for at all.
"""

from collections.abc import Callable
from typing import Any

from idlegap.core.protocol.events import GpuSample
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.sensors.gpm import METRICS, Gpm
from idlegap.core.sensors.gpu_device import GpuDevice
from idlegap.core.sensors.nvml import NOT_FOUND, NOT_SUPPORTED, Nvml, NvmlCalls, NvmlError, Retry
from idlegap.core.sensors.reading import MS, SECOND, Every, ReadingError

FAST_NS = 250 * MS
SLOW_NS = 1 * SECOND
MEMORY_NS = 10 * SECOND

GPU_FIELDS = tuple(name for name in GpuSample.__struct_fields__ if name not in {"t_ns", "call_ns", "missing"})


class Field:
    """One reading: its last value, or why there is none (`retry`).

    `ways` are alternatives from newest to oldest; one that this driver or these bindings do
    not know is dropped for the next.
    """

    def __init__(self, name: str, *ways: Callable[[Nvml], Any]) -> None:
        self.name = name
        self.value: Any = None
        self._ways = list(ways)
        self.retry = Retry()

    def refresh(self, calls: NvmlCalls, now_ns: int, *, mig: bool) -> None:
        """Read it again, unless it is given up or backing off."""
        if not self.retry.ready(now_ns):
            return
        try:
            self.value = calls(self.name, self._ways[0])
            self.retry.worked(now_ns)
        except ReadingError as error:
            self.value = None
            if error.for_good and len(self._ways) > 1:
                del self._ways[0]
                self.refresh(calls, now_ns, mig=mig)
            elif mig and isinstance(error, NvmlError) and error.code == NOT_SUPPORTED:
                self.retry.failed(now_ns, ReadingError(because("mig"), for_good=True))
            else:
                self.retry.failed(now_ns, error)


class UtilSamples:
    """The mean of NVML's own utilisation samples since the last read, in percent.

    They are denser than `nvmlDeviceGetUtilizationRates`, where they are sane. The driver keeps a ring
    of them with its own time stamps; only those since the last read are asked for. An idle GPU adds
    none, which NVML reports as "not found": the last mean then stands. On MIG parents and some
    drivers the values are on another scale; above 100 they are rejected.
    """

    def __init__(self, handle: object) -> None:
        self._handle = handle
        self._newest_us = 0
        self._mean_pct: float | None = None

    def read(self, nvml: Nvml) -> float:
        """The mean now; ReadingError where there has never been a sample or the scale is not percent."""
        try:
            _, samples = nvml.nvmlDeviceGetSamples(
                self._handle, nvml.NVML_GPU_UTILIZATION_SAMPLES, self._newest_us
            )
        except nvml.NVMLError as error:
            if getattr(error, "value", None) != NOT_FOUND:
                raise
            samples = []
        new = [sample for sample in samples if sample.timeStamp > self._newest_us]
        if new:
            values = [int(sample.sampleValue.uiVal) for sample in new]
            if max(values) > 100:
                raise ReadingError(because("samples-not-percent", most=max(values)), for_good=True)
            self._mean_pct = sum(values) / len(values)
            self._newest_us = max(sample.timeStamp for sample in new)
        if self._mean_pct is None:
            raise ReadingError(because("no-samples"))
        return self._mean_pct


class GpuReadings:
    """The readings of one device, refreshed by tiers. `gpm` is to be closed in the end."""

    def __init__(self, calls: NvmlCalls, device: GpuDevice, driver: str | None) -> None:
        handle, board = device.handle, device.board
        self._calls = calls
        self._mig = device.mig_instance is not None
        fast = (Field("util_pct", lambda n: float(n.nvmlDeviceGetUtilizationRates(handle).gpu)),)
        slow = (
            Field("sm_mhz", lambda n: n.nvmlDeviceGetClockInfo(board, n.NVML_CLOCK_SM)),
            Field("memory_mhz", lambda n: n.nvmlDeviceGetClockInfo(board, n.NVML_CLOCK_MEM)),
            Field("power_mw", lambda n: n.nvmlDeviceGetPowerUsage(board)),
            Field(
                "event_reasons",
                lambda n: n.nvmlDeviceGetCurrentClocksEventReasons(board),
                lambda n: n.nvmlDeviceGetCurrentClocksThrottleReasons(board),
            ),
            Field(
                "temperature_c",
                lambda n: n.nvmlDeviceGetTemperatureV(board, n.NVML_TEMPERATURE_GPU),
                lambda n: n.nvmlDeviceGetTemperature(board, n.NVML_TEMPERATURE_GPU),
            ),
            Field("util_samples_pct", UtilSamples(handle).read),
        )
        # Version 2 tells the driver's own reserve apart from what is used.
        used = Field("memory_used_bytes", lambda n: n.nvmlDeviceGetMemoryInfo(handle, n.nvmlMemory_v2).used)
        self._tiers = ((Every(FAST_NS), fast), (Every(SLOW_NS), slow), (Every(MEMORY_NS), (used,)))
        self._fields = (*fast, *slow, used)
        self.gpm = Gpm(calls, device, driver)
        self._gpm_every = Every(FAST_NS)
        self._gpm_retry = Retry()

    def refresh(self, now_ns: int) -> None:
        for every, fields in self._tiers:
            if every.due(now_ns):
                for field in fields:
                    field.refresh(self._calls, now_ns, mig=self._mig)
        if self._gpm_every.due(now_ns) and self._gpm_retry.ready(now_ns):
            try:
                self.gpm.refresh(now_ns)
            except ReadingError as error:
                self._gpm_retry.failed(now_ns, error)
            else:
                self._gpm_retry.worked(now_ns)

    def unavailable(self, now_ns: int) -> dict[str, Reason]:
        """Why fields could not be read, by name: the capability table after a first refresh."""
        reasons = {field.name: field.retry.reason(now_ns) for field in self._fields}
        reasons.update((name, self._gpm_retry.reason(now_ns)) for name, _ in METRICS)
        return {name: reason for name, reason in reasons.items() if reason is not None}

    def sample(self, now_ns: int, call_ns: int) -> GpuSample:
        """The last values as one event."""
        values: dict[str, Any] = {field.name: field.value for field in self._fields} | self.gpm.values
        missing = self.gpm.missing | self.unavailable(now_ns)
        return GpuSample(t_ns=now_ns, call_ns=call_ns, missing=missing, **values)
