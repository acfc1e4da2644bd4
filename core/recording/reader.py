"""Reads a recording as a stream of events, and says how it ended."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec

from idlegap.core.protocol.events import AnyEvent, TokenBatch
from idlegap.core.recording.checks import disorder
from idlegap.core.recording.format import (
    DECODE_ERRORS,
    LATE_NS,
    End,
    Header,
    Late,
    Line,
    RecordingError,
    decode_header,
)
from idlegap.core.recording.lines import Lines
from idlegap.core.system.files import open_input


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
    """An open recording. Iterate once for its events, in the order in which they were written;
    `ending` is known afterwards. Memory is bounded whatever the file holds. With `pipe` it may
    come through one: who reads a recording twice needs a file.

    Raises (when opened and while iterating):
        RecordingError: the file cannot be read, is none of ours, or is damaged; with its line.
    """

    def __init__(self, path: Path, *, pipe: bool = False) -> None:
        self.path = path
        self._ending: Ending | None = None
        self._events = 0
        try:
            self._file = open_input(path, pipe=pipe)
        except OSError as error:
            raise RecordingError(path, f"cannot be opened: {error.strerror}") from error
        self._numbers = Lines(self._file, path)
        self._lines = iter(self._numbers)
        self._decoder = msgspec.json.Decoder(Line)
        try:
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
        """Close the file."""
        self._file.close()

    @property
    def ending(self) -> Ending:
        """How the recording ends.

        Raises:
            RuntimeError: it has not been read to its end yet.
        """
        if self._ending is None:
            raise RuntimeError("the end of the recording has not been read yet")
        return self._ending

    def __iter__(self) -> Iterator[AnyEvent]:
        newest_ns = 0
        while (text := self._next_line()) is not None:
            line = self._decode(text)
            if isinstance(line, TokenBatch) and (fault := disorder(line)):
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
        self._ending = Ending("cut off", self._events, self._numbers.number, newest_ns)

    def _read_header(self) -> Header:
        line = self._next_line()
        if line is None and self._numbers.rest is None:
            raise RecordingError(self.path, "the file is empty")
        return decode_header(line or self._numbers.rest or b"", self.path)

    def _next_line(self) -> bytes | None:
        try:
            return next(self._lines, None)
        except OSError as error:
            raise RecordingError(
                self.path, f"cannot be read: {error.strerror}", self._numbers.number
            ) from error

    def _decode(self, text: bytes) -> Line:
        try:
            return self._decoder.decode(text)
        except DECODE_ERRORS as error:
            raise self._error(f"not an event: {error}") from error

    def _end(self, end: End) -> None:
        if self._next_line() is not None or self._numbers.rest:
            raise RecordingError(self.path, "goes on after its end marker", self._numbers.number)
        self._ending = Ending(end.reason, self._events, self._numbers.number, end.t_ns, end.lost)

    def _error(self, problem: str) -> RecordingError:
        return RecordingError(self.path, problem, self._numbers.number)
