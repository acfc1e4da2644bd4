"""The comparison's plot as SVG, drawn by matplotlib (the extra ``report``)."""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from idlegap.core.compare.machines import CONTENDED, Machine, ceiling_slope
from idlegap.core.system.files import FileError
from idlegap.core.text.sanitize import printable, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EAGER, GRAPH, CEILING = "#0072b2", "#d55e00", "#7f7f7f"
"""Of the palette of Okabe and Ito, which stays apart for every kind of colour vision."""

LONGEST_LABEL = 80
"""Characters of a machine's name beside its point."""


class PlotError(FileError):
    """The plot cannot be drawn; the message says why and what would help."""


def svg(machines: Sequence[Machine]) -> bytes:
    """The plot: decode rate over specified bandwidth, one labelled point per machine and kind of decode.

    Raises:
        PlotError: matplotlib is not installed.
    """
    try:
        # An extra that most installations do not have, and slow to load.
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PlotError("--svg needs matplotlib: install idlegap with its extra 'report'") from error
    # Text stays text, and two runs give the same bytes.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "idlegap"}):
        figure = Figure(figsize=(7.5, 4.8), layout="constrained")
        _draw(figure.subplots(), machines)
        drawn = BytesIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def _draw(axes: "Axes", machines: Sequence[Machine]) -> None:
    drawn = [m for m in machines if m.spec_bytes_per_s is not None]
    for machine in drawn:
        x = (machine.spec_bytes_per_s or 0) / 1e9
        marks = " *" * bool(machine.source) + f" {CONTENDED}" * bool(machine.contended)
        note = f"{machine.gpu}, {machine.cpu}{marks}"
        for speed, colour, marker, text in (
            (machine.eager_rate, EAGER, "o", note),
            (machine.graph_rate, GRAPH, "s", machine.gpu),
        ):
            if speed is not None:
                axes.plot([x], [speed], marker, color=colour)
                # What stands in a file is a name, and neither a formula nor a control character.
                axes.annotate(
                    shorten(printable(text), LONGEST_LABEL),
                    (x, speed),
                    xytext=(6, 4),
                    textcoords="offset points",
                    fontsize=8,
                    parse_math=False,
                )
    slope = ceiling_slope(machines)
    top = max((rate for m in drawn for rate in (m.eager_rate, m.graph_rate) if rate is not None), default=1.0)
    widest = max(((m.spec_bytes_per_s or 0) / 1e9 for m in drawn), default=1.0)
    if slope is not None:
        end = min(1.15 * widest, 1.15 * top / slope)
        axes.plot([0, end], [0, slope * end], "--", color=CEILING, label="all bandwidth streams weights")
    axes.plot([], [], "o", color=EAGER, label="eager decode")
    if any(m.graph_rate is not None for m in drawn):
        axes.plot([], [], "s", color=GRAPH, label="the same kernels from a graph")
    if any(m.source for m in drawn):
        axes.plot([], [], " ", label="* published, not measured by idlegap")
    if any(m.contended for m in drawn):
        axes.plot([], [], " ", label=f"{CONTENDED} measured under contention")
    axes.set(
        xlabel="specified memory bandwidth, GB/s",
        ylabel="decode rate, tokens/s",
        xlim=(0, 1.25 * widest),
        ylim=(0, 1.2 * top),
        title="Each point is another machine: an observation, not a controlled comparison",
    )
    axes.title.set_fontsize(9)
    axes.legend(fontsize=8)
