"""A reading that could not be taken."""

from idlegap.core.protocol.reasons import Reason
from idlegap.core.text.reasons import words


class ReadingError(Exception):
    """One reading failed.

    Attributes:
        reason: for the ``missing`` table of an event.
        for_good: asking again cannot help (the machine lacks it); otherwise it may recover.
    """

    def __init__(self, reason: Reason, *, for_good: bool = False) -> None:
        super().__init__(words(reason))
        self.reason = reason
        self.for_good = for_good
