"""Files of the user: read only where they can be, and written whole or not at all."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

NOT_REGULAR = "not a regular file: copy it into one first"


class FileError(ValueError):
    """A file cannot be used; the message is one line and names it."""


def open_input(path: Path, *, pipe: bool = False) -> BufferedReader:
    """Open a regular file to read. A reader that goes through it once can take a `pipe` too; one
    that no one writes into is then empty, instead of a wait without end.

    Raises:
        OSError: it cannot be opened, or is something else; `strerror` says which.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not (stat.S_ISREG(mode) or (pipe and stat.S_ISFIFO(mode))):
        raise OSError(errno.EINVAL, NOT_REGULAR)
    return os.fdopen(_open_at_once(path, os.O_RDONLY), "rb")


@contextmanager
def whole_file(path: Path, *, new: bool = False) -> Iterator[BinaryIO]:
    """A file to write into that becomes `path` when the context ends well; until then, and if it
    does not, `path` is as it was. Links are followed, and an older file there is replaced unless
    it must be `new`. What is there but no regular file (a device, a pipe) is written into.

    Raises:
        FileError: `path` cannot be written. Within the context, any OSError counts as that.
    """
    try:
        real = _replaced(path, new=new)
        if real is None:
            with os.fdopen(_open_at_once(path, os.O_WRONLY), "wb") as out:
                yield out
            return
        partial = _beside(real)
        try:
            with partial.open("rb+") as out:
                _keep_mode(real, out)
                yield out
            if new:
                # Fails if somebody else has taken the name meanwhile.
                real.touch(exist_ok=False)
            partial.replace(real)
        except BaseException:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _unwritable(path, error) from error


def check_target(path: Path, *, new: bool = False) -> None:
    """Find out now what would keep `whole_file` from writing later.

    Raises:
        FileError: `path` cannot be written.
    """
    try:
        real = _replaced(path, new=new)
        if real is not None:
            # Only trying tells: rights alone know nothing of quotas and read-only mounts.
            _beside(real).unlink()
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _unwritable(path, error) from error


def same_file(one: Path, other: Path) -> bool:
    """Whether both name the same file, be it there or not."""
    try:
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _replaced(path: Path, *, new: bool) -> Path | None:
    """The name that a whole file takes, links followed; None for what can only be written into."""
    real = Path(os.path.realpath(path)) if path.is_symlink() else path
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if real.parent.is_dir():
            return real
        raise OSError(errno.ENOENT, f"there is no folder {real.parent}") from None
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "it is a folder: name a file in it")
    # An open file that has lost its name is a regular one without a place to put another.
    if not stat.S_ISREG(mode) or not real.exists():
        return None
    if new:
        raise OSError(errno.EEXIST, "it exists already: name a new file")
    if not os.access(real, os.W_OK):
        raise OSError(errno.EACCES, "it is write-protected")
    return real


def _beside(real: Path) -> Path:
    """A new and empty file in the same folder, whose name is free."""
    partial = real.with_name(f".idlegap-{token_hex(8)}.partial")
    try:
        partial.touch(exist_ok=False)
    except OSError as error:
        what = f"no file can be made in {real.parent}: {error.strerror}"
        raise OSError(error.errno, what) from error
    return partial


def _keep_mode(real: Path, out: BinaryIO) -> None:
    """A file that was private stays so; a new one has what the umask leaves."""
    with suppress(OSError):
        os.fchmod(out.fileno(), stat.S_IMODE(real.stat().st_mode))


def _open_at_once(path: Path, flags: int) -> int:
    """Open without waiting for the other end of a pipe, then wait for its data as usual."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


def _unwritable(path: Path, error: OSError) -> FileError:
    # What the system answers for a pipe without a reader names a device.
    why = "nobody reads from it" if error.errno == errno.ENXIO else error.strerror or str(error)
    return FileError(f"{path}: cannot be written: {why}")
