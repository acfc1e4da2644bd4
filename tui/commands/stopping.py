"""Being asked to stop: what was measured so far is kept, so a signal is a request, not the end."""

import signal
from types import FrameType, TracebackType
from typing import Any

from idlegap.tui.exit_codes import ExitCode, signal_code

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """While entered, the first of SIGNALS is noted and further ones change nothing. One that is
    ignored already (SIGHUP under nohup) stays so. Enter it on the main thread.

    Calling it tells whether to stop.
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
