"""The verb `live`: join an engine, the sensors and the screen."""

import argparse
import gc
import os
import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from idlegap.tui.commands.base import UsageError, check_terminal
from idlegap.tui.commands.metrics_option import Address, add_metrics, listener_for, metrics_from, serving
from idlegap.tui.commands.recording_option import RecordOptions, add_record, record_from
from idlegap.tui.commands.workload import add_workload, settings_from

if TYPE_CHECKING:
    from idlegap.core.metrics import MetricsListener
    from idlegap.core.protocol.events import SensorEvent
    from idlegap.core.protocol.settings import Settings
    from idlegap.core.recording import Recorder
    from idlegap.core.session.snapshot import Snapshot
    from idlegap.tui.apps.live_run import Joined, LiveRun

HELP = "decode on this machine and watch (the default)"
FPS_RANGE = range(1, 11)
DEFAULT_FPS = 4


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What `live` was asked for. `nvml` is off where GPU sensors are not wanted; the limit of
    `record` holds for recordings that a key starts, too."""

    settings: "Settings"
    fps: int
    in_process: bool
    nvml: bool
    record: RecordOptions
    metrics: Address | None
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
    add_record(out)
    add_metrics(out)


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
        record=record_from(arguments, by_key=True),
        metrics=metrics_from(arguments),
        neighbour_core=_core(arguments.neighbour_core),
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the live screen until it is left; its exit code.

    Raises:
        UsageError: for options that cannot work, or without a terminal.
    """
    options = options_from(arguments)
    check_terminal(instead="bench")
    from idlegap.tui.apps.live import LiveApp
    from idlegap.tui.apps.run import run_screen

    log, elsewhere = _own_log() if options.in_process else (None, "")
    served = listener_for(options.metrics)
    live = build_run(options, served)
    newest: deque[Snapshot] = deque(maxlen=1)
    with serving(options.metrics, served, lambda: newest[0] if newest else None) as url:
        if options.record.file is not None:
            _record(live, options.record.file)
        metrics = f"metrics are served at {url}" if url else ""
        greeting = "; ".join(filter(None, (metrics, elsewhere)))
        code = run_screen(
            live.close,
            lambda level, output: LiveApp(
                live,
                level=level,
                fps=options.fps,
                output=output,
                greeting=greeting,
                on_snapshot=newest.append,
            ),
            log,
        )
    if recorded := live.recorded():
        print(f"idlegap: {recorded}", file=sys.stderr)
    return code


def build_run(options: LiveOptions, served: "MetricsListener | None" = None) -> "LiveRun":
    """The run that was asked for; engine and sensors join it after the first paint."""
    from idlegap.tui.apps.live_run import LiveRun

    return LiveRun(
        lambda recorder: join(options, recorder, served),
        recorder=lambda: recorder_for(options),
        max_bytes=options.record.max_bytes,
        in_process=options.in_process,
        neighbour_core=options.neighbour_core,
    )


def recorder_for(options: LiveOptions) -> "Recorder":
    """What can record the session that was asked for; needs neither engine nor analysis."""
    from idlegap.core.recording import Recorder

    return Recorder(in_process=options.in_process, spec_bytes_per_s=options.settings.spec_bandwidth)


def join(options: LiveOptions, recorder: "Recorder", served: "MetricsListener | None" = None) -> "Joined":
    """The engine that was asked for and the sensors of this machine, joined, with who listens."""
    from idlegap.core.sensors.sampler import Sampler
    from idlegap.core.session.session import Session
    from idlegap.core.sources.engine_process import EngineProcess
    from idlegap.core.sources.in_process import InProcessEngine
    from idlegap.core.system.neighbours import NoisyNeighbours
    from idlegap.tui.apps.live_run import Joined

    # As in `run_screen`, for what was loaded just now.
    gc.freeze()
    engine = InProcessEngine if options.in_process else EngineProcess
    heard: deque[SensorEvent] = deque()
    session = Session(
        engine(options.settings),
        sensors=Sampler(heard.append, nvml_enabled=options.nvml),
        sensor_events=heard,
        listeners=(recorder, served) if served is not None else (recorder,),
        spec_bytes_per_s=options.settings.spec_bandwidth,
    )
    return Joined(session, NoisyNeighbours(session.take))


def _record(live: "LiveRun", file: Path) -> None:
    from idlegap.core.recording import RecordingError

    try:
        live.record(file)
    except RecordingError as error:
        raise UsageError(f"--record {error}") from error


def _own_log() -> tuple[Path, str]:
    """An engine process has a log of its own; inside this process libraries write to our outputs.
    The file, and what to say about it where it is not in its usual place.

    Raises:
        UsageError: it cannot be written.
    """
    from idlegap.core.system.locations import log_dir
    from idlegap.core.text.reasons import words

    folder = log_dir()
    why = words(folder.reason or "")
    if folder.path is None:
        raise UsageError(f"--in-process: its log cannot be written: {why}")
    path = folder.path / f"engine-{os.getpid()}.log"
    try:
        path.touch()
    except OSError as error:
        raise UsageError(f"--in-process: its log cannot be written: {error}") from error
    return path, f"the log is {path}; {why}" if why else ""


def _core(core: int | None) -> int | None:
    if core is not None and core not in (usable := os.sched_getaffinity(0)):
        names = ", ".join(map(str, sorted(usable)))
        raise UsageError(f"--neighbour-core {core}: this process may use {names}")
    return core
