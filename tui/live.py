"""The verb `live`: join an engine, the sensors and the screen, and say how it ended."""

import gc
import locale
import os
import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from core.events import SensorEvent
from core.locations import log_dir
from core.settings import Settings
from tui.app import IdlegapApp
from tui.exit_codes import ExitCode
from tui.feed import Feed
from tui.glyphs import glyph_level
from tui.terminal import TerminalOutput, diverted


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What `live` was asked for. `nvml` is off where GPU sensors are not wanted."""

    settings: Settings
    fps: int
    in_process: bool
    nvml: bool


def run_live(options: LiveOptions) -> int:
    """Run the live screen until it is left; its exit code."""
    # An engine process has a log of its own; inside this process libraries write to our outputs.
    log = log_dir() / f"engine-{os.getpid()}.log" if options.in_process else None
    return run_screen(build_session(options), options.fps, log)


def run_screen(feed: Feed, fps: float, log: Path | None = None) -> int:
    """Show `feed` on this process's terminal until the screen is left; its exit code. With a
    `log`, what is written to stdout and stderr meanwhile goes there."""
    level = glyph_level(locale.getencoding(), os.environ.get("TERM", ""))
    output = TerminalOutput(sys.stdout.fileno())
    app = IdlegapApp(feed, level=level, fps=fps, output=output)
    # What is loaded by now stays until the end: no collection need walk it in the midst of a frame.
    gc.freeze()
    with diverted(log):
        try:
            app.run(mouse=False)
        finally:
            feed.close()
            output.close()
    explain_end(app)
    return app.return_code or ExitCode.DONE


def explain_end(app: IdlegapApp) -> None:
    """Say on stderr why the engine is gone, where it is."""
    failed = app.snapshot.failed
    if failed is None:
        return
    print(f"idlegap: {failed.reason}", file=sys.stderr)
    if failed.hint:
        print(f"  {failed.hint}", file=sys.stderr)


def build_session(options: LiveOptions) -> Feed:
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
