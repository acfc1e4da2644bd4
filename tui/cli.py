"""The command line.

Only the verb that was asked for is imported, and nothing heavy before its options are known to be good.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from idlegap.core.text.sanitize import printable
from idlegap.tui.commands.base import PROGRAM, UsageError
from idlegap.tui.commands.output import emit_text, fill_closed, say
from idlegap.tui.commands.signals import INTERRUPTED, leave_at_once
from idlegap.tui.exit_codes import ExitCode

VERBS = ("live", "bench", "check", "compare", "replay", "report", "export", "serve", "doctor")
"""The modules of `tui.commands` by name, in the order in which help lists them."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def print_help(self, file: object = None) -> None:
        emit_text(self.format_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv`; the exit code. Without one it is the process's own, and so is
    ctrl+c."""
    if argv is None:
        leave_at_once()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        fill_closed()
        parsed = parse(arguments)
        code: int = parsed.run(parsed)
    except UsageError as error:
        say(printable(str(error)))
        return ExitCode.USAGE
    except KeyboardInterrupt:
        say(INTERRUPTED)
        return ExitCode.INTERRUPTED
    return code


def parse(arguments: list[str]) -> argparse.Namespace:
    """What was asked for; the verb may be left out. `run` of the result carries it out.

    Raises:
        UsageError: for what no verb understands.
        SystemExit: after ``--help`` and ``--version``.
    """
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version")):
        arguments = ["live", *arguments]
    asked = arguments[0]
    parsed, unknown = build_parser((asked,) if asked in VERBS else VERBS).parse_known_args(arguments)
    if unknown:
        # Not left to argparse, which would point to the list of verbs, where no option stands.
        raise UsageError(f"unrecognized arguments: {' '.join(unknown)} (see {PROGRAM} {parsed.verb} --help)")
    return parsed


def build_parser(names: Sequence[str] = VERBS) -> argparse.ArgumentParser:
    """The parser with these verbs and their options."""
    parser = _Parser(
        prog=PROGRAM,
        description="Shows how long the GPU idles for the host in each token that a language model decodes.",
        epilog=f"Without a verb, {PROGRAM} runs live; its options are listed by: {PROGRAM} live --help",
    )
    parser.add_argument("--version", action=_Version)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name in names:
        verb = import_module(f"idlegap.tui.commands.{name}")
        description = verb.HELP[0].upper() + verb.HELP[1:] + "."
        options = verbs.add_parser(name, help=verb.HELP, description=description, allow_abbrev=False)
        verb.configure(options)
        options.set_defaults(run=verb.run)
    return parser


class _Version(argparse.Action):
    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            text = version(PROGRAM)
        except PackageNotFoundError:
            text = "(not installed: run from a clone)"
        emit_text(f"{PROGRAM} {text}\n")
        parser.exit(ExitCode.DONE)
