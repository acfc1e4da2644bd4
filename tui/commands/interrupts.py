"""ctrl+c where no verb sees to it: while one is loaded, and where there is nothing to keep."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from idlegap.tui.commands.base import PROGRAM
from idlegap.tui.exit_codes import ExitCode

INTERRUPTED = "interrupted"


def leave_at_once() -> None:
    """From now on ctrl+c ends the process with one line, until a verb installs a handler of its
    own. Where SIGINT is ignored (a background job of a plain shell) it stays so.

    Python's own handler raises KeyboardInterrupt wherever the program happens to be: in a callback
    of the import system, which prints a traceback and goes on, or inside an extension module
    (msgspec's decoder, while it looks at types) that crashes on it.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)


@contextmanager
def raised() -> Iterator[None]:
    """Meanwhile ctrl+c raises KeyboardInterrupt: for a verb with an unfinished file to remove."""
    before = signal.getsignal(signal.SIGINT)
    if before is not _leave:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave(number: int, frame: FrameType | None) -> None:
    # Not by `print`: the signal may have come in the midst of one.
    with suppress(OSError):
        os.write(2, f"{PROGRAM}: {INTERRUPTED}\n".encode())
    os._exit(ExitCode.INTERRUPTED)
