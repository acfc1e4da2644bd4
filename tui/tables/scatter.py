"""A scatter plot for any terminal: a handful of labelled points and a few straight lines.

Plotting libraries for terminals draw many anonymous dots; here each of three to ten points must
say which row of the table it is, and the plot must survive ASCII and pasting.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from idlegap.tui.tables.layout import paragraph

LINE_MARK = "."

LEAST_TOP = 1e-6
"""Anything smaller is drawn as zero."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point, drawn as `mark` (one character)."""

    x: float
    y: float
    mark: str


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis from 0 to `top`, with round `ticks`."""

    top: float
    ticks: tuple[float, ...]

    @classmethod
    def reaching(cls, highest: float, ticks: int = 4) -> "Axis":
        """An axis that holds `highest` with about as many steps as asked for, each 1, 2, 2.5 or 5
        times a power of ten."""
        raw = highest / ticks if highest > LEAST_TOP else 1.0
        magnitude = 10.0 ** math.floor(math.log10(raw))
        step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw * (1 - 1e-9))
        count = max(math.ceil(highest / step - 1e-9), 1)
        return cls(count * step, tuple(step * n for n in range(count + 1)))


def scatter(
    points: Sequence[Point],
    *,
    x_label: str,
    y_label: str,
    slope: float | None = None,
    width: int = 72,
    height: int = 16,
) -> list[str]:
    """The plot, zero-based on both axes, in lines of at most `width` characters.

    `slope` draws the line y = slope * x. Points that share a cell show the later mark, which
    lines below the plot say, and a point always covers a line.
    """
    x_axis = Axis.reaching(max((point.x for point in points), default=1.0))
    y_axis = Axis.reaching(max((point.y for point in points), default=1.0))
    margin = max(len(_tick(tick)) for tick in y_axis.ticks) + 1
    columns = width - margin - 1
    cells = [[" "] * columns for _ in range(height)]
    if slope is not None:
        for column in range(columns):
            row = _cell(slope * column / (columns - 1) * x_axis.top, y_axis.top, height)
            if row < height:
                cells[row][column] = LINE_MARK
    sharing: dict[tuple[int, int], list[str]] = {}
    for point in points:
        row, column = _cell(point.y, y_axis.top, height), _cell(point.x, x_axis.top, columns)
        cells[row][column] = point.mark
        sharing.setdefault((row, column), []).append(point.mark)
    labels = {_cell(tick, y_axis.top, height): _tick(tick) for tick in y_axis.ticks}
    body = [
        f"{labels.get(row, ''):>{margin - 1}} |{''.join(cells[row])}".rstrip()
        for row in reversed(range(height))
    ]
    axis = [" " * margin + "+" + "-" * columns, _x_ticks(x_axis, margin, columns, x_label)]
    return [y_label, *body, *axis, *_same_place(sharing.values(), width)]


def _same_place(marks: Iterable[Sequence[str]], width: int) -> list[str]:
    """Which points cover others: ``a, b: at the same place, where only b shows``."""
    lines: list[str] = []
    for found in marks:
        if len(found) > 1:
            text = f"{', '.join(found)}: at the same place, where only {found[-1]} shows"
            lines += paragraph(text, width)
    return lines


def _cell(value: float, top: float, cells: int) -> int:
    return round(value / top * (cells - 1))


def _tick(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def _x_ticks(axis: Axis, margin: int, columns: int, label: str) -> str:
    """The ticks below the axis, as many as fit before the label."""
    room = columns + 1 - len(label) - 1
    line = [" "] * room
    for tick in axis.ticks:
        text = _tick(tick)
        start = min(_cell(tick, axis.top, columns) + 1 - len(text) // 2, room - len(text))
        start = max(start, 0)
        before = "".join(line[max(start - 1, 0) : start + len(text) + 1])
        if _cell(tick, axis.top, columns) < room and not before.strip():
            line[start : start + len(text)] = text
    return " " * margin + "".join(line) + " " + label
