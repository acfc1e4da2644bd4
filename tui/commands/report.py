"""The verb `report`: a recording as one HTML page."""

import argparse
import os

from idlegap.tui.commands.base import UsageError
from idlegap.tui.commands.output import STDOUT, emit, refuse_same, save, say, target_file
from idlegap.tui.commands.recording_option import add_recording, recording_path
from idlegap.tui.exit_codes import ExitCode

HELP = "write a recording as an HTML page to send around"
DEFAULT_OUTPUT = "report.html"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `report`."""
    add_recording(parser)
    parser.add_argument(
        "-o",
        "--output",
        default=DEFAULT_OUTPUT,
        metavar="HTML|-",
        help=f"the page; an older one there is replaced (default {DEFAULT_OUTPUT}); - is stdout",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the page; exit code 0.

    Raises:
        UsageError: the recording cannot be read, the page not be written, or the extra is not
            installed.
    """
    output = target_file("-o", arguments.output) or STDOUT
    if output == STDOUT and os.isatty(1):
        raise UsageError("-o -: a page is not for a terminal: name a file, or pipe it on")
    from idlegap.core.report import ReportError, report_page

    with recording_path(arguments.file) as path:
        refuse_same("-o", output, [path], "the recording itself")
        try:
            page = report_page(path)
        except ReportError as error:
            raise UsageError(str(error)) from error
    if output == STDOUT:
        emit(page)
    else:
        save(page, output)
        say(f"written to {output}")
    return ExitCode.DONE
