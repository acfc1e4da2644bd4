"""Lines of a plain or gzip file, in bounded memory whatever the file holds.

How far packed data may expand has no limit of its own: of a line, `MAX_LINE_BYTES` at most are
unpacked before it is refused, lines pass one at a time, and text made to expand is most likely no
event and so ends the reading at its first line. Sound lines that were packed a thousandfold cost the
time that reading them takes, as in a plain file.
"""

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from idlegap.core.recording.format import MAX_LINE_BYTES, RecordingError

_GZIP_FIRST_BYTE = b"\x1f"
"""No recording begins with this control character."""


class Lines:
    """Iterates over the lines of `file` with their newlines; `number` is the current one.

    A last line without a newline is not yielded but kept in `rest`: the writer was cut off within
    it. `rest` is None where the last line is whole, and b"" where its bytes cannot be unpacked.
    Compressed data is recognised by its first byte, whatever the file's name.

    Raises (while iterating):
        RecordingError: damaged compression, or a line that is too long.
        OSError: the file cannot be read.
    """

    def __init__(self, file: BufferedReader, path: Path) -> None:
        self._file, self._path = file, path
        self.number = 0
        self.rest: bytes | None = None

    def __iter__(self) -> Iterator[bytes]:
        packed = self._file.peek(1)[:1] == _GZIP_FIRST_BYTE
        file = gzip.GzipFile(fileobj=self._file) if packed else self._file
        while line := self._read(file):
            if line.endswith(b"\n"):
                self.number += 1
                yield line
            elif len(line) > MAX_LINE_BYTES:
                self.number += 1
                raise RecordingError(self._path, f"longer than {MAX_LINE_BYTES >> 20} MiB", self.number)
            else:
                self.rest = line

    def _read(self, file: BufferedReader | gzip.GzipFile) -> bytes:
        try:
            return file.readline(MAX_LINE_BYTES + 1)
        except EOFError:
            # Whatever the killed writer had flushed was unpacked before this.
            self.rest = b""
            return b""
        except (gzip.BadGzipFile, zlib.error) as error:
            raise RecordingError(self._path, f"damaged gzip data ({error})", self.number + 1) from error
