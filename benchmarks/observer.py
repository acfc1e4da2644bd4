"""The observer effect: how much of its speed does decoding keep while it is watched?

Short arms alternate closely, because a rented host drifts: `watched` decodes with the real screen
drawing on a real pseudo-terminal, `alone` with the same program drawing nothing (events are still
taken, as ``bench`` would). The share kept is mean wall time alone over mean wall time watched,
per pair of neighbouring arms; the interval is a bootstrap over pairs. The same is done for the
sensors (NVML, /proc, psutil) on and off, without a screen.

    python benchmarks/observer.py --json FILE [--pairs 32] [--seconds 0.6] [--fps 4,10]
                                  [--hosting process,in-process] [--modes eager-static,graph]
                                  [--sizes 80x24,120x40] [--device auto] [--no-sensors] [--no-screen]

The parent owns the pseudo-terminal and counts what is written to it; the child decodes.
"""

import argparse
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal, NamedTuple

from idlegap.core.measure.statistics import paired_ratio_interval
from idlegap.core.protocol.commands import SetMode
from idlegap.core.protocol.events import (
    AnyEvent,
    EngineFailed,
    EngineReady,
    ModeEntered,
    SensorEvent,
    TokenBatch,
)
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.settings import Settings
from idlegap.core.sensors.sampler import Sampler
from idlegap.core.session.session import Session
from idlegap.core.session.snapshot import FromApp, Snapshot
from idlegap.core.sources.engine_process import EngineProcess
from idlegap.core.sources.in_process import InProcessEngine

POLL_S = 0.05
SETTLE_S = 0.5
"""Tokens this soon after the first paint stay out: starting the screen is not watching."""

TURN_S = 0.06
"""Between two arms, without counting."""

Way = Literal["watched", "alone"]
Options = dict[str, Any]
Row = dict[str, Any]


class Ear:
    """Collects the wall times of counted tokens, and what the engine says of itself."""

    def __init__(self) -> None:
        self.tokens: list[tuple[int, int]] = []
        self.mode: ModeName | None = None
        self.ready: EngineReady | None = None
        self.failed: EngineFailed | None = None

    def __call__(self, event: AnyEvent) -> None:
        match event:
            case TokenBatch(excluded=None):
                self.tokens.extend((t.done_ns, t.wall_ns) for t in event.tokens)
            case ModeEntered():
                self.mode = event.mode
            case EngineReady():
                self.ready = event
            case EngineFailed():
                self.failed = event


