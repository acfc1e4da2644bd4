"""The verb `live`: join an engine, the sensors and the screen."""

import argparse
import os
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.verbs.base import UsageError, check_terminal
from tui.verbs.workload import add_workload, settings_from

if TYPE_CHECKING:
    from core.events import SensorEvent
    from core.settings import Settings
    from tui.feed import Feed

NAME = "live"
HELP = "decode on this machine and watch (the default)"
FPS_RANGE = range(1, 11)
DEFAULT_FPS = 4


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What `live` was asked for. `nvml` is off where GPU sensors are not wanted."""

    settings: "Settings"
    fps: int
    in_process: bool
    nvml: bool


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `live`."""
    add_workload(parser)
    how = parser.add_argument_group("how to watch")
    how.add_argument(
        "--fps", type=int, default=DEFAULT_FPS, metavar="N", help="frames a second, 1 to 10 (default 4)"
    )
    how.add_argument(
        "--in-process", action="store_true", help="decode in this process: the screen then disturbs it"
    )
    how.add_argument("--no-nvml", action="store_true", help="do not read GPU sensors")


def options_from(arguments: argparse.Namespace) -> LiveOptions:
    """The options, checked.

    Raises:
        UsageError: for what cannot work.
    """
    if arguments.fps not in FPS_RANGE:
        raise UsageError(f"--fps {arguments.fps}: must be from {FPS_RANGE[0]} to {FPS_RANGE[-1]}")
    settings = settings_from(arguments)
    return LiveOptions(settings, arguments.fps, arguments.in_process, nvml=not arguments.no_nvml)


def run(arguments: argparse.Namespace) -> int:
    """Run the live screen until it is left; its exit code.

    Raises:
        UsageError: for options that cannot work, or without a terminal.
    """
    options = options_from(arguments)
    check_terminal()
    from core.locations import log_dir
    from tui.screen_run import run_screen

    # An engine process has a log of its own; inside this process libraries write to our outputs.
    log = log_dir() / f"engine-{os.getpid()}.log" if options.in_process else None
    return run_screen(build_session(options), options.fps, log)


def build_session(options: LiveOptions) -> "Feed":
    """The engine that was asked for and the sensors of this machine, joined."""
    from core.link import EngineProcess, InProcessEngine
    from core.sensors.sampler import Sampler
    from core.session import Session

    engine = InProcessEngine if options.in_process else EngineProcess
    heard: deque[SensorEvent] = deque()
    return Session(
        engine(options.settings),
        sensors=Sampler(heard.append, nvml_enabled=options.nvml),
        sensor_events=heard,
        spec_bytes_per_s=options.settings.spec_bandwidth,
    )
