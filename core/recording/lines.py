"""Lines of a plain or gzip file, in bounded memory whatever the file holds."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from idlegap.core.recording.format import MAX_LINE_BYTES, RecordingError

CHUNK_BYTES = 64 << 10
MAX_EXPANSION = 200
"""Recordings shrink to a twentieth; text made to expand reaches a thousand."""

FREE_BYTES = 16 << 20
"""A file may expand to this much whatever its size: it is nothing, and short files vary."""

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS


class Lines:
    """Iterates over the lines of `file` without their newlines; `number` is the current one.

    A last line without a newline is not yielded but kept in `rest`: the writer was cut off
    within it. Compressed data is recognised by its first bytes, whatever the file's name.

    Raises (while iterating):
        RecordingError: damaged compression, a line that is too long, or data made to expand.
    """

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self.number = 0
        self.rest = b""

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks():
            *whole, self.rest = (self.rest + chunk).split(b"\n")
            for line in whole:
                self.number += 1
                yield line
            if len(self.rest) > MAX_LINE_BYTES:
                self.number += 1
                raise self._error(f"longer than {MAX_LINE_BYTES >> 20} MiB")

    def _chunks(self) -> Iterator[bytes]:
        data = self._file.read(CHUNK_BYTES)
        if data.startswith(_GZIP_MAGIC):
            yield from self._unpacked(data)
            return
        while data:
            yield data
            data = self._file.read(CHUNK_BYTES)

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        """Unpack one gzip member after another, a bounded piece at a time."""
        unpacker = zlib.decompressobj(wbits=_GZIP)
        packed, unpacked = len(data), 0
        while data:
            try:
                piece = unpacker.decompress(data, CHUNK_BYTES)
            except zlib.error as error:
                raise self._error(f"damaged gzip data ({error})", ahead=1) from error
            unpacked += len(piece)
            if unpacked > FREE_BYTES + MAX_EXPANSION * packed:
                raise self._error(f"expands more than {MAX_EXPANSION}-fold: no recording does", ahead=1)
            yield piece
            data = unpacker.unconsumed_tail
            if unpacker.eof:
                data = unpacker.unused_data
                unpacker = zlib.decompressobj(wbits=_GZIP)
            if not data:
                data = self._file.read(CHUNK_BYTES)
                packed += len(data)

    def _error(self, problem: str, ahead: int = 0) -> RecordingError:
        return RecordingError(self._path, problem, self.number + ahead)
