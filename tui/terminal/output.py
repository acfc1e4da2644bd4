"""The terminal as a file that counts its bytes, never blocks for ever, and survives the terminal."""

import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_STANDARD_OUTPUTS = (1, 2)

STALL_NS = 250_000_000
"""A write that has waited this long means that the terminal cannot follow."""

POLL_MS = 100

RELEASE_NS = 2_000_000_000
"""How long the last bytes, which restore the terminal, may wait for a slow one."""


class TerminalOutput:
    """Writes text to a terminal from one thread, while other threads ask how that goes.

    A terminal that has gone swallows everything and sets `lost`. One that takes nothing more
    (a dead connection that has not timed out yet) holds the writer until `release` is called.
    """

    encoding = "utf-8"

    def __init__(self, fd: int, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._fd = _own_descriptor(fd)
        self._clock = clock
        self._since_ns: int | None = None
        self._give_up_ns: int | None = None
        self.bytes_written = 0
        self.lost = False

    def write(self, text: str) -> int:
        """Write all of `text`, unless the terminal is lost or has been given up."""
        data = memoryview(text.encode("utf-8", "replace"))
        self._since_ns = self._clock()
        try:
            while data and not self.lost:
                if not self._wait():
                    break
                written = self._try(data)
                self.bytes_written += written
                data = data[written:]
        finally:
            self._since_ns = None
        return len(text)

    def flush(self) -> None:
        """Every write goes out at once."""

    def fileno(self) -> int:
        """The descriptor that is written to."""
        return self._fd

    def isatty(self) -> bool:
        """Whether the terminal is still there."""
        return not self.lost and os.isatty(self._fd)

    def release(self) -> None:
        """The app ends: do not wait for a terminal that takes nothing beyond RELEASE_NS."""
        self._give_up_ns = self._clock() + RELEASE_NS

    def stalled(self) -> bool:
        """Whether a write has been waiting for longer than STALL_NS."""
        since_ns = self._since_ns
        return since_ns is not None and self._clock() - since_ns > STALL_NS

    def close(self) -> None:
        """Close our own descriptor."""
        os.close(self._fd)

    def _wait(self) -> bool:
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        while not poll.poll(POLL_MS):
            if self._give_up_ns is not None and self._clock() > self._give_up_ns:
                return False
        return True

    def _try(self, data: memoryview) -> int:
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.lost = True
            return 0


@contextmanager
def diverted(path: Path | None) -> Iterator[None]:
    """Send what libraries write to stdout and stderr into the file `path`, so that it cannot
    break the screen; None leaves both alone."""
    if path is None:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = [os.dup(fd) for fd in _STANDARD_OUTPUTS]
    with path.open("ab") as log:
        for fd in _STANDARD_OUTPUTS:
            os.dup2(log.fileno(), fd)
    try:
        yield
    finally:
        for fd, copy in zip(_STANDARD_OUTPUTS, kept, strict=True):
            os.dup2(copy, fd)
            os.close(copy)


def _own_descriptor(fd: int) -> int:
    """The same terminal opened once more, so that only our descriptor does not block."""
    try:
        return os.open(os.ttyname(fd), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        # A terminal without a name here (entered from another mount namespace): writes may block.
        return os.dup(fd)
