"""Make the demo recording: two to three minutes of a real decode, without a hand on the keys.

    python benchmarks/make_demo.py --out core/recording/demo.jsonl.gz [--pace 1.0] [--device auto]
                                   [--skip-compiled] [--neighbours 24] [--figures FILE]

The storyboard: eager with a static cache, the same step as a graph, plain eager, the compiled
modes, a verification, then noisy neighbours while eager decodes and while the graph is
replayed, and a quiet end. Modes that cannot run here are left out. Each scene begins with its
first counted token, so a slow compilation, or eager's round at new cache lengths, lengthens the
recording but not the scene.
`--figures` keeps what the live session knew of each mode at the end, as JSON: a replay must end
with the same.
"""

import argparse
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from idlegap.core.protocol.commands import SetMode, TakeProfile, VerifyModes
from idlegap.core.protocol.events import (
    AnyEvent,
    EngineFailed,
    ModeEntered,
    ModeRefused,
    NotVerified,
    SensorEvent,
    TokenBatch,
    Verified,
)
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.settings import Settings
from idlegap.core.recording import Recorder
from idlegap.core.sensors.sampler import Sampler
from idlegap.core.session.session import Session
from idlegap.core.sources.engine_process import EngineProcess
from idlegap.core.system.neighbours import NoisyNeighbours
from idlegap.core.text.reasons import words

POLL_S = 0.05
LONGEST_WAIT_S = 240.0
SCENES: tuple[tuple[ModeName, float], ...] = (
    ("eager-static", 16),
    ("graph", 14),
    ("eager-static", 6),
    ("graph", 8),
    ("eager", 8),
)
COMPILED_SCENES: tuple[tuple[ModeName, float], ...] = (("fused", 8), ("compiled", 8), ("fused-graph", 10))


class Director:
    """Gives the commands and waits for what they lead to."""

    def __init__(self, session: Session, heard: deque[AnyEvent], pace: float) -> None:
        self._session = session
        self._heard = heard
        self._pace = pace

    def watch(self, seconds: float) -> None:
        """Let it decode."""
        end = time.monotonic() + seconds * self._pace
        while time.monotonic() < end:
            self._session.pump()
            time.sleep(POLL_S)

    def until(self, wanted: Callable[[AnyEvent], bool]) -> AnyEvent:
        """Wait for an event; the engine's failure ends the program."""
        end = time.monotonic() + LONGEST_WAIT_S
        while time.monotonic() < end:
            self._session.pump()
            while self._heard:
                event = self._heard.popleft()
                if isinstance(event, EngineFailed):
                    sys.exit(f"the engine failed: {event.reason}")
                if wanted(event):
                    return event
            time.sleep(POLL_S)
        sys.exit("the engine did not get there in time")

    def scene(self, mode: ModeName, seconds: float) -> None:
        """Enter `mode` and watch it from its first counted token on, or go on where it cannot run."""
        self._heard.clear()
        self._session.send(SetMode(mode))
        event = self.until(lambda e: isinstance(e, ModeEntered | ModeRefused) and e.mode == mode)
        print(
            f"{mode}: {words(event.reason) if isinstance(event, ModeRefused) else 'entered'}", file=sys.stderr
        )
        if isinstance(event, ModeEntered):
            self.until(lambda e: isinstance(e, TokenBatch) and e.mode == mode and e.excluded is None)
            self.watch(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pace", type=float, default=1.0, help="length of the scenes, relative")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--skip-compiled", action="store_true")
    parser.add_argument("--neighbours", type=int, default=24)
    parser.add_argument("--figures", type=Path, metavar="FILE")
    given = parser.parse_args()
    heard: deque[AnyEvent] = deque()
    sensed: deque[SensorEvent] = deque()
    # The name of the machine that it was made on is nobody's business.
    recorder = Recorder(host="")
    session = Session(
        EngineProcess(Settings(device=given.device)),
        sensors=Sampler(sensed.append),
        sensor_events=sensed,
        listeners=[recorder, heard.append],
    )
    neighbours = NoisyNeighbours(session.take)
    director = Director(session, heard, given.pace)
    recorder.start(given.out)
    session.start()
    try:
        director.until(lambda e: isinstance(e, ModeEntered))
        for mode, seconds in (*SCENES, *(() if given.skip_compiled else COMPILED_SCENES)):
            director.scene(mode, seconds)
        session.send(VerifyModes())
        director.until(lambda e: isinstance(e, Verified | NotVerified))
        director.scene("eager-static", 8)
        neighbours.add(given.neighbours)
        director.watch(10)
        director.scene("graph", 10)
        neighbours.remove_all()
        session.send(TakeProfile())
        director.watch(4)
        director.scene("eager-static", 6)
        director.scene("graph", 4)
    finally:
        neighbours.remove_all()
        session.close()
        session.pump()
        recorder.stop()
    if given.figures is not None:
        modes = session.snapshot(time.perf_counter_ns()).modes
        given.figures.write_bytes(msgspec.json.encode(modes))
    print(f"{given.out}: {given.out.stat().st_size / 1e6:.2f} MB", file=sys.stderr)


if __name__ == "__main__":
    main()
