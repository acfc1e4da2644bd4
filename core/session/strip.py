"""The latency strip's history: tokens gathered into buckets of equal time; counted ones and those at
new cache lengths."""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from statistics import median

from idlegap.core.protocol.events import Token
from idlegap.core.protocol.modes import ModeName
from idlegap.core.session.snapshot import STRIP_BUCKET_NS, StripColumn, StripMark
from idlegap.core.slow_tokens.causes import Cause

KEPT_BUCKETS = 1200
"""Five minutes, more than the widest terminal shows."""

KEPT_MARKS = 64

KEPT_BLAMED = 64
"""Buckets whose slow tokens may still be explained; that happens within about a second."""


class StripHistory:
    """Buckets of tokens by the time at which they were done. Memory is bounded.

    Frames look at it and change nothing: tokens of a bucket may still come when it is over.
    """

    def __init__(self) -> None:
        self._closed: deque[StripColumn] = deque(maxlen=KEPT_BUCKETS)
        self._marks: deque[StripMark] = deque(maxlen=KEPT_MARKS)
        self._bucket = 0
        self._mode: ModeName = "eager"
        self._walls_ns: list[int] = []
        self._slow = 0
        self._earlier_ns: Mapping[ModeName, int] | None = None
        self._excess_ns: dict[int, Counter[Cause]] = {}
        self._columns: tuple[StripColumn, ...] | None = ()

    def add(self, mode: ModeName, tokens: tuple[Token, ...], slow_above_ns: int | None) -> None:
        """Tokens of `mode`, oldest first; None flags none of them as slow."""
        for token in tokens:
            if self._is_over(token.done_ns):
                self._closed.append(self._column())
                self._walls_ns, self._slow, self._earlier_ns = [], 0, None
                self._columns = None
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

    def blame(self, done_ns: int, shares: Iterable[tuple[Cause, int]]) -> None:
        """The slow token that was done at `done_ns` is explained: its excess in ns by cause."""
        bucket = done_ns // STRIP_BUCKET_NS
        self._excess_ns.setdefault(bucket, Counter()).update(dict(shares))
        while len(self._excess_ns) > KEPT_BLAMED:
            del self._excess_ns[min(self._excess_ns)]
        at = bisect_left(self._closed, bucket, key=lambda column: column.bucket)
        if at < len(self._closed) and self._closed[at].bucket == bucket:
            self._closed[at] = replace(self._closed[at], cause=self._cause(bucket))
            self._columns = None

    def reshape(self, busy_ns: Mapping[ModeName, int]) -> None:
        """Another batch size or prompt from here on; `busy_ns` is what is known of the earlier one,
        to which the whole open bucket counts."""
        if self._walls_ns:
            self._earlier_ns = busy_ns
        for at, column in enumerate(self._closed):
            if not column.reshaped:
                self._closed[at] = replace(column, reshaped=True, busy_ns=busy_ns.get(column.mode))
        self._columns = None

    def _cause(self, bucket: int) -> Cause | None:
        excess_ns = self._excess_ns.get(bucket)
        return excess_ns.most_common(1)[0][0] if excess_ns else None

    def columns(self, now_ns: int) -> tuple[StripColumn, ...]:
        """Buckets that are over at `now_ns`, oldest first."""
        if self._columns is None:
            self._columns = tuple(self._closed)
        return (*self._columns, self._column()) if self._is_over(now_ns) else self._columns

    def marks(self) -> tuple[StripMark, ...]:
        """Marks, oldest first."""
        return tuple(self._marks)

    def _is_over(self, t_ns: int) -> bool:
        return bool(self._walls_ns) and t_ns // STRIP_BUCKET_NS > self._bucket

    def _column(self) -> StripColumn:
        walls_ns, earlier_ns = self._walls_ns, self._earlier_ns
        return StripColumn(
            bucket=self._bucket,
            mode=self._mode,
            median_ns=round(median(walls_ns)),
            max_ns=max(walls_ns),
            tokens=len(walls_ns),
            slow=self._slow,
            cause=self._cause(self._bucket),
            reshaped=earlier_ns is not None,
            busy_ns=earlier_ns.get(self._mode) if earlier_ns is not None else None,
        )
