"""The verb `check`: is this machine any good?"""

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from idlegap.tui.commands.base import UsageError
from idlegap.tui.commands.output import add_json, check_stdout, deliver
from idlegap.tui.commands.recording_option import RecordOptions, add_record, json_target, record_from
from idlegap.tui.commands.workload import add_machine, settings_from
from idlegap.tui.exit_codes import ExitCode

if TYPE_CHECKING:
    from idlegap.core.protocol.settings import Settings
    from idlegap.tui.commands.measuring import Connect

HELP = "say within a minute whether this machine is any good for decoding"

MOST_SECONDS = 86_400

EXIT_CODES = (
    "Exit code: 0 this machine is good, 1 it is not, 3 there is no GPU here to judge (or torch cannot use "
    "it), 2 the request cannot work, 4 the engine failed."
)


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What `check` was asked for. `json` is None where it was not asked for."""

    settings: "Settings"
    seconds: float
    json: Path | None = None
    record: RecordOptions = field(default_factory=RecordOptions)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    parser.epilog = EXIT_CODES
    add_machine(parser)
    how = parser.add_argument_group("how to measure")
    how.add_argument("--seconds", type=float, metavar="S", help="how long it may take, roughly (default 60)")
    out = parser.add_argument_group("what to pass on")
    add_json(out, "the card with all raw samples")
    add_record(out)


def options_from(arguments: argparse.Namespace) -> CheckOptions:
    """The options, checked.

    Raises:
        UsageError: for what cannot work.
    """
    import msgspec

    from idlegap.core.check.check import CHECK_NEW_TOKENS, CHECK_SECONDS

    seconds = CHECK_SECONDS if arguments.seconds is None else arguments.seconds
    if not 0 < seconds <= MOST_SECONDS:
        raise UsageError(
            f"--seconds {seconds:g}: must be above 0 and at most {MOST_SECONDS:,}, which is a day"
        )
    settings = msgspec.structs.replace(settings_from(arguments), new_tokens=CHECK_NEW_TOKENS)
    record = record_from(arguments)
    return CheckOptions(settings, seconds, json_target(arguments, record), record)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print the card; 0 good, 1 not good, 3 no GPU.

    Raises:
        UsageError: for options that cannot work, or a result that cannot be written.
    """
    options = options_from(arguments)
    check_stdout(options.json)
    from idlegap.tui.commands.measuring import connect

    return check(options, connect)


def check(options: CheckOptions, connect: "Connect") -> int:
    """`run` over the engine that `connect` gives."""
    from idlegap.core.check.check import check_plan, judge
    from idlegap.core.results.store import CHECK
    from idlegap.tui.commands.measuring import exit_code, take
    from idlegap.tui.commands.signals import StopSignals
    from idlegap.tui.tables.check import check_text

    verdict = None
    with StopSignals() as stop:
        outcome = take(options.settings, check_plan(options.seconds), connect, stop, options.record)
        if outcome.result is not None:
            judged = judge(outcome.result)
            verdict = judged.card.verdict
            deliver(CHECK, judged, check_text(judged), options.json)
    code = exit_code(outcome, stop)
    if code != ExitCode.DONE or verdict == "good":
        return code
    return ExitCode.UNSUPPORTED if verdict == "no GPU" else ExitCode.NEGATIVE
