"""The verb `compare`: results side by side, or one of them printed again."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from idlegap.core.text.sanitize import printable
from idlegap.tui.commands.base import UsageError
from idlegap.tui.commands.output import (
    STDOUT,
    emit,
    emit_text,
    refuse_same,
    save,
    say,
    target_file,
    text_width,
)
from idlegap.tui.exit_codes import ExitCode

if TYPE_CHECKING:
    from idlegap.core.compare.machines import Machine
    from idlegap.core.results.store import Result

HELP = "put results of bench and check into one table over machines, or print one of them again"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `compare`."""
    parser.add_argument(
        "results",
        nargs="+",
        metavar="RESULT.json",
        help="what bench or check has written; all are compared with the first; one alone is "
        "printed again: a bench computed anew, a check as it was judged then",
    )
    parser.add_argument(
        "--svg",
        metavar="FILE|-",
        help="draw decode rate over bandwidth (needs the extra 'report') into FILE, which is replaced if it "
        "is there already, or to stdout (-) with nothing else there",
    )


def run(arguments: argparse.Namespace) -> int:
    """Read all results and print the comparison.

    Raises:
        UsageError: the plot cannot be drawn or written.
    """
    if "" in arguments.results:
        raise UsageError("RESULT.json '': names no file")
    paths = [Path(name) for name in arguments.results]
    target = target_file("--svg", arguments.svg)
    refuse_same("--svg", target, paths, "one of the results")
    from idlegap.core.compare.machines import machine
    from idlegap.core.results.store import benchmark
    from idlegap.tui.tables.compare import compare_text

    found, errors = _read(paths)
    if errors:
        for error in errors:
            say(error)
        return ExitCode.USAGE
    machines = [machine(benchmark(result)) for _, result in found]
    if target == STDOUT:
        emit(_plot(machines))
        return ExitCode.DONE
    text = _own_text(found[0][1]) if len(found) == 1 else None
    emit_text(text or compare_text(machines, text_width()) + _files(found))
    if target is not None:
        save(_plot(machines), target)
        say(f"written to {target}")
    return ExitCode.DONE


def _plot(machines: "list[Machine]") -> bytes:
    from idlegap.tui.tables.svg_plot import PlotError, svg

    try:
        return svg(machines)
    except PlotError as error:
        raise UsageError(str(error)) from error


def _read(
    paths: "list[Path]",
) -> "tuple[list[tuple[Path, Result]], list[str]]":
    """The results, and an error line for each file without one."""
    from idlegap.core.results.store import ResultError, read_whole

    found, errors = [], []
    for path in paths:
        try:
            found.append((path, read_whole(path)))
        except ResultError as error:
            errors.append(str(error))
    return found, errors


def _own_text(result: "Result") -> str | None:
    """What `bench` prints of it, computed anew from its samples, or the card of `check` as it was
    judged then; None for figures of a publication, which have no text of their own."""
    from idlegap.core.bench.schema import BenchResult
    from idlegap.core.check.check import CheckResult
    from idlegap.tui.tables.bench import bench_text
    from idlegap.tui.tables.check import check_text

    if isinstance(result, CheckResult):
        return check_text(result)
    return bench_text(result, text_width()) if isinstance(result, BenchResult) else None


def _files(found: "list[tuple[Path, Result]]") -> str:
    """Which row is which file, when it was measured, and whether the run was complete."""
    from idlegap.core.results.store import benchmark

    lines = ["", "files:"]
    for number, (path, whole) in enumerate(found, 1):
        result = benchmark(whole)
        when = getattr(result, "created", "published figures")
        reason = getattr(result, "reason", "")
        state = f", INCOMPLETE ({reason})" if reason else ""
        lines.append(printable(f"{number:>2}  {path}: {when}{state}"))
    return "\n".join(lines) + "\n"
