"""The verb `compare`: results side by side."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tui.exit_codes import ExitCode
from tui.verbs.base import PROGRAM, UsageError
from tui.verbs.output import emit, target_file, text_width

if TYPE_CHECKING:
    from core.bench.schema import BenchResult, PublishedFigures

HELP = "put results of bench and check into one table over machines"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `compare`."""
    parser.add_argument(
        "results",
        nargs="+",
        type=Path,
        metavar="RESULT.json",
        help="what bench or check has written; all are compared with the first",
    )
    parser.add_argument(
        "--svg", metavar="FILE", help="draw decode rate over bandwidth (needs the extra 'report')"
    )


def run(arguments: argparse.Namespace) -> int:
    """Read all results and print the comparison.

    Raises:
        UsageError: the plot cannot be written.
    """
    svg = target_file("--svg", arguments.svg)
    from core.analysis.compare_text import compare_text
    from core.analysis.machines import machine
    from core.bench.plot import write_svg
    from core.bench.store import ResultError

    found, errors = _read(arguments.results)
    if errors:
        for error in errors:
            print(f"{PROGRAM}: {error}", file=sys.stderr)
        return ExitCode.USAGE
    machines = [machine(str(path), result) for path, result in found]
    text = compare_text(machines, text_width()) + _files(found)
    emit(text.encode(sys.stdout.encoding, "replace"))
    if svg is not None:
        try:
            write_svg(machines, svg)
        except ResultError as error:
            raise UsageError(str(error)) from error
    return ExitCode.DONE


def _read(
    paths: "list[Path]",
) -> "tuple[list[tuple[Path, BenchResult | PublishedFigures]], list[str]]":
    """The results, and one line for each file that holds none."""
    from core.bench.store import ResultError, read

    found, errors = [], []
    for path in paths:
        try:
            found.append((path, read(path)))
        except ResultError as error:
            errors.append(str(error))
    return found, errors


def _files(found: "list[tuple[Path, BenchResult | PublishedFigures]]") -> str:
    """Which row is which file, when it was measured, and whether it was to the end."""
    lines = ["", "files:"]
    for number, (path, result) in enumerate(found, 1):
        when = getattr(result, "created", "published figures")
        reason = getattr(result, "reason", "")
        lines.append(f"{number:>2}  {path}: {when}{f', INCOMPLETE ({reason})' if reason else ''}")
    return "\n".join(lines) + "\n"