class Attached:
    """The session as one that a screen may start and close without ending the engine."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.send = session.send
        self.note_frame = session.note_frame

    def start(self) -> None:
        pass

    def close(self) -> None:
        pass

    def restart(self) -> None:
        pass

    def snapshot(self, now_ns: int, app: FromApp) -> Snapshot:
        return self._session.snapshot(now_ns, app)


class Arm(NamedTuple):
    """One stretch of decoding. Tokens count that lie between `begin_ns` and `end_ns`."""

    way: Way
    begin_ns: int
    end_ns: int
    cpu_s: float
    written: int


def order(pairs: int) -> list[Way]:
    """The arms in turn: each way comes first in every other pair."""
    both: tuple[Way, Way] = ("watched", "alone")
    return [way for pair in range(pairs) for way in (both if pair % 2 == 0 else both[::-1])]


def watched_arms(session: Session, options: Options, fps: float) -> list[Arm]:
    """One screen, which draws in some arms and does nothing in the others."""
    from idlegap.tui.apps.app import IdlegapApp
    from idlegap.tui.terminal.glyphs import GlyphLevel
    from idlegap.tui.terminal.output import TerminalOutput

    output = TerminalOutput(1)
    left = deque(order(options["pairs"]))
    arms: list[Arm] = []

    class Alternating(IdlegapApp):
        way: Way = "watched"
        began: tuple[int, float, int]

        def _begin(self) -> None:
            super()._begin()
            self.set_interval(POLL_S, session.pump)
            self.set_timer(SETTLE_S, self._next)

        def _tick(self) -> None:
            if self.way == "watched":
                super()._tick()

        def _next(self) -> None:
            if not left:
                self.exit()
                return
            self.way = left.popleft()
            # What the change itself costs, and the token that it falls into, is no one's.
            self.set_timer(TURN_S, self._mark)

        def _mark(self) -> None:
            self.began = (time.perf_counter_ns(), time.process_time(), output.bytes_written)
            self.set_timer(options["seconds"], self._close)

        def _close(self) -> None:
            began_ns, cpu_s, written = self.began
            cpu_s, written = time.process_time() - cpu_s, output.bytes_written - written
            arms.append(Arm(self.way, began_ns, time.perf_counter_ns(), cpu_s, written))
            self._next()

    Alternating(Attached(session), level=GlyphLevel.BRAILLE, fps=fps, output=output).run(mouse=False)
    output.close()
    return arms


def sensed_arms(session: Session, options: Options, ready: EngineReady) -> list[Arm]:
    """No screen; the sensors run in some arms and not in the others."""
    arms: list[Arm] = []
    for way in order(options["pairs"]):
        sampler = sensing(ready) if way == "watched" else None
        # To start the sensors is not what a session pays for all the time.
        decode(session, SETTLE_S)
        began_ns = time.perf_counter_ns()
        decode(session, options["seconds"])
        arms.append(Arm(way, began_ns, time.perf_counter_ns(), 0.0, 0))
        if sampler is not None:
            sampler.stop()
    return arms


def sensing(ready: EngineReady) -> Sampler:
    """The sensors as the live screen runs them; nothing reads what they report."""
    unread: deque[SensorEvent] = deque(maxlen=64)
    sampler = Sampler(unread.append)
    sampler.start()
    sampler.watch_engine(ready.pid, ready.tid, ready.device_uuid)
    return sampler


def decode(session: Session, seconds: float) -> None:
    """Take the engine's events for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        session.pump()
        time.sleep(POLL_S)


def timed(arms: list[Arm], ear: Ear) -> dict[Way, list[dict[str, float]]]:
    """Mean wall of the tokens decoded within each arm, and what watching them cost."""
    result: dict[Way, list[dict[str, float]]] = {"watched": [], "alone": []}
    for arm in arms:
        walls = [wall for done, wall in ear.tokens if done - wall >= arm.begin_ns and done <= arm.end_ns]
        if not walls:
            raise RuntimeError("no token was decoded within an arm: make the arms longer")
        elapsed_s = (arm.end_ns - arm.begin_ns) / 1e9
        result[arm.way].append(
            {
                "mean_wall_ns": fmean(walls),
                "median_wall_ns": median(walls),
                "tokens": len(walls),
                "cpu_pct": 100 * arm.cpu_s / elapsed_s,
                "bytes_per_s": arm.written / elapsed_s,
            }
        )
    return result


def measure(options: Options, hosting: str, out: Path) -> None:
    """All configurations of one hosting, in this process; `out` grows with each of them."""
    settings = Settings(device=options["device"], profile_every_ns=None)
    engine = InProcessEngine(settings) if hosting == "in-process" else EngineProcess(settings)
    ear = Ear()
    session = Session(engine, listeners=[ear])
    session.start()
    try:
        wait(session, lambda: ear.tokens or ear.failed, 120)
        if ear.failed:
            raise RuntimeError(ear.failed.reason)
        assert ear.ready is not None
        ready = ear.ready
        configurations: list[tuple[str, float]] = []
        if options["screen"]:
            configurations += [("screen", fps) for fps in options["fps"]]
        if options["sensors"] and hosting == "process":
            configurations.append(("sensors", 0))
        rows: list[Row] = []
        for what, fps in configurations:
            for mode in options["modes"]:
                enter(session, ear, mode)
                ear.tokens.clear()
                if what == "screen":
                    # As in the live screen; they run in both arms, so that only drawing differs.
                    sampler = sensing(ready)
                    arms = watched_arms(session, options, fps)
                    sampler.stop()
                else:
                    arms = sensed_arms(session, options, ready)
                session.pump()
                both = timed(arms, ear)
                common = {"hosting": hosting, "what": what, "fps": fps, "size": options["size"], "mode": mode}
                rows.append(common | dict(both) | {"kept": kept(both)})
                out.write_text(json.dumps(rows))
    finally:
        session.close()


