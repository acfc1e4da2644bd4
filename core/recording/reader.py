"""Reads a recording as a stream of events, and says how it ended."""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec

from idlegap.core.protocol.events import AnyEvent, TokenBatch
from idlegap.core.recording.format import (
    DECODE_ERRORS,
    LATE_NS,
    MAX_LINE_BYTES,
    End,
    Header,
    Late,
    Line,
    RecordingError,
    decode_header,
)
from idlegap.core.system.files import open_input

_GZIP_FIRST_BYTE = b"\x1f"
"""No recording begins with this control character."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a recording ended, after `events` events and at line `line`.

    ``cut off`` means that there is no end marker: the writer was killed, or the file was not
    copied to its end. `t_ns` is the time of the end marker, or else of the newest event.
    """

    reason: Literal["stopped", "size limit", "cut off"]
    events: int
    line: int
    t_ns: int
    lost: int = 0

    @property
    def text(self) -> str:
        """What the user should know about it; "" where all is as it should be."""
        parts = []
        if self.reason == "cut off":
            parts.append(f"the recording was cut off: its last whole line is {self.line:,}")
        if self.reason == "size limit":
            parts.append("the recording reached its size limit")
        if self.lost:
            parts.append(f"{self.lost:,} events were lost: the disk was too slow")
        return "; ".join(parts)


class RecordingReader:
    """An open recording, plain or gzip by its first byte, whatever the file's name. Iterate once for its
    events, in the order in which they were written; `ending` is known afterwards. With `pipe` it may
    come through one: who reads a recording twice needs a file.

    Memory is bounded whatever the file holds: of a line, `MAX_LINE_BYTES` at most are unpacked before it
    is refused, and text made to expand is most likely no event and so ends the reading at its first line.

    Raises (when opened and while iterating):
        RecordingError: the file cannot be read, is none of ours, or is damaged; with its line.
    """

    def __init__(self, path: Path, *, pipe: bool = False) -> None:
        self.path = path
        self._ending: Ending | None = None
        self._line = self._events = 0
        self._rest: bytes | None = None
        """What stands behind the last newline: the writer was cut off within it. b"" where it cannot be
        unpacked, None where the last line is whole."""
        try:
            self._file = open_input(path, pipe=pipe)
        except OSError as error:
            raise RecordingError(path, f"cannot be opened: {error.strerror}") from error
        self._decoder = msgspec.json.Decoder(Line)
        try:
            packed = self._file.peek(1)[:1] == _GZIP_FIRST_BYTE
            self._text = gzip.GzipFile(fileobj=self._file) if packed else self._file
            self.header = self._read_header()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    @property
    def ending(self) -> Ending:
        """How the recording ends; RuntimeError while it has not been read to its end."""
        if self._ending is None:
            raise RuntimeError("the end of the recording has not been read yet")
        return self._ending

    def __iter__(self) -> Iterator[AnyEvent]:
        newest_ns = 0
        while (text := self._next_line()) is not None:
            try:
                line = self._decoder.decode(text)
            except DECODE_ERRORS as error:
                raise self._error(f"not an event: {error}") from error
            if isinstance(line, TokenBatch) and (fault := _disorder(line)):
                raise self._error(fault)
            if isinstance(line, End):
                self._end(line)
                return
            if isinstance(line, Late):
                newest_ns = line.t_ns
                continue
            if line.t_ns < newest_ns - LATE_NS:
                back_s = (newest_ns - line.t_ns) / 1e9
                raise self._error(f"time goes back by {back_s:.1f} s: these lines do not belong together")
            newest_ns = max(newest_ns, line.t_ns)
            self._events += 1
            yield line
        self._ending = Ending("cut off", self._events, self._line, newest_ns)

    def _read_header(self) -> Header:
        line = self._next_line()
        if line is None and self._rest is None:
            raise RecordingError(self.path, "the file is empty")
        return decode_header(line or self._rest or b"", self.path)

    def _next_line(self) -> bytes | None:
        try:
            line = self._text.readline(MAX_LINE_BYTES + 1)
        except EOFError:
            # Whatever the killed writer had flushed was unpacked before this.
            self._rest = b""
            return None
        except (gzip.BadGzipFile, zlib.error) as error:
            self._line += 1
            raise self._error(f"damaged gzip data ({error})") from error
        except OSError as error:
            raise self._error(f"cannot be read: {error.strerror}") from error
        if line.endswith(b"\n"):
            self._line += 1
            return line
        if len(line) > MAX_LINE_BYTES:
            self._line += 1
            raise self._error(f"longer than {MAX_LINE_BYTES >> 20} MiB")
        self._rest = line or self._rest
        return None

    def _end(self, end: End) -> None:
        if self._next_line() is not None or self._rest:
            raise self._error("goes on after its end marker")
        self._ending = Ending(end.reason, self._events, self._line, end.t_ns, end.lost)

    def _error(self, problem: str) -> RecordingError:
        return RecordingError(self.path, problem, self._line)


def _disorder(batch: TokenBatch) -> str | None:
    """What is wrong with the times of a batch's tokens, or None: each ends before the next begins.

    Not a part of the schema: it would run for each batch that the engine builds too.
    """
    before_ns = 0
    for index, token in enumerate(batch.tokens, batch.first):
        if not before_ns <= token.start_ns <= token.dispatched_ns <= token.done_ns:
            return f"token {index}: its times are out of order"
        if token.start_ns == token.done_ns:
            return f"token {index}: took no time"
        before_ns = token.done_ns
    return None
