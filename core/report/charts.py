"""The page's charts as SVG, drawn by matplotlib without a display.

Colours are of Okabe and Ito's palette, which stays apart for every kind of colour vision, and
parts of a bar differ in hatching too, so that the page reads in black and white.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import groupby
from statistics import median
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from idlegap.core.measure.statistics import quantile
from idlegap.core.protocol.modes import MODE_NAMES, ModeName
from idlegap.core.report.modes import ModeRow
from idlegap.core.session.setup import TokenLog
from idlegap.core.text.units import ms

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "idlegap",  # the same recording gives the same bytes
    "svg.fonttype": "path",  # the same letters everywhere
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
WIDTH_IN = 7.6
BUCKETS = 360
"""Points of the strip: two for each millimetre of paper."""

BLUE, SKY, YELLOW, RED, GREY, INK = "#0072b2", "#56b4e9", "#e6b000", "#d55e00", "#8a8a8a", "#222222"
PARTS = (
    ("weight-stream bound", BLUE, ""),
    ("other device work", SKY, ""),
    ("launch latency and device gap", YELLOW, "...."),
    ("host gap", RED, "////"),
)


@dataclass(frozen=True, slots=True)
class Point:
    """Some consecutive tokens of one mode: when, and how long they took, in seconds and ms."""

    begin_s: float
    end_s: float
    mode: ModeName
    low_ms: float
    middle_ms: float
    high_ms: float
    most_ms: float


def strip_points(log: TokenLog, buckets: int = BUCKETS) -> list[Point]:
    """The counted tokens in at most about `buckets` pieces of equal decode time, none of which
    spans a switch of modes."""
    piece_ns = max(sum(log.walls_ns) // buckets, 1)
    points: list[Point] = []
    begin_ns, at = 0, 0
    for _, run in groupby(log.modes):
        end = at + sum(1 for _ in run)
        while at < end:
            stop, length_ns = at, 0
            while stop < end and length_ns < piece_ns:
                length_ns += log.walls_ns[stop]
                stop += 1
            walls = log.walls_ns[at:stop]
            points.append(
                Point(
                    begin_ns / 1e9,
                    (begin_ns + length_ns) / 1e9,
                    MODE_NAMES[log.modes[at]],
                    quantile(walls, 0.1) / 1e6,
                    median(walls) / 1e6,
                    quantile(walls, 0.9) / 1e6,
                    max(walls) / 1e6,
                )
            )
            begin_ns, at = begin_ns + length_ns, stop
    return points


def strip(points: Sequence[Point], modes: Sequence[ModeRow], bound_ns: int | None) -> bytes:
    """Token time over decode time, with the range of the middle 80 % of tokens, device-busy
    time and the bound."""
    busy = {facts.name: facts.split.busy_ns / 1e6 for facts in modes if facts.split is not None}
    figure, axes = _figure(2.7)
    top = 1.35 * max((point.middle_ms for point in points), default=1.0)
    for mode, group in groupby(points, key=lambda point: point.mode):
        visit = list(group)
        edges = [point.begin_s for point in visit] + [visit[-1].end_s]
        low, high = [p.low_ms for p in visit], [p.high_ms for p in visit]
        axes.stairs(high, edges, baseline=low, fill=True, color=SKY, alpha=0.6)
        axes.stairs([p.middle_ms for p in visit], edges, baseline=None, color=INK, linewidth=1.1)
        if mode in busy:
            axes.hlines(busy[mode], edges[0], edges[-1], color=RED, linestyle="--", linewidth=1)
        axes.axvline(edges[0], color=GREY, linewidth=0.6, linestyle=":")
        if edges[-1] - edges[0] > 0.025 * points[-1].end_s:
            axes.text(edges[0], top, f" {mode}", rotation=90, va="top", ha="left", fontsize=7, color=INK)
    beyond = [(point.begin_s + point.end_s) / 2 for point in points if point.most_ms > top]
    axes.plot(beyond, [top] * len(beyond), "^", color=RED, markersize=3, clip_on=False)
    if bound_ns is not None:
        axes.axhline(bound_ns / 1e6, color=BLUE, linestyle="-.", linewidth=1)
    axes.set_ylim(0, top)
    axes.set_xlim(0, points[-1].end_s if points else 1)
    axes.set_ylabel("ms/token")
    axes.set_xlabel("seconds of decoding (pauses, compilation, measurements and uncounted tokens left out)")
    return _svg(figure)


def bars(modes: Sequence[ModeRow]) -> bytes:
    """One bar for each mode: where its median token goes; a plain one where that is not known."""
    figure, axes = _figure(0.75 + 0.34 * len(modes))
    names = [facts.name for facts in modes]
    for place, facts in enumerate(modes):
        left = 0.0
        for (_, colour, hatch), part_ns in zip(PARTS, _parts(facts), strict=True):
            axes.barh(
                place, part_ns / 1e6, left=left, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4
            )
            left += part_ns / 1e6
        if facts.split is None:
            axes.barh(place, facts.wall_ns / 1e6, color="white", edgecolor=GREY)
        axes.text(facts.wall_ns / 1e6, place, f"  {ms(facts.wall_ns)}", va="center", fontsize=8)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("ms/token")
    axes.set_xlim(0, 1.08 * max(facts.wall_ns for facts in modes) / 1e6)
    keys = [Patch(facecolor=c, hatch=h, edgecolor="white", label=label) for label, c, h in PARTS]
    figure.legend(handles=keys, loc="outside upper center", ncols=4, fontsize=8, frameon=False)
    return _svg(figure)


def causes(totals: Sequence[tuple[str, int]]) -> bytes:
    """Excess time of slow tokens by cause, largest first."""
    figure, axes = _figure(0.6 + 0.26 * len(totals))
    axes.barh([name for name, _ in totals], [ns / 1e6 for _, ns in totals], color=RED)
    axes.invert_yaxis()
    axes.set_xlabel("ms beyond the usual token, all slow tokens together")
    return _svg(figure)


def _parts(facts: ModeRow) -> tuple[int, int, int, int]:
    split = facts.split
    if split is None:
        return (0, 0, 0, 0)
    waiting_ns = split.launch_latency_ns + split.device_gap_ns
    return (split.bound_ns or 0, split.other_ns, waiting_ns, split.host_gap_ns)


def _figure(height_in: float) -> tuple[Figure, Axes]:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
        return figure, figure.subplots()


def _svg(figure: Figure) -> bytes:
    out = BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
