"""The latency strip's history: counted tokens gathered into buckets of equal time."""

from collections import deque

from core.analysis.stats import median
from core.events import Token
from core.modes import ModeName
from core.snapshot import STRIP_BUCKET_NS, StripColumn, StripMark

KEPT_BUCKETS = 1200
"""Five minutes, more than the widest terminal shows."""

KEPT_MARKS = 64


class StripHistory:
    """Buckets of tokens by the time at which they were done. Memory is bounded."""

    def __init__(self) -> None:
        self._closed: deque[StripColumn] = deque(maxlen=KEPT_BUCKETS)
        self._marks: deque[StripMark] = deque(maxlen=KEPT_MARKS)
        self._bucket = 0
        self._mode: ModeName = "eager"
        self._walls_ns: list[int] = []
        self._slow = 0
        self._columns: tuple[StripColumn, ...] = ()

    def add(self, mode: ModeName, tokens: tuple[Token, ...], slow_above_ns: int | None) -> None:
        """Counted tokens of `mode`, oldest first; None flags none of them as slow."""
        for token in tokens:
            self.close_before(token.done_ns)
            self._bucket = token.done_ns // STRIP_BUCKET_NS
            self._mode = mode
            self._walls_ns.append(token.wall_ns)
            self._slow += slow_above_ns is not None and token.wall_ns > slow_above_ns

    def mark(self, t_ns: int, label: str) -> None:
        """Something happened at `t_ns`; of several marks in one bucket the last one stays."""
        bucket = t_ns // STRIP_BUCKET_NS
        if self._marks and self._marks[-1].bucket == bucket:
            self._marks.pop()
        self._marks.append(StripMark(bucket, label))

    def close_before(self, t_ns: int) -> None:
        """Close the open bucket if `t_ns` lies in a later one."""
        if self._walls_ns and t_ns // STRIP_BUCKET_NS > self._bucket:
            self._closed.append(
                StripColumn(
                    self._bucket,
                    self._mode,
                    round(median(self._walls_ns)),
                    max(self._walls_ns),
                    len(self._walls_ns),
                    self._slow,
                )
            )
            self._walls_ns, self._slow = [], 0
            self._columns = tuple(self._closed)

    def columns(self) -> tuple[StripColumn, ...]:
        """Closed buckets, oldest first."""
        return self._columns

    def marks(self) -> tuple[StripMark, ...]:
        """Marks, oldest first."""
        return tuple(self._marks)
