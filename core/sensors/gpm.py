"""GPU Performance Monitoring: graphics, SM and DRAM utilisation on Hopper and later.

Each value is the mean between two samples of hardware counters (nvml.h, ``nvmlGpmMetric_t``).
No privilege is needed, and no lock is taken that a profiler would want.
"""

import math
from typing import Any

from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.sensors.gpu_device import GpuDevice
from idlegap.core.sensors.nvml import NvmlCalls
from idlegap.core.sensors.reading import MS, ReadingError

METRICS = (("gpm_graphics_pct", 1), ("gpm_sm_pct", 2), ("gpm_dram_pct", 10))
"""Event field and ``NVML_GPM_METRIC_...`` id."""

SHORTEST_NS = 200 * MS
"""Samples must lie more than 100 ms apart; twice that leaves a margin."""

_MIG_DRIVER = 550
"""Older drivers answered InUse to memory queries after a GPM call on a MIG instance."""


class Gpm:
    """The pair of samples of one device. Allocated once; `close` frees it before shutdown.

    `values` are the last metrics, in percent, by event field; `missing` the reasons of the others.
    """

    def __init__(self, calls: NvmlCalls, device: GpuDevice, driver: str | None) -> None:
        self._calls = calls
        self._device = device
        self._driver = driver
        self._samples: list[object] = []
        self._metrics: Any = None
        self._sampled_ns: int | None = None
        self.values: dict[str, float] = {}
        self.missing: dict[str, Reason] = {}
        self.forget()

    def refresh(self, now_ns: int) -> None:
        """Take a sample, and compute the metrics since the last one; ReadingError where the device
        has no GPM or NVML fails."""
        if self._sampled_ns is not None and now_ns - self._sampled_ns < SHORTEST_NS:
            return
        try:
            if self._metrics is None:
                self._open()
            self._take(self._samples[1])
            if self._sampled_ns is not None:
                self._compute()
        except ReadingError:
            self.forget()
            raise
        self._samples.reverse()
        self._sampled_ns = now_ns

    def forget(self) -> None:
        """Drop the last sample, so that no mean spans a failure."""
        self._sampled_ns = None
        self.values = {}
        self.missing = {name: because("gpm-second-sample") for name, _ in METRICS}

    def close(self) -> None:
        samples, self._samples, self._metrics = self._samples, [], None
        self._calls("GPM", lambda nvml: [nvml.nvmlGpmSampleFree(sample) for sample in samples])

    def _open(self) -> None:
        mig = self._device.mig_instance is not None
        if mig and _major(self._driver) < _MIG_DRIVER:
            raise ReadingError(because("gpm-driver", driver=_MIG_DRIVER), for_good=True)
        support = self._calls("GPM", lambda nvml: nvml.nvmlGpmQueryDeviceSupport(self._device.board))
        if not support.isSupportedDevice:
            raise ReadingError(because("needs-hopper"), for_good=True)
        while len(self._samples) < 2:
            self._samples.append(self._calls("GPM", lambda nvml: nvml.nvmlGpmSampleAlloc()))
        if mig:
            self._probe_memory()
        metrics = self._calls("GPM", lambda nvml: nvml.c_nvmlGpmMetricsGet_t())
        metrics.version = self._calls("GPM", lambda nvml: nvml.NVML_GPM_METRICS_GET_VERSION)
        metrics.numMetrics = len(METRICS)
        for slot, (_, metric) in enumerate(METRICS):
            metrics.metrics[slot].metricId = metric
        self._metrics = metrics

    def _probe_memory(self) -> None:
        """Give GPM up where using it breaks the memory reading, which matters more."""

        def read_memory() -> None:
            handle = self._device.handle
            self._calls("memory", lambda nvml: nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2))

        read_memory()
        self._take(self._samples[0])
        try:
            read_memory()
        except ReadingError as error:
            self.close()
            raise ReadingError(because("gpm-breaks-memory"), for_good=True) from error

    def _take(self, sample: object) -> None:
        board, instance = self._device.board, self._device.mig_instance
        if instance is None:
            self._calls("GPM", lambda nvml: nvml.nvmlGpmSampleGet(board, sample))
        else:
            self._calls("GPM", lambda nvml: nvml.nvmlGpmMigSampleGet(board, instance, sample))

    def _compute(self) -> None:
        metrics = self._metrics
        metrics.sample1, metrics.sample2 = self._samples
        self._calls("GPM", lambda nvml: nvml.nvmlGpmMetricsGet(metrics))
        self.values, self.missing = {}, {}
        for slot, (name, _) in enumerate(METRICS):
            code, value = metrics.metrics[slot].nvmlReturn, metrics.metrics[slot].value
            if code != 0:
                self.missing[name] = because("gpm-error", error=code)
            elif not math.isfinite(value) or not 0 <= value <= 100:
                self.missing[name] = because("gpm-impossible", value=f"{value:.0f}")
            else:
                self.values[name] = value


def _major(driver: str | None) -> int:
    major = (driver or "").partition(".")[0]
    return int(major) if major.isdecimal() else 0
