"""Where things go: results to stdout or into a file, everything else to stderr."""

import argparse
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tui.verbs.base import PROGRAM, UsageError

if TYPE_CHECKING:
    from msgspec import Struct

STDOUT = Path("-")


def add_json(options: argparse._ActionsContainer, what: str) -> None:
    """Add ``--json`` to a parser or a group of it; `what` is what the document holds."""
    options.add_argument(
        "--json",
        metavar="FILE|-",
        help=f"write {what} as JSON to FILE, or to stdout (-) with nothing else there",
    )


def target_file(option: str, text: str | None) -> Path | None:
    """Where `option` wants a file, checked before any work is done for it.

    Raises:
        UsageError: no file can be written there.
    """
    if text is None or text == str(STDOUT):
        return None if text is None else STDOUT
    path = Path(text)
    if not text or path.is_dir():
        raise UsageError(f"{option} {text}: names no file")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {text}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{option} {text}: the folder {path.parent} cannot be written to")
    return path


def deliver(kind: str, result: "Struct", text: str, target: Path | None) -> None:
    """Write `result` to `target` as a file of `kind`, and its `text` to stdout unless `target`
    is stdout. The file comes first: it must outlive a terminal that has gone.

    Raises:
        UsageError: one of both cannot be written.
    """
    from core.bench.store import ResultError, encode, write

    if target == STDOUT:
        emit(encode(kind, result))
        return
    failed: ResultError | None = None
    if target is not None:
        try:
            write(target, kind, result)
        except ResultError as error:
            failed = error
    emit(text.encode(sys.stdout.encoding, "replace"))
    if failed is not None:
        raise UsageError(str(failed)) from failed
    if target is not None:
        say(f"written to {target}")


def emit(data: bytes) -> None:
    """Write `data` to stdout at once. A reader that has gone (``| head``) has seen enough.

    Raises:
        UsageError: stdout cannot be written.
    """
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except OSError as error:
        # The interpreter would fail once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise UsageError(f"stdout cannot be written: {error.strerror}") from error


def say(text: str) -> None:
    """Tell the user something on stderr; without one there is nobody to tell."""
    with suppress(OSError):
        print(f"{PROGRAM}: {text}", file=sys.stderr, flush=True)


def text_width() -> int:
    """Columns for text on stdout: the terminal's as far as lines stay readable, or 80."""
    from core.analysis.table import WIDE

    return min(shutil.get_terminal_size().columns, WIDE)
