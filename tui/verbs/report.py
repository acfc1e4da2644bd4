"""The verb `report`: a recording as one HTML page."""

import argparse
import sys
from pathlib import Path

from tui.exit_codes import ExitCode
from tui.verbs.base import UsageError
from tui.verbs.recording_file import add_recording, recording_path

HELP = "write a recording as an HTML page to send around"
DEFAULT_OUTPUT = Path("report.html")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `report`."""
    add_recording(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=DEFAULT_OUTPUT,
        metavar="HTML",
        help=f"the page; an older one there is replaced (default {DEFAULT_OUTPUT})",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the page; exit code 0.

    Raises:
        UsageError: the recording cannot be read, the page not be written, or the extra is not
            installed.
    """
    from core.report import ReportError, write_report

    with recording_path(arguments.file) as path:
        if arguments.output.exists() and path.exists() and arguments.output.samefile(path):
            raise UsageError(f"-o {arguments.output}: that is the recording itself")
        try:
            write_report(path, arguments.output)
        except ReportError as error:
            raise UsageError(str(error)) from error
    print(f"idlegap: wrote {arguments.output}", file=sys.stderr)
    return ExitCode.DONE
