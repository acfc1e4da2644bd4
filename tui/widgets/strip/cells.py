"""What one cell column of the latency strip looks like, at each glyph level.

A column is an area from zero up to the median: solid where the device computed, dotted where
it idled, so that the dotted part is what the host costs. Above it stands the slowest token;
where it was far slower than its neighbours and stands clear of the area, it is flagged. Once
its cause is known, the flag is the cause's letter (`tui.widgets.cause_marks`), right above the area at least.
A column that is higher than the plot ends in a flag, or in `CUT` where it has none.
"""

from dataclasses import dataclass
from math import ceil

from rich.style import Style

from idlegap.core.session.snapshot import StripColumn
from idlegap.core.slow_tokens.causes import Cause
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.cause_marks import mark
from idlegap.tui.widgets.palette import BAD, BOUND, DIM, HOST, TEXT, WHOLE, WORK
from idlegap.tui.widgets.strip.window import CellBuckets

Cell = tuple[str, Style]
BLANK: Cell = (" ", TEXT)
CUT = "^"
_BRAILLE = 0x2800
_LEFT_BITS = (0x40, 0x04, 0x02, 0x01)
_RIGHT_BITS = (0x80, 0x20, 0x10, 0x08)


@dataclass(frozen=True, slots=True)
class Bands:
    """Device time of a mode's token: what reading the weights needs, and all of it.
    None where it is not known."""

    bound_ns: int | None = None
    busy_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """A plot of `rows` cell rows (row 0 at the bottom) from zero to `top_ns`."""

    rows: int
    top_ns: int
    level: GlyphLevel

    @property
    def dots_per_row(self) -> int:
        """Vertical steps in one cell."""
        return {GlyphLevel.BRAILLE: 4, GlyphLevel.BLOCKS: 2, GlyphLevel.ASCII: 1}[self.level]

    def dots(self, ns: int) -> int:
        """Height of `ns` in dots; at least one for anything above zero, at most the plot."""
        whole = self.rows * self.dots_per_row
        return min(whole, max(1, ceil(ns / self.top_ns * whole - 0.5))) if ns > 0 else 0


@dataclass(frozen=True, slots=True)
class _Half:
    bound: int = 0
    busy: int = 0
    median: int = 0
    peak: int = 0
    cut: bool = False
    slow: bool = False
    cause: Cause | None = None
    split: bool = False


def cell_column(buckets: CellBuckets, bands: tuple[Bands, Bands], scale: Scale) -> list[Cell]:
    """The cells of one column, from the bottom up, for its two buckets and their modes' bands."""
    left, right = (_half(b, band, scale) for b, band in zip(buckets, bands, strict=True))
    cells = []
    for row in range(scale.rows):
        low = row * scale.dots_per_row
        if scale.level is GlyphLevel.BRAILLE:
            cells.append(_braille_cell(left, right, low))
        else:
            cells.append(_coarse_cell(left if left.median >= right.median else right, low, scale))
    area = (max(left.median, right.median) - 1) // scale.dots_per_row
    cut = left.cut or right.cut
    if cut:
        cells[-1] = (CUT, HOST)
    for half in (left, right):
        row = (half.peak - 1) // scale.dots_per_row
        if half.cause is not None:
            row = max(row, area + 1)  # what is explained should be seen
        if half.slow and cut:
            cells[-1] = (mark(half.cause), BAD)
        elif half.slow and area < row < scale.rows:
            cells[row] = (mark(half.cause), BAD)
    return cells


def level_line(ns: int | None, scale: Scale) -> tuple[int, str] | None:
    """The row of a horizontal line at `ns` and the character that draws it there."""
    if ns is None or ns > scale.top_ns:
        return None
    row, dot = divmod(max(1, scale.dots(ns)) - 1, scale.dots_per_row)
    if scale.level is GlyphLevel.BRAILLE:
        return row, chr(_BRAILLE | _LEFT_BITS[dot])
    return row, "-" if scale.level is GlyphLevel.ASCII else "─"


def _half(column: StripColumn | None, bands: Bands, scale: Scale) -> _Half:
    if column is None:
        return _Half()
    median = scale.dots(column.median_ns)
    busy = min(median, scale.dots(bands.busy_ns)) if bands.busy_ns is not None else median
    bound = min(busy, scale.dots(bands.bound_ns)) if bands.bound_ns is not None else 0
    peak = max(median, scale.dots(column.max_ns))
    cut = column.median_ns > scale.top_ns
    return _Half(bound, busy, median, peak, cut, column.slow > 0, column.cause, bands.busy_ns is not None)


def _braille_cell(left: _Half, right: _Half, low: int) -> Cell:
    bits = 0
    for half, masks, parity in ((left, _LEFT_BITS, 0), (right, _RIGHT_BITS, 1)):
        for step in range(4):
            dot = low + step
            solid = dot < half.busy or dot == half.median - 1
            dotted = dot < half.median and (dot + parity) % 2 == 0
            if solid or dotted or (dot == half.peak - 1 and half.peak > half.median):
                bits |= masks[step]
    if not bits:
        return BLANK
    taller = left if left.median >= right.median else right
    return chr(_BRAILLE | bits), _ink(taller, low, 4)


def _coarse_cell(half: _Half, low: int, scale: Scale) -> Cell:
    step = scale.dots_per_row
    solid, idle, peak = ("#", ":", "'") if scale.level is GlyphLevel.ASCII else ("█", "░", "·")
    ink = _ink(half, low, step)
    if half.busy > low:
        return ("▄" if half.busy - low < step and half.median <= half.busy else solid), ink
    if half.median > low:
        return idle, ink
    return (peak, ink) if low < half.peak <= low + step else BLANK


def _ink(half: _Half, low: int, step: int) -> Style:
    """One cell has one colour: that of the band which reaches its middle."""
    middle = low + (step - 1) // 2
    if not half.split:
        return WHOLE if low < half.median else DIM
    if middle < half.bound:
        return BOUND
    if middle < half.busy:
        return WORK
    return HOST if low < half.median else DIM
