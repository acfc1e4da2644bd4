"""The file that a recording goes to, plain or gzip, never larger than it may be."""

import zlib
from pathlib import Path

from idlegap.core.recording.format import RecordingError

TAIL_BYTES = 1024
"""Kept free for the end marker and gzip's trailer."""

LEAST_BYTES = 256 << 10
"""A smaller limit would not hold what describes the machine."""

_GZIP = 16 + zlib.MAX_WBITS


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
