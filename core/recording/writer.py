"""Writes one recording from a thread of its own: encodes, compresses and flushes in batches."""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from idlegap.core.protocol.events import AnyEvent
from idlegap.core.recording.format import (
    LATE_NS,
    MAX_LINE_BYTES,
    End,
    EndReason,
    Header,
    Late,
    RecordingError,
)
from idlegap.core.recording.limited_file import LimitedFile
from idlegap.core.text.units import size

DEFAULT_MAX_BYTES = 1_000_000_000
FLUSH_S = 0.5
"""With a frame's time before it, an event is in the file within a second of its arrival."""

MAX_PENDING = 100_000
"""Events that may wait for a disk that hangs: an hour of them."""

JOIN_S = 10.0


@dataclass(frozen=True, slots=True)
class WriterStatus:
    """How far a recording is. `ended` and `error` are None and "" while it goes on."""

    path: Path
    events: int
    size_bytes: int
    lost: int
    ended: EndReason | None
    error: str

    @property
    def active(self) -> bool:
        return self.ended is None and not self.error

    @property
    def text(self) -> str:
        """What to say of a recording that has ended: where it is, and what is wrong with it."""
        text = f"recorded {self.events:,} events, {size(self.size_bytes)}, into {self.path}"
        if self.error:
            text += f"; it ended early: {self.error}"
        elif self.ended == "size limit":
            text += "; it ended at its size limit"
        return f"{text}; {self.lost:,} events were lost" if self.lost else text


class Writer:
    """One recording being written. `put` and `stop` belong to the session's thread.

    Raises:
        RecordingError: the file exists already or cannot be created.
    """

    def __init__(self, path: Path, header: Header, max_bytes: int, clock: Callable[[], int]) -> None:
        self._path, self._clock = path, clock
        self._encoder = msgspec.json.Encoder()
        self._pending: deque[AnyEvent] = deque()
        self._events = self._lost = self._newest_ns = 0
        self._ended: EndReason | None = None
        self._error = ""
        self._stopping = threading.Event()
        self._file = LimitedFile(path, max_bytes)
        try:
            self._file.write(self._encoder.encode(header) + b"\n")
        except OSError as error:
            self._file.abandon()
            raise RecordingError(path, f"cannot be written: {error.strerror}") from error
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)

    def start(self) -> None:
        """Begin to write; what was `put` before comes first."""
        self._thread.start()

    def put(self, event: AnyEvent) -> None:
        """Take an event; all that this costs the caller is an append."""
        if self._ended is not None or self._error:
            return
        if len(self._pending) < MAX_PENDING:
            self._pending.append(event)
        else:
            self._lost += 1

    def stop(self) -> WriterStatus:
        """Write what is pending and the end marker; waits for a slow disk, but not for ever."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(JOIN_S)
            if self._thread.is_alive():
                self._error = f"the disk did not answer for {JOIN_S:.0f} s"
        return self.status

    @property
    def status(self) -> WriterStatus:
        return WriterStatus(self._path, self._events, self._file.size, self._lost, self._ended, self._error)

    def flush(self) -> None:
        """Write what is pending. The thread does this every FLUSH_S."""
        taken = [self._pending.popleft() for _ in range(len(self._pending))]
        lines = [line for event in taken if (line := self._encode(event))]
        if not lines:
            return
        if self._file.write(b"".join(lines)):
            self._events += len(lines)
        else:
            self._finish("size limit")

    def _run(self) -> None:
        try:
            while self._ended is None and not self._stopping.wait(FLUSH_S):
                self.flush()
            if self._ended is None:
                self.flush()
            if self._ended is None:
                self._finish("stopped")
        except OSError as error:
            self._fail(error.strerror or str(error))
        except Exception as error:  # noqa: BLE001 - the status must say that nothing is recorded any more
            self._fail(f"{type(error).__name__}: {error}")
        finally:
            self._pending.clear()

    def _fail(self, problem: str) -> None:
        self._error = problem
        self._file.abandon()

    def _encode(self, event: AnyEvent) -> bytes:
        """The event's line, after a `Late` one where needed; b"" for one that nobody could read."""
        line = self._encoder.encode(event) + b"\n"
        if len(line) > MAX_LINE_BYTES:
            self._lost += 1
            return b""
        if event.t_ns < self._newest_ns - LATE_NS:
            self._newest_ns = event.t_ns
            return self._encoder.encode(Late(event.t_ns)) + b"\n" + line
        self._newest_ns = max(self._newest_ns, event.t_ns)
        return line

    def _finish(self, reason: EndReason) -> None:
        end = End(max(self._clock(), self._newest_ns), reason, self._events, self._lost)
        self._file.finish(self._encoder.encode(end) + b"\n")
        self._ended = reason
