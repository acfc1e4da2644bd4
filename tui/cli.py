"""The command line.

Nothing heavy is imported before it is clear what was asked, and nothing of `core` before it is
clear that it is ours.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tui.exit_codes import ExitCode

if TYPE_CHECKING:
    from tui.live import LiveOptions

PROGRAM = "idlegap"
FPS_RANGE = range(1, 11)
DEFAULT_FPS = 4
GB = 1e9


class UsageError(Exception):
    """The request cannot work; the message names what is wrong and says what would."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (by default the process's own); the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        check_one_folder()
        options = parse(arguments)
        check_terminal()
    except UsageError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return ExitCode.USAGE
    from tui.live import run_live

    return run_live(options)


def parse(arguments: list[str]) -> "LiveOptions":
    """Options from a command line; the verb may be left out.

    Raises:
        UsageError: for anything that cannot work.
        SystemExit: after ``--help`` and ``--version``.
    """
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version")):
        arguments = ["live", *arguments]
    return _live_options(build_parser().parse_args(arguments))


def build_parser() -> argparse.ArgumentParser:
    """The parser with all verbs and options."""
    from core.modes import MODE_NAMES

    parser = _Parser(
        prog=PROGRAM,
        allow_abbrev=False,
        description="Shows how long the GPU idles for the host in each token that a language model decodes.",
        epilog=f"Without a verb, {PROGRAM} runs live; its options are listed by: {PROGRAM} live --help",
    )
    parser.add_argument("--version", action=_Version)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    live = verbs.add_parser(
        "live",
        help="decode on this machine and watch (the default)",
        description="Decodes on this machine, and shows where the time of each token goes.",
        allow_abbrev=False,
    )
    what = live.add_argument_group("what to decode")
    what.add_argument(
        "--model",
        help="hub id, local folder, synthetic:qwen2.5-1.5b (the default on a GPU) or "
        "synthetic:tiny (the default on a CPU)",
    )
    what.add_argument("--device", help="auto (default), cuda, cuda:N or cpu")
    what.add_argument(
        "--mode", choices=MODE_NAMES, metavar="MODE", help=f"mode to begin with: {', '.join(MODE_NAMES)}"
    )
    what.add_argument("--modes", metavar="M,M", help="modes to offer, separated by commas (default: all)")
    what.add_argument("--prompt-tokens", type=int, metavar="N", help="length of the prefill (default 512)")
    what.add_argument("--new-tokens", type=int, metavar="N", help="tokens decoded in a round (default 255)")
    what.add_argument(
        "--max-cache-len", type=int, metavar="N", help="slots of the static cache (default: as needed)"
    )
    what.add_argument("--batch", type=int, metavar="N", help="sequences decoded together (default 1)")
    how = live.add_argument_group("how to watch")
    how.add_argument(
        "--spec-bandwidth", type=float, metavar="GB/S", help="specified memory bandwidth, if NVML's is wrong"
    )
    how.add_argument(
        "--fps", type=int, default=DEFAULT_FPS, metavar="N", help="frames a second, 1 to 10 (default 4)"
    )
    how.add_argument(
        "--in-process", action="store_true", help="decode in this process: the screen then disturbs it"
    )
    how.add_argument("--no-nvml", action="store_true", help="do not read GPU sensors")
    return parser


def check_terminal(environment: "dict[str, str] | None" = None) -> None:
    """A screen needs a terminal to read keys from and one to draw on.

    Raises:
        UsageError: where there is none.
    """
    for stream, fd in (("stdin", 0), ("stdout", 1)):
        if not os.isatty(fd):
            raise UsageError(
                f"{stream} is not a terminal, and the live screen needs one; over ssh, add the option -t"
            )
    if (environment or dict(os.environ)).get("TERM", "") in ("", "dumb"):
        raise UsageError(
            "this terminal (TERM=dumb) cannot place a cursor; try TERM=xterm-256color if yours can"
        )


def check_one_folder() -> None:
    """Both import packages have common names; make sure that they belong together.

    Raises:
        UsageError: where another project's `core` was found.
    """
    import core

    ours = Path(__file__).resolve().parent.parent
    theirs = Path(core.__file__ or "").resolve().parent.parent
    if theirs != ours:
        raise UsageError(
            f"'core' is from {theirs}, but 'tui' from {ours}; install {PROGRAM} in an environment of its own"
        )


def _live_options(arguments: argparse.Namespace) -> "LiveOptions":
    from core.settings import Settings, SettingsError

    given: dict[str, Any] = {
        name: getattr(arguments, name)
        for name in ("model", "device", "mode", "prompt_tokens", "new_tokens", "max_cache_len", "batch")
        if getattr(arguments, name) is not None
    }
    if arguments.modes is not None:
        given["modes"] = _modes(arguments.modes)
    if arguments.spec_bandwidth is not None:
        given["spec_bandwidth"] = _bandwidth(arguments.spec_bandwidth)
    if arguments.fps not in FPS_RANGE:
        raise UsageError(f"--fps {arguments.fps}: must be from {FPS_RANGE[0]} to {FPS_RANGE[-1]}")
    settings = Settings(**given)
    try:
        settings.validate()
    except SettingsError as error:
        raise UsageError(str(error)) from error
    from tui.live import LiveOptions

    return LiveOptions(settings, arguments.fps, arguments.in_process, nvml=not arguments.no_nvml)


def _modes(text: str) -> tuple[str, ...]:
    from core.modes import MODE_NAMES

    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in MODE_NAMES]
    if unknown or not names:
        raise UsageError(f"--modes {text}: choose from {', '.join(MODE_NAMES)}, separated by commas")
    return names


def _bandwidth(gigabytes_per_s: float) -> float:
    if not 0 < gigabytes_per_s < float("inf"):
        raise UsageError(f"--spec-bandwidth {gigabytes_per_s:g}: must be above 0, in GB/s")
    return gigabytes_per_s * GB


class _Version(argparse.Action):
    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"{PROGRAM} {version(PROGRAM)}")
        except PackageNotFoundError:
            print(f"{PROGRAM} (not installed: run from a clone)")
        parser.exit(ExitCode.DONE)
