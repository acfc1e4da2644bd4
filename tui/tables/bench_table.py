"""The table of a benchmark, in two forms: figures down and arms across, or the other way."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from idlegap.core.bench.summary import ArmSummary
from idlegap.core.protocol.events import Verified
from idlegap.core.text.units import NA, count, gigabytes, ms, percent, rate
from idlegap.tui.tables.layout import paragraph, table

ARMS_PER_BLOCK = 6
"""Columns of the narrow table that fit beside the labels in 80 characters."""


class Figure(NamedTuple):
    """One figure: its label, its two-line heading in the wide form, where the summary holds it (with
    dots), how it is shown, and under which name its reason is `missing`."""

    label: str
    heading: tuple[str, str]
    attribute: str
    word: Callable[[Any], str]
    reason: str

    def show(self, arm: ArmSummary) -> str | None:
        """The figure of `arm` as text; None where it is not known."""
        value: Any = arm
        for name in self.attribute.split("."):
            value = None if value is None else getattr(value, name)
        return None if value is None else self.word(value)


def _percent(share: float) -> str:
    return percent(share).removesuffix(" %")


def _agreement(found: Verified) -> str:
    return f"{found.agree}/{found.steps}"


FIGURES = (
    Figure("tokens/s, mean", ("tok/s", "mean"), "tok_per_s", rate, "median_ns"),
    Figure("ms/token, mean", ("ms", "mean"), "mean_ns", ms, "median_ns"),
    Figure("  median", ("ms", "p50"), "median_ns", ms, "median_ns"),
    Figure("  p95", ("ms", "p95"), "p95_ns", ms, "median_ns"),
    Figure("  p99", ("ms", "p99"), "p99_ns", ms, "median_ns"),
    Figure("dispatch ms", ("dis-", "patch"), "dispatch_ns", ms, "median_ns"),
    Figure("device busy ms", ("", "busy"), "split.busy_ns", ms, "split"),
    Figure("host gap ms", ("host", "gap"), "split.host_gap_ns", ms, "split"),
    Figure("launch latency ms", ("lau-", "nch"), "split.launch_latency_ns", ms, "split"),
    Figure("device gap ms", ("dev.", "gap"), "split.device_gap_ns", ms, "split"),
    Figure("kernels/token", ("ker-", "nels"), "window.kernels", count, "split"),
    Figure("MBU of specified, %", ("MBU%", "spec"), "ceiling.mbu_spec", _percent, "mbu_spec"),
    Figure("MBU of measured, %", ("MBU%", "meas"), "ceiling.mbu_measured", _percent, "bound_ns"),
    Figure("beyond the bound ms", ("bey-", "ond"), "beyond_bound_ns", ms, "bound_ns"),
    Figure("prefill ms", ("pre-", "fill"), "prefill_ns", ms, "median_ns"),
    Figure("peak memory GB", ("peak", "GB"), "peak_memory_bytes", gigabytes, "peak_memory_bytes"),
    Figure("same tokens", ("same", "tokens"), "verified", _agreement, "verified"),
)


def narrow(arms: Sequence[ArmSummary]) -> list[str]:
    """Figures down, arms across, in blocks that fit 80 columns."""
    lines: list[str] = []
    for start in range(0, len(arms), ARMS_PER_BLOCK):
        block = arms[start : start + ARMS_PER_BLOCK]
        heads = [_two_lines(arm.label) for arm in block]
        rows = [["", *(head[line] for head in heads)] for line in (0, 1)]
        rows += [[figure.label, *(figure.show(arm) or NA for arm in block)] for figure in FIGURES]
        lines += ["", *table(rows)] if lines else table(rows)
    return lines


def wide(arms: Sequence[ArmSummary]) -> list[str]:
    """Arms down, figures across: 120 columns hold it unless a figure is unusually long."""
    heads = [["", *(figure.heading[line] for figure in FIGURES)] for line in (0, 1)]
    rows = [[arm.label, *(figure.show(arm) or NA for figure in FIGURES)] for arm in arms]
    return table([*heads, *rows], gap=1)


def notes(arms: Sequence[ArmSummary], width: int) -> list[str]:
    """Why figures are n/a: one entry for each reason, with the figures and arms it explains."""
    labels: dict[str, dict[str, None]] = {}
    names: dict[str, dict[str, None]] = {}
    for figure in FIGURES:
        for arm in arms:
            if figure.show(arm) is None:
                reason = arm.missing.get(figure.reason, "not known")
                labels.setdefault(reason, {})[figure.label.strip()] = None
                names.setdefault(reason, {})[arm.label] = None
    lines: list[str] = []
    for reason, found in labels.items():
        where = "" if len(names[reason]) == len(arms) else f" ({', '.join(names[reason])})"
        lines += paragraph(f"{', '.join(found)}{where}: {reason}", width, first="n/a  ")
    return lines


def _two_lines(label: str) -> tuple[str, str]:
    """A label cut at its hyphen: ``eager-`` above ``static``."""
    head, hyphen, tail = label.partition("-")
    return (f"{head}-", tail) if hyphen else ("", head)
