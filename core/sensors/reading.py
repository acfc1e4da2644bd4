"""What all readings share: their failure as a reason, their pace, and small files."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from idlegap.core.protocol.reasons import Reason
from idlegap.core.text.reasons import words

T = TypeVar("T")

MS = 1_000_000
SECOND = 1_000_000_000


class ReadingError(Exception):
    """One reading failed. `for_good`: asking again cannot help, because the machine lacks it."""

    def __init__(self, reason: Reason, *, for_good: bool = False) -> None:
        super().__init__(words(reason))
        self.reason = reason
        self.for_good = for_good


def ask(missing: dict[str, Reason], field: str, read: Callable[[], T]) -> T | None:
    """What `read` gives, or None, with the reason in `missing`."""
    try:
        return read()
    except ReadingError as error:
        missing[field] = error.reason
        return None


def read_text(path: Path) -> str:
    """The text of a small file, stripped; empty where it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


class Every:
    """True at most once per period, on a grid that the first question anchors.

    Being late once does not shift later deadlines; those that passed unseen are skipped, not
    caught up.
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
