"""The verb `live`: join an engine, the sensors and the screen."""

import argparse
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tui.verbs.base import UsageError, check_terminal
from tui.verbs.file_size import parse_size
from tui.verbs.workload import add_workload, settings_from

if TYPE_CHECKING:
    from core.events import SensorEvent
    from core.metrics import Tally
    from core.settings import Settings
    from core.snapshot import Snapshot
    from tui.live_session import LiveSession

NAME = "live"
HELP = "decode on this machine and watch (the default)"
FPS_RANGE = range(1, 11)
DEFAULT_FPS = 4
DEFAULT_RECORD_MAX = "1G"


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What `live` was asked for. `nvml` is off where GPU sensors are not wanted; `metrics` is
    the host and port to serve them on."""

    settings: "Settings"
    fps: int
    in_process: bool
    nvml: bool
    record: Path | None
    record_max: int
    metrics: tuple[str, int] | None
    neighbour_core: int | None


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
    how.add_argument(
        "--neighbour-core",
        type=int,
        metavar="CORE",
        help="pin the noisy neighbours of key n to this core (default: any core)",
    )
    out = parser.add_argument_group("what to pass on")
    out.add_argument(
        "--record", type=Path, metavar="FILE", help="record the run into a new file; gzip if it ends in .gz"
    )
    out.add_argument(
        "--record-max",
        default=DEFAULT_RECORD_MAX,
        metavar="SIZE",
        help=f"no recording gets larger, for example 500M (default {DEFAULT_RECORD_MAX})",
    )
    out.add_argument(
        "--metrics",
        metavar="[HOST:]PORT",
        help="serve metrics for Prometheus, on 127.0.0.1 unless a host is given; 0 picks a port",
    )


def options_from(arguments: argparse.Namespace) -> LiveOptions:
    """The options, checked.

    Raises:
        UsageError: for what cannot work.
    """
    if arguments.fps not in FPS_RANGE:
        raise UsageError(f"--fps {arguments.fps}: must be from {FPS_RANGE[0]} to {FPS_RANGE[-1]}")
    return LiveOptions(
        settings=settings_from(arguments),
        fps=arguments.fps,
        in_process=arguments.in_process,
        nvml=not arguments.no_nvml,
        record=arguments.record,
        record_max=_record_max(arguments.record_max),
        metrics=None if arguments.metrics is None else _address(arguments.metrics),
        neighbour_core=_core(arguments.neighbour_core),
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the live screen until it is left; its exit code.

    Raises:
        UsageError: for options that cannot work, or without a terminal.
    """
    options = options_from(arguments)
    check_terminal()
    from core.locations import log_dir
    from core.recording import RecordingError
    from tui.live_app import LiveApp
    from tui.screen_run import run_screen

    tally = _tally() if options.metrics is not None else None
    live = build_session(options, tally)
    # An engine process has a log of its own; inside this process libraries write to our outputs.
    log = log_dir() / f"engine-{os.getpid()}.log" if options.in_process else None
    with serving(options.metrics, tally, lambda: live.latest) as url:
        if options.record is not None:
            try:
                live.record(options.record)
            except RecordingError as error:
                raise UsageError(f"--record {error}") from error
        greeting = f"metrics are served at {url}" if url else ""
        code = run_screen(
            live,
            lambda level, output: LiveApp(
                live, level=level, fps=options.fps, output=output, greeting=greeting
            ),
            log,
        )
    if recorded := live.recorded():
        print(f"idlegap: {recorded}", file=sys.stderr)
    return code


def build_session(options: LiveOptions, tally: "Tally | None" = None) -> "LiveSession":
    """The engine that was asked for and the sensors of this machine, joined."""
    from core.link import EngineProcess, InProcessEngine
    from core.neighbours import NoisyNeighbours
    from core.recording import Recorder
    from core.sensors.sampler import Sampler
    from core.session import Session
    from tui.live_session import LiveSession

    engine = InProcessEngine if options.in_process else EngineProcess
    heard: deque[SensorEvent] = deque()
    recorder = Recorder(in_process=options.in_process, spec_bytes_per_s=options.settings.spec_bandwidth)
    session = Session(
        engine(options.settings),
        sensors=Sampler(heard.append, nvml_enabled=options.nvml),
        sensor_events=heard,
        listeners=(recorder, tally) if tally is not None else (recorder,),
        spec_bytes_per_s=options.settings.spec_bandwidth,
    )
    return LiveSession(
        session,
        recorder,
        NoisyNeighbours(session.note_neighbours),
        neighbour_core=options.neighbour_core,
        max_bytes=options.record_max,
    )


@contextmanager
def serving(
    address: tuple[str, int] | None, tally: "Tally | None", latest: "Callable[[], Snapshot | None]"
) -> Iterator[str]:
    """Serve metrics at `address` meanwhile; yields where, "" if not asked for.

    Raises:
        UsageError: the address is taken or not ours.
    """
    if address is None or tally is None:
        yield ""
        return
    from core.metrics import MetricsCollector, MetricsError, MetricsServer

    try:
        server = MetricsServer(MetricsCollector(latest, tally), *address)
    except MetricsError as error:
        raise UsageError(str(error)) from error
    with server:
        yield server.url


def _tally() -> "Tally":
    from core.metrics import Tally

    return Tally()


def _address(text: str) -> tuple[str, int]:
    from core.metrics import MetricsError, parse_address

    try:
        return parse_address(text)
    except MetricsError as error:
        raise UsageError(str(error)) from error


def _record_max(text: str) -> int:
    from core.recording.sink import LEAST_BYTES

    size = parse_size("--record-max", text)
    if size < LEAST_BYTES:
        raise UsageError(f"--record-max {text}: must be at least {LEAST_BYTES:,} bytes")
    return size


def _core(core: int | None) -> int | None:
    if core is not None and core not in (usable := os.sched_getaffinity(0)):
        names = ", ".join(map(str, sorted(usable)))
        raise UsageError(f"--neighbour-core {core}: this process may use {names}")
    return core
