"""How often to draw: as asked, or less when the terminal or the machine cannot follow."""

CALM_TICKS = 20
"""Ticks in time before the rate is doubled again."""

SLOWEST = 8
LATE_SHARE = 0.5


class Pace:
    """Decides on each tick of a fixed timer whether a frame is drawn.

    A tick is bad when the terminal still holds back a write or when the tick came late by
    more than half its period. Two bad ticks in a row halve the rate, down to an eighth.
    """

    def __init__(self, fps: float) -> None:
        self._period_ns = 1e9 / fps
        self._divisor = 1
        self._tick = 0
        self._bad = 0
        self._good = 0
        self._last_ns: int | None = None

    @property
    def divisor(self) -> int:
        """Every how many ticks a frame is drawn."""
        return self._divisor

    def due(self, now_ns: int, stalled: bool) -> bool:
        """Whether this tick draws a frame. A stalled terminal gets none."""
        late = self._last_ns is not None and now_ns - self._last_ns > self._period_ns * (1 + LATE_SHARE)
        self._last_ns = now_ns
        self._note(bad=late or stalled)
        self._tick += 1
        return not stalled and self._tick % self._divisor == 0

    def _note(self, *, bad: bool) -> None:
        self._bad, self._good = (self._bad + 1, 0) if bad else (0, self._good + 1)
        if self._bad >= 2:
            self._divisor, self._bad = min(SLOWEST, self._divisor * 2), 0
        elif self._good >= CALM_TICKS and self._divisor > 1:
            self._divisor, self._good = self._divisor // 2, 0
