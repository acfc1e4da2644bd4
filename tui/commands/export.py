"""The verb `export`: the tokens of a recording as a table."""

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from idlegap.tui.commands.base import UsageError
from idlegap.tui.commands.output import STDOUT, give_up_stdout, say, target_file
from idlegap.tui.commands.recording_option import add_recording, recording_path
from idlegap.tui.commands.signals import raised
from idlegap.tui.exit_codes import ExitCode, signal_code

if TYPE_CHECKING:
    from idlegap.core.export.token_table import ExportSummary

HELP = "write the tokens of a recording as CSV or Parquet"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `export`."""
    add_recording(parser)
    form = parser.add_mutually_exclusive_group(required=True)
    form.add_argument("--csv", action="store_true", help="one row per token, units in the column names")
    form.add_argument("--parquet", action="store_true", help="the same (needs the extra 'parquet')")
    parser.add_argument(
        "-o",
        "--output",
        default=str(STDOUT),
        metavar="FILE",
        help="a new file (default for CSV: -, which is stdout)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the table; exit code 0, or that of SIGPIPE where the reader has gone.

    Raises:
        UsageError: the recording cannot be read, the table not be written, or the extra is not
            installed.
        KeyboardInterrupt: ctrl+c came meanwhile; no unfinished file is left.
    """
    output = target_file("-o", arguments.output, new=True) or STDOUT
    if arguments.parquet and output == STDOUT:
        raise UsageError("--parquet is not for a terminal or a pipe: name a new file with -o FILE")
    with recording_path(arguments.file) as path, raised():
        to_stdout = output == STDOUT
        summary = _to_stdout(path) if to_stdout else _to_file(path, output, parquet=arguments.parquet)
    if summary is None:
        return signal_code(signal.SIGPIPE)
    place = "" if output == STDOUT else f" to {output}"
    ending = f"; {summary.ending.text}" if summary.ending.text else ""
    say(f"wrote {summary.rows:,} tokens{place}{ending}")
    return ExitCode.DONE


def _to_file(recording: Path, output: Path, *, parquet: bool) -> "ExportSummary":
    from idlegap.core.export.token_table import export_csv_file, export_parquet
    from idlegap.core.system.files import FileError

    try:
        return (export_parquet if parquet else export_csv_file)(recording, output)
    except FileError as error:
        raise UsageError(str(error)) from error


def _to_stdout(recording: Path) -> "ExportSummary | None":
    """The table as CSV; None if its reader has gone."""
    from idlegap.core.export.token_table import export_csv

    try:
        summary = export_csv(recording, sys.stdout)
        sys.stdout.flush()
    except OSError as error:
        give_up_stdout(error)
        return None
    return summary
