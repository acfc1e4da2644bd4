"""Deadlines at a fixed rate, as plain arithmetic on a clock that the caller reads."""

MS = 1_000_000
SECOND = 1_000_000_000


class Every:
    """True at most once per period, on a grid that the first question anchors.

    Deadlines are multiples of the period after that first question, so that being late once
    does not shift all later ones. Deadlines that passed unseen are skipped, not caught up.
    """

    def __init__(self, period_ns: int) -> None:
        self.period_ns = period_ns
        self._next_ns: int | None = None

    def due(self, now_ns: int) -> bool:
        """Whether a deadline has passed since the last time this said yes."""
        if self._next_ns is None:
            self._next_ns = now_ns + self.period_ns
            return True
        late_ns = now_ns - self._next_ns
        if late_ns < 0:
            return False
        self._next_ns += (late_ns // self.period_ns + 1) * self.period_ns
        return True

    def wait_ns(self, now_ns: int) -> int:
        """Time until the next deadline; 0 when one is already due."""
        return 0 if self._next_ns is None else max(0, self._next_ns - now_ns)
