"""NVML's own utilisation samples: denser than `nvmlDeviceGetUtilizationRates`, where they are sane.

The driver keeps a ring of samples with its own time stamps; only those since the last read are
asked for. An idle GPU adds none, which NVML reports as "not found": the last mean then stands.
On MIG parents and some drivers the values are on another scale; above 100 they are rejected.
"""

from typing import Any

from idlegap.core.protocol.reasons import because
from idlegap.core.sensors.errors import ReadingError
from idlegap.core.sensors.nvml import NOT_FOUND, Nvml


class UtilSamples:
    """The mean of the samples since the last read, in percent."""

    def __init__(self, handle: object) -> None:
        self._handle = handle
        self._newest_us = 0
        self._mean_pct: float | None = None

    def read(self, nvml: Nvml) -> float:
        """Ask for new samples.

        Raises:
            ReadingError: there has never been one, or the scale is not percent.
        """
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
            self._mean_pct = self._mean(new)
            self._newest_us = max(sample.timeStamp for sample in new)
        if self._mean_pct is None:
            raise ReadingError(because("no-samples"))
        return self._mean_pct

    @staticmethod
    def _mean(samples: list[Any]) -> float:
        values = [int(sample.sampleValue.uiVal) for sample in samples]
        if max(values) > 100:
            raise ReadingError(because("samples-not-percent", most=max(values)), for_good=True)
        return sum(values) / len(values)
