"""The latency strip as a picture that knows which of its cells a new snapshot has changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from textual.geometry import Region

from idlegap.core.protocol.modes import ModeName
from idlegap.core.session.snapshot import STRIP_BUCKET_NS, ModeView, Strip, StripColumn
from idlegap.core.text.sanitize import shorten
from idlegap.core.text.units import NS_PER_MS, NS_PER_S, ms
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.line import Line
from idlegap.tui.widgets.palette import BOUND, DIM, KEY, RULE, WORK
from idlegap.tui.widgets.strip.cells import BLANK, Bands, Cell, Scale, cell_column, level_line
from idlegap.tui.widgets.strip.window import BUCKETS_PER_CELL, Axis, CellBuckets, Window, advance

LEFT_GUTTER = 6
RIGHT_GUTTER = 12
TICK_CELLS = round(10 * NS_PER_S / STRIP_BUCKET_NS / BUCKETS_PER_CELL)
EMPTY_TOP_NS = 10_000_000
TITLE = "ms/token"
FEW_TOKENS = 2
FAR_ABOVE = 2
_UNKNOWN = Bands()


class _Column(NamedTuple):
    """All that decides how one cell column looks."""

    buckets: CellBuckets
    bands: tuple[Bands, Bands]
    mark: str | None


@dataclass(frozen=True, slots=True)
class _Frame:
    """All that stays the same while the strip fills: scale, lines and labels."""

    scale: Scale
    lines: tuple[tuple[int, str], ...]
    names: tuple[tuple[int, str, bool], ...]
    title: tuple[tuple[int, str], ...]


class StripPicture:
    """The strip at one size. Row 0 carries titles, the last row the time axis."""

    def __init__(self, width: int, height: int, level: GlyphLevel) -> None:
        self.width, self.height = width, height
        self._cells = max(1, width - LEFT_GUTTER - RIGHT_GUTTER)
        self._rows = max(1, height - 2)
        self._level = level
        self._window: Window | None = None
        self._axis = Axis()
        self._frame: _Frame | None = None
        self._columns: list[_Column] = []
        self._pixels: list[list[Cell]] = []

    def update(self, strip: Strip, modes: Sequence[ModeView]) -> list[Region]:
        """Take new history; the regions of the picture that look different now."""
        oldest = strip.columns[0].bucket if strip.columns else strip.now_bucket
        self._window = advance(self._window, self._cells, oldest, strip.now_bucket)
        bands = mode_bands(modes)
        marks = self._window.marks(strip.marks)
        columns = [
            _Column(
                (left, right), (_bands_of(left, bands, strip), _bands_of(right, bands, strip)), marks.get(i)
            )
            for i, (left, right) in enumerate(self._window.columns(strip.columns))
        ]
        frame = self._make_frame(strip, columns, marks)
        everything = frame != self._frame or not self._pixels
        changed = [i for i, column in enumerate(columns) if everything or column != self._columns[i]]
        self._frame, self._columns = frame, columns
        if everything:
            self._pixels = [self._draw(column, frame) for column in columns]
            return [Region(0, 0, self.width, self.height)]
        for i in changed:
            self._pixels[i] = self._draw(columns[i], frame)
        return [Region(LEFT_GUTTER + i, 1, 1, self._rows) for i in changed]

    def row(self, y: int) -> Line:
        """Row `y` of the picture, from the top."""
        frame = self._frame
        if frame is None:
            return Line()
        if y == 0:
            return self._title_row(frame)
        if y > self._rows:
            return self._time_row() if y == self._rows + 1 else Line()
        row = self._rows - y
        line = (
            Line()
            .add(self._tick(row, frame).rjust(LEFT_GUTTER - 1), DIM)
            .add("┤" if self._tick(row, frame) else "│", RULE)
        )
        for style, run in groupby((pixels[row] for pixels in self._pixels), key=itemgetter(1)):
            line.add("".join(character for character, _ in run), style)
        for at, name, is_bound in frame.names:
            if at == row:
                line.add(f" {name}", BOUND if is_bound else WORK)
        return line

    def _make_frame(self, strip: Strip, columns: list[_Column], marks: dict[int, str]) -> _Frame:
        buckets = [b for c in columns for b in c.buckets if b is not None]
        needed = max(_height_ns(buckets), strip.busy_ns or 0) or EMPTY_TOP_NS
        scale = Scale(self._rows, self._axis.fit(needed), self._level)
        busy, bound = level_line(strip.busy_ns, scale), level_line(strip.bound_ns, scale)
        names: list[tuple[int, str, bool]] = []
        if bound is not None and strip.bound_ns is not None:
            names.append((bound[0], f"bound {ms(strip.bound_ns)}", True))
        if busy is not None and strip.busy_ns is not None:
            row = busy[0] + 1 if bound is not None and bound[0] == busy[0] else busy[0]
            if row < self._rows:
                names.append((row, f"busy {ms(strip.busy_ns)}", False))
        lines = tuple(line for line in (bound, busy) if line is not None)
        return _Frame(scale, lines, tuple(names), tuple(sorted(marks.items())))

    def _draw(self, column: _Column, frame: _Frame) -> list[Cell]:
        cells = cell_column(column.buckets, column.bands, frame.scale)
        if column.mark is not None:
            cells = [("┊", KEY) if cell == BLANK else cell for cell in cells]
        for row, character in frame.lines:
            if cells[row] == BLANK:
                cells[row] = (character, DIM)
        return cells

    def _tick(self, row: int, frame: _Frame) -> str:
        """The label whose value lies in the middle of `row`, where a round one does: halves, and
        quarters that need no third digit (no label says more than 37.5)."""
        for parts in (2, 4):
            if (2 * row + 1) * parts % (2 * self._rows) == 0:
                quarters = [frame.scale.top_ns * part / parts for part in range(1, parts)]
                if all(ns == float(f"{ns:.2g}") for ns in quarters):
                    return _axis_label(frame.scale.top_ns * (2 * row + 1) / (2 * self._rows))
        return ""

    def _title_row(self, frame: _Frame) -> Line:
        line = Line().add(_axis_label(frame.scale.top_ns).rjust(LEFT_GUTTER - 1), DIM).add("┤", RULE)
        ends = [*(cell for cell, _ in frame.title[1:]), self._cells + RIGHT_GUTTER]
        if not frame.title or frame.title[0][0] > len(TITLE):
            line.add(TITLE, DIM)
        for (cell, label), end in zip(frame.title, ends, strict=bool(frame.title)):
            line.to(LEFT_GUTTER + cell).add(shorten(f"┊{label}", end - cell), KEY)
        return line

    def _time_row(self) -> Line:
        line = Line().add("0".rjust(LEFT_GUTTER - 1), DIM).add("┼", RULE)
        for cell in range(TICK_CELLS, self._cells - 5, TICK_CELLS):
            line.add("─" * (LEFT_GUTTER + cell - line.cells), RULE).add("┴", RULE)
            line.add(f"{cell // TICK_CELLS * 10} s", DIM)
        return line.add("─" * (LEFT_GUTTER + self._cells - line.cells), RULE)


def mode_bands(modes: Sequence[ModeView]) -> dict[ModeName, Bands]:
    """Device time of each mode that has been profiled."""
    return {m.name: Bands(m.split.bound_ns, m.split.busy_ns) for m in modes if m.split is not None}


def _bands_of(column: StripColumn | None, bands: dict[ModeName, Bands], strip: Strip) -> Bands:
    if column is None:
        return _UNKNOWN
    if column.reshaped:
        return Bands(strip.bound_ns, column.busy_ns) if column.busy_ns is not None else _UNKNOWN
    return bands.get(column.mode, _UNKNOWN)


def _height_ns(buckets: Sequence[StripColumn]) -> int:
    """The highest median that the axis has to hold."""
    return max((b.median_ns for i, b in enumerate(buckets) if not _stands_alone(buckets, i)), default=0)


def _stands_alone(buckets: Sequence[StripColumn], at: int) -> bool:
    """Whether it is a token or two rather than what tokens took then: far above its neighbours of
    the same mode. Such a bucket is cut off, or all others would lie flat below it."""
    bucket = buckets[at]
    neighbours = (*buckets[max(at - 1, 0) : at], *buckets[at + 1 : at + 2])
    beside = [b.median_ns for b in neighbours if b.mode == bucket.mode]
    return bool(beside) and bucket.tokens <= FEW_TOKENS and bucket.median_ns > FAR_ABOVE * max(beside)


def _axis_label(ns: float) -> str:
    return f"{ns / NS_PER_MS:.4g}"
