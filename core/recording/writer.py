"""Writes one recording from a thread of its own: encodes, compresses and flushes in batches."""

import threading
import zlib
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
from idlegap.core.text.units import size

DEFAULT_MAX_BYTES = 1_000_000_000
FLUSH_S = 0.5
"""With a frame's time before it, an event is in the file within a second of its arrival."""

MAX_PENDING = 100_000
"""Events that may wait for a disk that hangs: an hour of them."""

JOIN_S = 10.0

TAIL_BYTES = 1024
"""Kept free for the end marker and gzip's trailer."""

LEAST_BYTES = 256 << 10
"""A smaller limit would not hold what describes the machine."""

_GZIP = 16 + zlib.MAX_WBITS


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


class LimitedFile:
    """An open file of at most `max_bytes`. It is compressed if its name ends in ``.gz``.

    What `write` has taken is readable even if the process is killed right afterwards: it is
    in the kernel, and compressed data is flushed to a point up to which it can be unpacked.

    Raises:
        RecordingError: the file exists already or cannot be created, or the limit is too low.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        if max_bytes < LEAST_BYTES:
            raise RecordingError(path, f"a limit of {max_bytes:,} bytes is too low: {LEAST_BYTES:,} at least")
        try:
            self._file = path.open("xb")
        except FileExistsError as error:
            raise RecordingError(path, "exists already, and recordings are never overwritten") from error
        except OSError as error:
            raise RecordingError(path, f"cannot be created: {error.strerror}") from error
        self._limit = max_bytes - TAIL_BYTES
        self._packer = zlib.compressobj(wbits=_GZIP) if path.suffix == ".gz" else None
        self.size = 0

    def write(self, data: bytes) -> bool:
        """Append `data` and flush it, or return False if the file would grow too large.

        Raises:
            OSError: the disk is full or gone.
        """
        if self._packer is None:
            return self._append(data, self._limit)
        # Compressed on trial: how much room it needs is known only afterwards.
        packer = self._packer.copy()
        if not self._append(packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH), self._limit):
            return False
        self._packer = packer
        return True

    def finish(self, tail: bytes) -> None:
        """Append the end marker, which always fits, and close.

        Raises:
            OSError: the disk is full or gone.
        """
        if self._packer is not None:
            tail = self._packer.compress(tail) + self._packer.flush(zlib.Z_FINISH)
        try:
            self._append(tail, self._limit + TAIL_BYTES)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the file as it is."""
        self._file.close()

    def _append(self, data: bytes, limit: int) -> bool:
        if self.size + len(data) > limit:
            return False
        self._file.write(data)
        self._file.flush()
        self.size += len(data)
        return True
