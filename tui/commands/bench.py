"""The verb `bench`: the controlled experiment, without a screen."""

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from idlegap.tui.commands.base import UsageError
from idlegap.tui.commands.metrics_option import Address, add_metrics, metrics_from
from idlegap.tui.commands.output import add_json, check_stdout, deliver, text_width
from idlegap.tui.commands.recording_option import RecordOptions, add_record, json_target, record_from
from idlegap.tui.commands.workload import add_workload, settings_from
from idlegap.tui.exit_codes import ExitCode

if TYPE_CHECKING:
    from idlegap.core.protocol.settings import Settings
    from idlegap.tui.commands.measuring import Connect

HELP = "measure all modes in turns: the table, the speed-ups with their intervals, and what follows"

MOST_RUNS = 1_000_000


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What `bench` was asked for. `json` and `metrics` are None where they were not asked for."""

    settings: "Settings"
    runs: int
    json: Path | None = None
    record: RecordOptions = field(default_factory=RecordOptions)
    metrics: Address | None = None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench`."""
    add_workload(parser, measured=True)
    how = parser.add_argument_group("how to measure")
    how.add_argument(
        "--runs", type=int, metavar="N", help="counted runs of each mode, after a warm-up (default 5)"
    )
    out = parser.add_argument_group("what to pass on")
    add_json(out, "all raw samples")
    add_record(out)
    add_metrics(out)


def options_from(arguments: argparse.Namespace) -> BenchOptions:
    """The options, checked.

    Raises:
        UsageError: for what cannot work.
    """
    from idlegap.core.bench.plan import DEFAULT_RUNS

    runs = DEFAULT_RUNS if arguments.runs is None else arguments.runs
    if runs < 1:
        raise UsageError(f"--runs {runs}: must be at least 1")
    if runs > MOST_RUNS:
        raise UsageError(f"--runs {runs}: must be at most {MOST_RUNS:,}")
    record = record_from(arguments)
    return BenchOptions(
        settings_from(arguments),
        runs,
        json_target(arguments, record),
        record,
        metrics_from(arguments),
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; the exit code.

    Raises:
        UsageError: for options that cannot work, or a result that cannot be written.
    """
    options = options_from(arguments)
    check_stdout(options.json)
    from idlegap.tui.commands.measuring import connect

    return bench(options, connect)


def bench(options: BenchOptions, connect: "Connect") -> int:
    """`run` over the engine that `connect` gives."""
    from idlegap.core.bench.plan import BenchPlan, arms_for
    from idlegap.core.results.store import BENCH
    from idlegap.tui.commands.measuring import exit_code, take
    from idlegap.tui.commands.signals import StopSignals
    from idlegap.tui.tables.bench import bench_text

    plan = BenchPlan(arms_for(options.settings.modes), runs=options.runs)
    with StopSignals() as stop:
        outcome = take(options.settings, plan, connect, stop, options.record, options.metrics)
        result = outcome.result
        if result is not None:
            deliver(BENCH, result, bench_text(result, text_width()), options.json)
    code = exit_code(outcome, stop)
    if code == ExitCode.DONE and result is not None and all(arm.refused for arm in result.arms):
        return ExitCode.UNSUPPORTED
    return code
