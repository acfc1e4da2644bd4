"""The verb `export`: the tokens of a recording as a table."""

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tui.exit_codes import ExitCode, signal_code
from tui.interrupts import raised
from tui.verbs.base import UsageError
from tui.verbs.recording_file import add_recording, recording_path

if TYPE_CHECKING:
    from core.export import ExportSummary

HELP = "write the tokens of a recording as CSV or Parquet"
STDOUT = "-"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `export`."""
    add_recording(parser)
    form = parser.add_mutually_exclusive_group(required=True)
    form.add_argument("--csv", action="store_true", help="one row per token, units in the column names")
    form.add_argument("--parquet", action="store_true", help="the same (needs the extra 'parquet')")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="a new file (default for CSV: -, which is stdout)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the table; exit code 0, or that of SIGPIPE where its reader has had enough.

    Raises:
        UsageError: the recording cannot be read, the table not be written, or the extra is not
            installed.
        KeyboardInterrupt: ctrl+c came meanwhile; no unfinished file is left.
    """
    output = arguments.output or STDOUT
    if arguments.parquet and output == STDOUT:
        raise UsageError("--parquet is not for a terminal or a pipe: name a new file with -o FILE")
    with recording_path(arguments.file) as path:
        try:
            with raised():
                summary = _export(path, output, parquet=arguments.parquet)
        except OSError as error:
            # What is left in the buffer cannot be written either: it must not fail again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):
                return signal_code(signal.SIGPIPE)
            raise UsageError(f"stdout: cannot be written: {error.strerror}") from error
    place = "" if output == STDOUT else f" to {output}"
    ending = f"; {summary.ending.text}" if summary.ending.text else ""
    print(f"idlegap: wrote {summary.rows:,} tokens{place}{ending}", file=sys.stderr)
    return ExitCode.DONE


def _export(recording: Path, output: str, *, parquet: bool) -> "ExportSummary":
    from core.export import ExportError, export_csv, export_parquet

    if parquet:
        try:
            return export_parquet(recording, Path(output))
        except ExportError as error:
            raise UsageError(str(error)) from error
    if output == STDOUT:
        summary = export_csv(recording, sys.stdout)
        sys.stdout.flush()
        return summary
    return _export_csv_file(recording, Path(output))


def _export_csv_file(recording: Path, path: Path) -> "ExportSummary":
    """Write a new file; nothing is left there if that fails."""
    from core.export import export_csv

    try:
        out = path.open("x", newline="", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        with out:
            return export_csv(recording, out)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
        raise
