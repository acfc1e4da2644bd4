"""The verb `replay`: the live screen on a recording."""

import argparse

from idlegap.tui.commands.base import UsageError, check_terminal
from idlegap.tui.commands.recording_option import add_recording, recording_path

HELP = "show a recording on the live screen"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `replay`."""
    add_recording(parser)
    parser.add_argument(
        "--speed", type=float, default=1.0, metavar="X", help="times as fast, 0.25 to 16 (default 1)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Replay until the screen is left; its exit code.

    Raises:
        UsageError: for options that cannot work, without a terminal, and for a recording that
            cannot be read.
    """
    from idlegap.core.recording.playback import SPEEDS
    from idlegap.core.sources.recording import Replay

    if not SPEEDS[0] <= arguments.speed <= SPEEDS[-1]:
        raise UsageError(f"--speed {arguments.speed:g}: must be from {SPEEDS[0]:g} to {SPEEDS[-1]:g}")
    with recording_path(arguments.file) as path:
        replay = Replay(path, speed=arguments.speed)
        check_terminal(instead=f"report {arguments.file}")
        from idlegap.tui.apps.replay import ReplayApp
        from idlegap.tui.apps.run import run_screen

        return run_screen(replay.close, lambda level, output: ReplayApp(replay, level=level, output=output))