def kept(arms: Mapping[Way, Sequence[Mapping[str, float]]]) -> Row:
    """Share of undisturbed speed kept, with its interval: of the mean and of the median token."""
    found = {}
    for name in ("mean", "median"):
        alone, watched = ([arm[f"{name}_wall_ns"] for arm in arms[way]] for way in ("alone", "watched"))
        ratio = paired_ratio_interval(alone, watched)
        found[name] = {"share": ratio.value, "low": ratio.low, "high": ratio.high}
    return found


def wait(session: Session, done: Callable[[], object], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError("the engine did not get there in time")
        session.pump()
        time.sleep(0.01)


def enter(session: Session, ear: Ear, mode: ModeName) -> None:
    ear.mode = None
    session.send(SetMode(mode))
    wait(session, lambda: ear.mode == mode, 120)
    ear.tokens.clear()
    wait(session, lambda: ear.tokens, 120)
    decode(session, SETTLE_S)


def run_on_pty(options: Options, hosting: str, size: str, out: Path) -> list[Row]:
    """Run `measure` in a child on a pseudo-terminal of `size` (COLUMNSxROWS)."""
    columns, rows = (int(n) for n in size.split("x"))
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    child = subprocess.Popen(
        [sys.executable, __file__, "--child", json.dumps({**options, "size": size}), hosting, str(out)],
        stdin=slave,
        stdout=slave,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"},
    )
    os.close(slave)
    threading.Thread(target=drain, args=(master,), daemon=True).start()
    try:
        _, errors = child.communicate()
    finally:
        child.terminate()
    if child.returncode:
        raise RuntimeError(f"{hosting} at {size}: {errors.decode(errors='replace')[-2000:]}")
    found: list[Row] = json.loads(out.read_text())
    return found


def line(row: Row) -> str:
    """One configuration in one line."""
    text = f"{row['hosting']:>10} {row['size']:>7} {row['what']:>7} {row['fps']:>4g} fps {row['mode']:>12}: "
    text += ", ".join(
        f"{name} keeps {share['share']:.4f} [{share['low']:.4f}, {share['high']:.4f}]"
        for name, share in row["kept"].items()
    )
    if row["what"] == "screen":
        cpu, written = (fmean(arm[name] for arm in row["watched"]) for name in ("cpu_pct", "bytes_per_s"))
        text += f", app's CPU {cpu:.1f} %, {written:,.0f} B/s"
    return text


def drain(master: int) -> None:
    try:
        while os.read(master, 65536):
            pass
    except OSError:
        return


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        options, hosting, path = json.loads(sys.argv[2]), sys.argv[3], sys.argv[4]
        measure(options, hosting, Path(path))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=0.6)
    parser.add_argument("--fps", default="4,10")
    parser.add_argument("--hosting", default="process,in-process")
    parser.add_argument("--modes", default="eager-static,graph")
    parser.add_argument("--sizes", default="120x40")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--no-sensors", action="store_true")
    parser.add_argument("--no-screen", action="store_true")
    given = parser.parse_args()
    if given.pairs < 3:
        parser.error(f"--pairs {given.pairs}: an interval needs at least 3")
    options = {
        "pairs": given.pairs,
        "seconds": given.seconds,
        "fps": [float(n) for n in given.fps.split(",")],
        "modes": given.modes.split(","),
        "device": given.device,
        "sensors": not given.no_sensors,
        "screen": not given.no_screen,
    }
    results = []
    for hosting in given.hosting.split(","):
        for size in given.sizes.split(","):
            part = given.json.with_suffix(f".{hosting}-{size}.json")
            for row in run_on_pty(options, hosting, size, part):
                results.append(row)
                print(line(row), flush=True)
                given.json.write_text(json.dumps({"options": options, "results": results}, indent=1))
            part.unlink()


if __name__ == "__main__":
    main()
