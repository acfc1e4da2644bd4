"""The recording that a verb was given: a file, or the one that idlegap brings along."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from idlegap.tui.commands.base import UsageError

DEMO = "demo"
_DEMO_PACKAGE, _DEMO_FILE = "idlegap.core.recording", "demo.jsonl.gz"


def add_recording(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a recording."""
    parser.add_argument(
        "file",
        metavar=f"FILE|{DEMO}",
        help=f"a recording; {DEMO} is one of an H200 that idlegap brings along",
    )


@contextmanager
def recording_path(name: str) -> Iterator[Path]:
    """The path of the recording called `name`, for as long as the context lasts. A recording
    that is wrong is a request that cannot work.

    Raises:
        UsageError: the name is empty, or whoever uses the path finds the recording to be unreadable.
    """
    if not name:
        raise UsageError("FILE '': names no recording")
    from idlegap.core.recording import RecordingError

    try:
        if name != DEMO:
            yield Path(name)
            return
        from importlib.resources import as_file, files

        with as_file(files(_DEMO_PACKAGE) / _DEMO_FILE) as path:
            yield path
    except RecordingError as error:
        raise UsageError(str(error)) from error
