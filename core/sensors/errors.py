"""Why a reading could not be taken, in words that fit behind "n/a: " on the screen."""


class ReadingError(Exception):
    """One reading failed.

    Attributes:
        reason: short text for the ``missing`` table of an event.
        for_good: asking again cannot help (the machine lacks it); otherwise it may recover.
    """

    def __init__(self, reason: str, *, for_good: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.for_good = for_good
