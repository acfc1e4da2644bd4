"""Which bucket of the latency history stands in which cell of the strip.

The strip fills from left to right and, when full, moves on by half its width at once. Between
two such jumps a bucket never changes its place, so a frame repaints the newest cell only.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from idlegap.core.session.snapshot import StripColumn, StripMark

BUCKETS_PER_CELL = 2
CellBuckets = tuple[StripColumn | None, StripColumn | None]


@dataclass(frozen=True, slots=True)
class Sweep:
    """A window on the history: `cells` cells, the first one begins at bucket `origin`."""

    origin: int
    cells: int

    def cell_of(self, bucket: int) -> int | None:
        """The cell of `bucket`, None where it lies outside the window."""
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


def advance(sweep: Sweep | None, cells: int, oldest_bucket: int, now_bucket: int) -> Sweep:
    """The window that shows `now_bucket` in `cells` cells: the old one while it does."""
    cells = max(1, cells)
    if sweep is not None and now_bucket < sweep.origin:
        sweep = None  # a replay was wound back
    origin = sweep.origin if sweep is not None else oldest_bucket - oldest_bucket % BUCKETS_PER_CELL
    overrun = (now_bucket - origin) // BUCKETS_PER_CELL - cells + 1
    if overrun > 0:
        jump = max(1, cells // 2)
        origin += -(-overrun // jump) * jump * BUCKETS_PER_CELL
    return Sweep(origin, cells)
