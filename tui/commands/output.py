"""Where things go: results to stdout or into a file, everything else to stderr, of which a shell may have
closed any."""

import argparse
import errno
import fcntl
import os
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from idlegap.core.text.sanitize import printable_lines
from idlegap.tui.commands.base import PROGRAM, UsageError

if TYPE_CHECKING:
    from msgspec import Struct

STDOUT = Path("-")

_STANDARD = (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))
"""A closed stdout must fail where it is written to, so it is opened for reading alone. What is said
on a closed stderr is lost."""


def fill_closed() -> None:
    """Open /dev/null for each closed stream. Otherwise the next file to be opened, a result or a
    recording, would become stdout, and Python would have no stream object at all."""
    for name, flags, mode in _STANDARD:
        if getattr(sys, name) is None:
            fd = os.open(os.devnull, flags)
            setattr(sys, name, os.fdopen(fd, mode, encoding="utf-8", closefd=False))


def add_json(options: argparse._ActionsContainer, what: str) -> None:
    """Add ``--json`` to a parser or a group of it; `what` is what the document holds."""
    options.add_argument(
        "--json",
        metavar="FILE|-",
        help=f"write {what} as JSON to FILE, which is replaced if it is there already, or to stdout (-) "
        "with nothing else there",
    )


def target_file(option: str, text: str | None, *, new: bool = False) -> Path | None:
    """Where `option` wants a file, one that is not there yet if it must be `new`; checked before
    any work is done for it. STDOUT is ``-``, and whatever else names what stdout is.

    Raises:
        UsageError: no file can be written there.
    """
    from idlegap.core.system.files import FileError, check_target

    if text is None:
        return None
    if not text:
        raise UsageError(f"{option} '': names no file")
    path = Path(text)
    if path == STDOUT or _is_stdout(path):
        return STDOUT
    try:
        check_target(path, new=new)
    except FileError as error:
        raise UsageError(f"{option} {error}") from error
    return path


def check_stdout(target: Path | None) -> None:
    """A measurement takes minutes, so make sure first that its result has a place: the file `target`, or
    stdout where that is None or ``-``.

    Raises:
        UsageError: there is neither.
    """
    only_readable = fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    if only_readable and target in (None, STDOUT):
        raise UsageError("stdout is closed: there is no place for the result; --json FILE makes one")


def _is_stdout(path: Path) -> bool:
    """Text and document would overwrite each other if both went to the same file."""
    with suppress(OSError):
        return os.path.samestat(path.stat(), os.fstat(1))
    return False


def refuse_same(option: str, target: Path | None, others: Iterable[Path], what: str) -> None:
    """Refuse a `target` that would overwrite one of `others`, which `what` describes.

    Raises:
        UsageError: it is the same file as one of `others`.
    """
    from idlegap.core.system.files import same_file

    if target not in (None, STDOUT) and any(same_file(target, other) for other in others):
        raise UsageError(f"{option} {target}: that is {what}")


def deliver(kind: str, result: "Struct", text: str, target: Path | None) -> None:
    """Write `result` to `target` as a file of `kind`, and its `text` to stdout unless `target`
    is stdout. The file comes first: it must outlive a terminal that has gone.

    Raises:
        UsageError: one of them cannot be written.
    """
    from idlegap.core.results.store import encode

    document = encode(kind, result)
    if target == STDOUT:
        emit(document)
        return
    failed: UsageError | None = None
    if target is not None:
        try:
            save(document, target)
        except UsageError as error:
            failed = error
    emit_text(text)
    if failed is not None:
        raise failed
    if target is not None:
        say(f"written to {target}")


def save(data: bytes, target: Path) -> None:
    """Write `data` to `target`, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    from idlegap.core.system.files import FileError, whole_file

    try:
        with whole_file(target) as out:
            out.write(data)
    except FileError as error:
        raise UsageError(str(error)) from error


def emit_text(text: str) -> None:
    """Write `text` to stdout. What it quotes from a file cannot control the terminal.

    Raises:
        UsageError: stdout cannot be written.
    """
    emit(printable_lines(text).encode(sys.stdout.encoding, "replace"))


def emit(data: bytes) -> None:
    """Write `data` to stdout at once. A reader that has gone (``| head``) has seen enough.

    Raises:
        UsageError: stdout cannot be written.
    """
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except OSError as error:
        give_up_stdout(error)


def give_up_stdout(error: OSError) -> None:
    """Write nothing more to stdout after `error`. A reader that has gone is no fault.

    Raises:
        UsageError: any other error.
    """
    # The interpreter would fail once more when it flushes at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        why = "it is closed" if error.errno == errno.EBADF else error.strerror
        raise UsageError(f"stdout cannot be written: {why}") from error


def say(text: str) -> None:
    """Say something on stderr, if it can be written."""
    with suppress(OSError):
        print(f"{PROGRAM}: {printable_lines(text)}", file=sys.stderr, flush=True)


def text_width() -> int:
    """Columns for text on stdout: the terminal's as far as lines stay readable, or 80."""
    from idlegap.tui.tables.layout import WIDE

    return min(shutil.get_terminal_size().columns, WIDE)
