"""The device's work: which kernels, how much memory traffic, how near the ceilings."""

from idlegap.core.measure.roofline import Ceiling
from idlegap.core.session.snapshot import ModeView, Snapshot
from idlegap.core.text import units
from idlegap.core.text.reasons import words
from idlegap.core.text.sanitize import shorten
from idlegap.tui.widgets.line import Line, labelled, title
from idlegap.tui.widgets.palette import DIM, TEXT, WORK
from idlegap.tui.widgets.panel import Panel
from idlegap.tui.widgets.readings import NOT_MEASURED, current


class WorkPanel(Panel):
    """The third panel of a very wide screen: ceilings first, then the largest kernels."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        view = current(snap)
        lines = [title("device work", f"in {view.name}" if view else "", width)]
        lines += [labelled(name, value, width) for name, value in ceiling_rows(snap.ceiling)]
        if view is not None:
            lines += kernel_rows(view, width, max(0, height - len(lines)))
        return lines[:height]


def ceiling_rows(ceiling: Ceiling | None) -> list[tuple[str, str]]:
    """The bound, the bandwidths and what is reached of them, or why not."""
    if ceiling is None:
        return [("ceilings", units.na(NOT_MEASURED))]
    measured = ceiling.bandwidth
    copy, read = (measured.copy_bytes_per_s, measured.read_bytes_per_s) if measured else (None, None)
    missing = measured.missing if measured else {}
    copy_words = units.reading(copy, units.bandwidth, missing, "copy_bytes_per_s")
    spec = units.na(ceiling.spec_source)
    if ceiling.spec_bytes_per_s is not None:
        spec = f"{units.bandwidth(ceiling.spec_bytes_per_s)} ({words(ceiling.spec_source)})"
    bound = units.na("needs a measured bandwidth")
    if ceiling.bound_ns:
        bound = f"{units.ms(ceiling.bound_ns)} ms, {units.rate(1e9 / ceiling.bound_ns)} tok/s"
    return [
        ("weight-stream bound", bound),
        ("copy bandwidth", f"{copy_words}{_reached(ceiling.mbu_measured)}"),
        ("read bandwidth", units.reading(read, units.bandwidth, missing, "read_bytes_per_s")),
        ("specified", f"{spec}{_reached(ceiling.mbu_spec)}"),
    ]


def kernel_rows(view: ModeView, width: int, rows: int) -> list[Line]:
    """Launches, device time and the largest kernels of the last accepted window."""
    window = view.profile
    if window is None:
        return [labelled("kernels", units.na(view.split_reason or NOT_MEASURED), width)][:rows]
    mean_ns = window.busy_sum_ns / window.kernels if window.kernels else 0
    lines = [
        labelled("kernels per token", f"{units.count(window.kernels)}, {units.us(mean_ns)} µs each", width),
        labelled("device busy", f"{units.ms(window.busy_ns)} ms, union over streams", width),
    ]
    for kernel in window.top[: max(0, rows - len(lines))]:
        line = Line().add(f" {units.ms(kernel.total_ns, 4)} ms {kernel.count:5.0f}x ", WORK)
        lines.append(
            line.add(shorten(kernel.name, max(0, width - line.cells - 1)), TEXT if width > 60 else DIM)
        )
    return lines[:rows]


def _reached(mbu: float | None) -> str:
    return "" if mbu is None else f", {units.percent(mbu)} used"
