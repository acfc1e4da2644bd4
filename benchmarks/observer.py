"""The observer effect: how much of its speed does decoding keep while it is watched?

Pairs of short arms alternate closely, because a rented host drifts: `watched` decodes with the
real screen on a real pseudo-terminal, `alone` with nobody drawing (events are still taken, as
``bench`` would). The share kept is mean wall time alone over mean wall time watched, per pair;
the interval is a bootstrap over pairs. The same is done for the sensors (NVML, /proc, psutil)
on and off, without a screen.

    python benchmarks/observer.py --json FILE [--pairs 12] [--seconds 1.2] [--fps 4,10]
                                  [--hosting process,in-process] [--modes eager-static,graph]
                                  [--sizes 80x24,120x40] [--device auto] [--no-sensors]

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
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean

from core.analysis.stats import paired_ratio_interval
from core.commands import SetMode
from core.events import AnyEvent, EngineFailed, EngineReady, ModeEntered, TokenBatch
from core.link import EngineProcess, InProcessEngine
from core.modes import ModeName
from core.sensors.sampler import Sampler
from core.session import Session
from core.settings import Settings
from core.snapshot import Snapshot

POLL_S = 0.05
SETTLE_S = 0.15
"""Tokens this soon after the first paint stay out: starting the screen is not watching."""


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
    """The session as a feed that a screen may start and close without ending the engine."""

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

    def snapshot(self, now_ns: int) -> Snapshot:
        return self._session.snapshot(now_ns)


def arm_alone(session: Session, seconds: float) -> dict[str, float]:
    begin_ns = time.perf_counter_ns() + int(SETTLE_S * 1e9)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        session.pump()
        time.sleep(POLL_S)
    return {"begin_ns": begin_ns}


def arm_watched(session: Session, seconds: float, fps: float) -> dict[str, float]:
    from tui.app import IdlegapApp
    from tui.glyphs import GlyphLevel
    from tui.terminal import TerminalOutput

    output = TerminalOutput(1)
    marks: list[tuple[float, float, int]] = []

    def mark() -> None:
        marks.append((time.perf_counter_ns(), time.process_time(), output.bytes_written))

    class Timed(IdlegapApp):
        def _begin(self) -> None:
            super()._begin()
            self.set_timer(SETTLE_S, mark)
            self.set_timer(seconds, self._finish)

        def _finish(self) -> None:
            mark()
            self.exit()

    Timed(Attached(session), level=GlyphLevel.BRAILLE, fps=fps, output=output).run(mouse=False)
    output.close()
    (began_ns, cpu_s, written), (ended_ns, cpu_end_s, written_end) = marks
    elapsed_s = (ended_ns - began_ns) / 1e9
    return {
        "begin_ns": began_ns,
        "cpu_pct": 100 * (cpu_end_s - cpu_s) / elapsed_s,
        "bytes_per_s": (written_end - written) / elapsed_s,
    }


def arm_sensed(session: Session, seconds: float, ready: EngineReady) -> dict[str, float]:
    sampler = Sampler(deque(maxlen=64).append)
    sampler.start()
    sampler.watch_engine(ready.pid, ready.tid, ready.device_uuid)
    arm = arm_alone(session, seconds)
    sampler.stop()
    return arm


def timed_arm(ear: Ear, run: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Mean wall of the tokens decoded within the arm, and what watching them cost."""
    ear.tokens.clear()
    arm = run()
    walls = [wall for done, wall in ear.tokens if done - wall >= arm["begin_ns"]]
    if not walls:
        raise RuntimeError("no token was decoded within an arm: make the arms longer")
    return {
        "mean_wall_ns": fmean(walls),
        "tokens": len(walls),
        **arm,
    }


def measure(options: dict, hosting: str, out: Path) -> None:
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
        configurations: list[tuple[str, float]] = [("screen", fps) for fps in options["fps"]]
        if options["sensors"] and hosting == "process":
            configurations.append(("sensors", 0))
        rows: list[dict] = []
        for what, fps in configurations:
            arms = {mode: {"watched": [], "alone": []} for mode in options["modes"]}
            sampler = Sampler(deque(maxlen=64).append)
            if what == "screen":
                # As in the live screen; they run in both arms, so that only the screen differs.
                sampler.start()
                sampler.watch_engine(ready.pid, ready.tid, ready.device_uuid)
            for pair in range(options["pairs"]):
                for mode, both in arms.items():
                    enter(session, ear, mode)
                    if what == "screen":
                        watch = partial(arm_watched, session, options["seconds"], fps)
                    else:
                        watch = partial(arm_sensed, session, options["seconds"], ready)
                    ways = {"watched": watch, "alone": partial(arm_alone, session, options["seconds"])}
                    # The host drifts: each way comes first in every other pair.
                    for name in sorted(ways, reverse=pair % 2 == 0):
                        both[name].append(timed_arm(ear, ways[name]))
            if what == "screen":
                sampler.stop()
            common = {"hosting": hosting, "what": what, "fps": fps, "size": options["size"]}
            rows += [{**common, "mode": mode, **both, "kept": kept(both)} for mode, both in arms.items()]
            out.write_text(json.dumps(rows))
    finally:
        session.close()


def kept(arms: dict) -> dict:
    """Share of undisturbed speed kept, with its interval."""
    ratio = paired_ratio_interval(
        [arm["mean_wall_ns"] for arm in arms["alone"]], [arm["mean_wall_ns"] for arm in arms["watched"]]
    )
    return {"share": ratio.value, "low": ratio.low, "high": ratio.high, "verdict": ratio.difference}


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
    arm_alone(session, SETTLE_S)


def run_on_pty(options: dict, hosting: str, size: str, out: Path) -> list[dict]:
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
    _, errors = child.communicate()
    if child.returncode:
        raise RuntimeError(f"{hosting} at {size}: {errors.decode(errors='replace')[-2000:]}")
    return json.loads(out.read_text())


def line(row: dict) -> str:
    """One configuration in one line."""
    share = row["kept"]
    text = (
        f"{row['hosting']:>10} {row['size']:>7} {row['what']:>7} {row['fps']:>4g} fps {row['mode']:>12}: "
        f"keeps {share['share']:.4f} [{share['low']:.4f}, {share['high']:.4f}]"
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
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=1.2)
    parser.add_argument("--fps", default="4,10")
    parser.add_argument("--hosting", default="process,in-process")
    parser.add_argument("--modes", default="eager-static,graph")
    parser.add_argument("--sizes", default="120x40")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--no-sensors", action="store_true")
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
