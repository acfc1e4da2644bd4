"""The part of the latency history that the strip shows: a window in time, and an axis from zero.

The strip fills from left to right and, when full, moves on by half its width at once. Between
two such jumps a bucket never changes its place, so a frame repaints the newest cell only. The axis
grows at once and shrinks only when it is much too long.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10
from operator import attrgetter

from idlegap.core.session.snapshot import StripColumn, StripMark

BUCKETS_PER_CELL = 2
CellBuckets = tuple[StripColumn | None, StripColumn | None]

_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
HEADROOM = 1.08
SHRINK_BELOW = 0.45
"""The axis shrinks when less than this share of it is used; growing and shrinking then never
alternate on a value that wobbles, because no step is more than half again the last one."""

SMALLEST_NS = 1_000


@dataclass(frozen=True, slots=True)
class Window:
    """A window on the history: `cells` cells, the first one begins at bucket `origin`."""

    origin: int
    cells: int

    def cell_of(self, bucket: int) -> int | None:
        """The cell of `bucket`, None where it is not shown."""
        cell = (bucket - self.origin) // BUCKETS_PER_CELL
        return cell if 0 <= cell < self.cells else None

    def columns(self, history: Sequence[StripColumn]) -> list[CellBuckets]:
        """The two buckets of each cell, from a history that is sorted by bucket; None where a
        bucket had no tokens."""
        first = bisect_left(history, self.origin, key=attrgetter("bucket"))
        found = {c.bucket - self.origin: c for c in history[first:]}
        return [(found.get(2 * i), found.get(2 * i + 1)) for i in range(self.cells)]

    def marks(self, marks: Iterable[StripMark]) -> dict[int, str]:
        """The label at each marked cell; the last one where two fall into one cell."""
        placed = ((self.cell_of(mark.bucket), mark.label) for mark in marks)
        return {cell: label for cell, label in placed if cell is not None}


def advance(window: Window | None, cells: int, oldest_bucket: int, now_bucket: int) -> Window:
    """The window that shows `now_bucket` in `cells` cells: the old one while it does."""
    cells = max(1, cells)
    if window is not None and now_bucket < window.origin:
        window = None  # a replay was wound back
    origin = window.origin if window is not None else oldest_bucket - oldest_bucket % BUCKETS_PER_CELL
    overrun = (now_bucket - origin) // BUCKETS_PER_CELL - cells + 1
    if overrun > 0:
        jump = max(1, cells // 2)
        origin += -(-overrun // jump) * jump * BUCKETS_PER_CELL
    return Window(origin, cells)


def nice_top_ns(needed_ns: float) -> int:
    """The smallest round number of ns that leaves a little room above `needed_ns`."""
    target = max(needed_ns * HEADROOM, SMALLEST_NS)
    decade = 10.0 ** floor(log10(target))
    return next(round(step * decade) for step in _STEPS if step * decade >= target * (1 - 1e-9))


class Axis:
    """The top of an axis that keeps still while values wobble."""

    def __init__(self) -> None:
        self.top_ns = 0

    def fit(self, needed_ns: float) -> int:
        """The top for values up to `needed_ns`: the old one while it still fits."""
        if needed_ns > self.top_ns or needed_ns < self.top_ns * SHRINK_BELOW:
            self.top_ns = nice_top_ns(needed_ns)
        return self.top_ns
