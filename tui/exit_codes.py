"""Every exit code that a shell script may rely on."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a run ended. A run ended by signal n exits with 128 + n."""

    DONE = 0
    """Did what was asked."""

    NEGATIVE = 1
    """Did what was asked, and the verdict is no."""

    USAGE = 2
    """The request itself cannot work: a wrong option, or no terminal to draw on."""

    UNSUPPORTED = 3
    """This machine cannot do what was asked; the message says what would."""

    ENGINE_FAILED = 4
    """The engine ended by itself and was not restarted."""

    INTERRUPTED = 130
    """Ended by SIGINT from outside (ctrl+c inside the live screen is an ordinary quit)."""


def signal_code(signal_number: int) -> int:
    """The exit code of a run that ended because of signal `signal_number`."""
    return 128 + signal_number
