"""Recordings on the command line: the one that a verb reads, and the one that it writes."""

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from idlegap.tui.commands.base import UsageError
from idlegap.tui.commands.output import refuse_same, target_file

DEMO = "demo"
_DEMO_PACKAGE, _DEMO_FILE = "idlegap.core.recording", "demo.jsonl.gz"

FILE, MOST = "--record", "--record-max"
DEFAULT_MOST = "1G"

_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMG]?)B?", re.IGNORECASE)
_FACTORS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}

_MOST = 1e18


def add_recording(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a recording."""
    parser.add_argument(
        "file",
        metavar=f"FILE|{DEMO}",
        help=f"a recording; {DEMO} is one of an H200 that idlegap brings along",
    )


@contextmanager
def recording_path(name: str) -> Iterator[Path]:
    """The path of the recording called `name`, for as long as the context lasts. A bad
    recording is a usage error.

    Raises:
        UsageError: the name is empty, or the recording turns out to be unreadable in the context.
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


def parse_size(option: str, text: str) -> int:
    """Bytes of ``500M``, ``1.5GB`` or ``250000``; K, M and G are decimal.

    Raises:
        UsageError: naming `option`, for anything else.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{option} {text}: expected a size such as 500M or 1.5G")
    size = float(found[1]) * _FACTORS[found[2].upper()]
    if size > _MOST:
        raise UsageError(f"{option} {text}: more than any disk holds")
    return round(size)


DEFAULT_MAX_BYTES = parse_size(MOST, DEFAULT_MOST)


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """Where to record; `file` is None where it was not asked for. No recording gets larger than
    `max_bytes`: it then ends with a mark that says so, and what is recorded goes on."""

    file: Path | None = None
    max_bytes: int = DEFAULT_MAX_BYTES


def add_record(options: argparse._ActionsContainer) -> None:
    """Add both options to a parser or a group of it."""
    options.add_argument(
        FILE, metavar="FILE", help="record all events into a new file; gzip if it ends in .gz"
    )
    options.add_argument(
        MOST,
        metavar="SIZE",
        help=f"no recording gets larger, for example 500M (default {DEFAULT_MOST})",
    )


def record_from(arguments: argparse.Namespace, *, by_key: bool = False) -> RecordOptions:
    """What was asked for; with `by_key` a key can start a recording later, so a limit alone is allowed.

    Raises:
        UsageError: a bad name, a limit without a recording, a limit that is no size or too small
            for the description of the machine.
    """
    name = arguments.record
    if name in ("", "-"):
        raise UsageError(f"{FILE} {name or repr(name)}: names no file, which a recording needs")
    file = Path(name) if name is not None else None
    # Nothing to check, and so nothing to load before the first frame.
    if arguments.record_max is None:
        return RecordOptions(file)
    from idlegap.core.recording.writer import LEAST_BYTES

    size = parse_size(MOST, arguments.record_max)
    if size < LEAST_BYTES:
        raise UsageError(f"{MOST} {arguments.record_max}: must be at least {LEAST_BYTES:,} bytes")
    if file is None and not by_key:
        raise UsageError(f"{MOST} {arguments.record_max}: nothing is recorded without {FILE} FILE")
    return RecordOptions(file, size)


def json_target(arguments: argparse.Namespace, record: RecordOptions) -> Path | None:
    """Where ``--json`` goes beside the recording `record`.

    Raises:
        UsageError: no file can be written there, or both are the same file.
    """
    target = target_file("--json", arguments.json)
    if record.file is not None:
        refuse_same("--json", target, [record.file], f"the file of {FILE}")
    return target
