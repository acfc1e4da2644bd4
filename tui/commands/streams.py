"""The three standard streams, of which a shell may have closed any."""

import fcntl
import os
import sys
from pathlib import Path

from idlegap.tui.commands.base import UsageError

_STANDARD = (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))
"""A closed stdout must fail where it is written to, so it is opened for reading alone. What is said
on a closed stderr is for nobody, and is lost."""


def fill_closed() -> None:
    """Put something in the place of closed streams. Otherwise the next file that is opened, a
    result or a recording, would be called stdout, and Python would have no stream at all."""
    for name, flags, mode in _STANDARD:
        if getattr(sys, name) is None:
            fd = os.open(os.devnull, flags)
            setattr(sys, name, os.fdopen(fd, mode, encoding="utf-8", closefd=False))


def check_stdout(target: Path | None) -> None:
    """What is measured for minutes needs a place: the file `target`, or else (None, ``-``) stdout.

    Raises:
        UsageError: there is neither.
    """
    only_readable = fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    if only_readable and target in (None, Path("-")):
        raise UsageError("stdout is closed: there is no place for the result; --json FILE makes one")
