"""What all verbs share: the error for a request that cannot work, and the terminal's check."""

import os
from collections.abc import Mapping

PROGRAM = "idlegap"


class UsageError(Exception):
    """The request cannot work; the message says what is wrong and what would work."""


def check_terminal(instead: str, environment: Mapping[str, str] | None = None) -> None:
    """A screen needs a terminal to read keys from and one to draw on; `instead` is the
    command line that needs none.

    Raises:
        UsageError: where there is none.
    """
    for stream, fd in (("stdin", 0), ("stdout", 1)):
        if not os.isatty(fd):
            raise UsageError(
                f"{stream} is not a terminal, and the live screen needs one; over ssh, add the "
                f"option -t; {PROGRAM} {instead} works without one"
            )
    if (os.environ if environment is None else environment).get("TERM", "") in ("", "dumb"):
        raise UsageError(
            "this terminal (TERM=dumb) cannot place a cursor; try TERM=xterm-256color if yours can"
        )
