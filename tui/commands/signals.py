"""Signals outside the live screen: where nothing is lost ctrl+c ends the process at once, a measurement
keeps what it has so far."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any

from idlegap.tui.commands.base import PROGRAM
from idlegap.tui.exit_codes import ExitCode, signal_code

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

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
    """Within this context ctrl+c raises KeyboardInterrupt, for a verb that has an unfinished file to
    remove."""
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


class StopSignals:
    """While entered, the first of SIGNALS is noted and further ones change nothing. One that is
    ignored already (SIGHUP under nohup) stays so. Enter it on the main thread.

    Calling it returns whether to stop.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __call__(self) -> bool:
        return self.number is not None

    @property
    def code(self) -> int:
        """The exit code of a run that was stopped."""
        return ExitCode.INTERRUPTED if self.number is None else signal_code(self.number)

    def __enter__(self) -> "StopSignals":
        for number in SIGNALS:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:
                self._before[number] = before
                signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.number is None:
            self.number = number
