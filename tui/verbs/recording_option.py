"""The options `--record` and `--record-max`, the same in every verb that can record itself."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from tui.verbs.base import UsageError
from tui.verbs.file_size import parse_size

FILE, MOST = "--record", "--record-max"
DEFAULT_MOST = "1G"
DEFAULT_MAX_BYTES = parse_size(MOST, DEFAULT_MOST)


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """Where to record; `file` is None where nobody asked for it. No recording gets larger than
    `max_bytes`: it then ends with a mark that says so, and what is recorded goes on."""

    file: Path | None = None
    max_bytes: int = DEFAULT_MAX_BYTES


def add_record(options: argparse._ActionsContainer) -> None:
    """Add both options to a parser or a group of it."""
    options.add_argument(
        FILE, type=Path, metavar="FILE", help="record all events into a new file; gzip if it ends in .gz"
    )
    options.add_argument(
        MOST,
        default=DEFAULT_MOST,
        metavar="SIZE",
        help=f"no recording gets larger, for example 500M (default {DEFAULT_MOST})",
    )


def record_from(arguments: argparse.Namespace) -> RecordOptions:
    """What was asked for.

    Raises:
        UsageError: a limit that is no size, or too low for what describes the machine.
    """
    # Nothing to check, and so nothing to load before the first frame.
    if arguments.record_max == DEFAULT_MOST:
        return RecordOptions(arguments.record)
    from core.recording.sink import LEAST_BYTES

    size = parse_size(MOST, arguments.record_max)
    if size < LEAST_BYTES:
        raise UsageError(f"{MOST} {arguments.record_max}: must be at least {LEAST_BYTES:,} bytes")
    return RecordOptions(arguments.record, size)
