"""How a figure becomes a metric family: the prefix, the label, and None for no sample."""

from collections.abc import Iterable

from prometheus_client.core import GaugeMetricFamily, Metric

Value = float | int | None
Labelled = Iterable[tuple[str, Value]]

NS = 1e-9
US = 1e-6
PREFIX = "idlegap_"


def gauge(name: str, text: str, value: Value) -> Metric:
    """A gauge; without a sample where `value` is None."""
    return GaugeMetricFamily(PREFIX + name, text, value=value)


def gauges(name: str, text: str, label: str, values: Labelled) -> Metric:
    """A gauge with one label; None values have no sample."""
    family = GaugeMetricFamily(PREFIX + name, text, labels=[label])
    for key, value in values:
        if value is not None:
            family.add_metric([key], value)
    return family


def scaled(value: Value, factor: float) -> float | None:
    """`value` in another unit; None stays None."""
    return None if value is None else value * factor
