"""Pictures of a recording's story, taken as a presenter would: keys on a pseudo-terminal.

    python benchmarks/demo_pictures.py --out FOLDER [--recording demo] [--size 120x40]

Plays the recording at four times its speed and presses ``s`` at each point of `STORY` (no GPU is
needed). `--size 80x24` shows what a small terminal does with the same story.
"""

import argparse
import re
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.screen_tour import Terminal
from idlegap.core.protocol.events import ModeEntered, Neighbours
from idlegap.core.recording import RecordingReader
from idlegap.tui.commands.recording_option import recording_path

POSITION = re.compile(r"^ (\d+):(\d\d) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture `after_s` seconds after the `nth` time that `cue` happened: a mode was entered, or
    neighbours came. `page` is the key of the page that is opened for it."""

    name: str
    cue: str
    nth: int
    after_s: float
    page: str = ""


STORY = (
    Shot("graph", "graph", 1, 6),
    Shot("first-round", "eager", 1, 8),
    Shot("six-modes", "fused-graph", 1, 4),
    Shot("detail", "fused-graph", 1, 4, "d"),
    Shot("neighbours-eager", "neighbours", 1, 4),
    Shot("why", "neighbours", 1, 4, "w"),
    Shot("neighbours-graph", "graph", 3, 5),
    Shot("end", "graph", 4, 1),
)


def seconds(recording: Path, story: tuple[Shot, ...]) -> dict[Shot, int]:
    """When each shot is due, in whole seconds of the recording; those whose cue never comes are left out."""
    happened: dict[str, list[float]] = {}
    with RecordingReader(recording) as reader:
        for event in reader:
            at_s = (event.t_ns - reader.header.started_ns) / 1e9
            if isinstance(event, ModeEntered):
                happened.setdefault(event.mode, []).append(at_s)
            elif isinstance(event, Neighbours) and event.count:
                happened.setdefault("neighbours", []).append(at_s)
    return {
        shot: round(happened[shot.cue][shot.nth - 1] + shot.after_s)
        for shot in story
        if len(happened.get(shot.cue, ())) >= shot.nth
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--recording", default="demo")
    parser.add_argument("--size", default="120x40")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    columns, rows = (int(n) for n in given.size.split("x"))
    with recording_path(given.recording) as path:
        due = seconds(path, STORY)
        recording = str(path.resolve())
    command = [sys.executable, "-m", "idlegap", "replay", recording, "--speed", "4"]
    term = Terminal(command, columns, rows, given.out)
    try:
        for shot, second in due.items():
            term.until(reached(second), 120, f"second {second}")
            term.press("p")
            term.read(0.6)
            # What was said of the picture before is not to be in this one.
            term.until(lambda text: "saved idlegap" not in text, 30, "no notice")
            if shot.page:
                term.press(shot.page)
                term.read(0.8)
            old = set(given.out.glob("idlegap-*.svg"))
            term.press("s")
            end = time.monotonic() + 5
            while time.monotonic() < end and not (new := set(given.out.glob("idlegap-*.svg")) - old):
                term.read(0.05)
            shutil.move(new.pop(), given.out / f"{shot.name}.svg")
            (given.out / f"{shot.name}.txt").write_text(term.text() + "\n")
            if shot.page:
                term.press("\x1b")
                term.read(0.5)
            term.press("p")
    finally:
        term.press("q")
        term.process.wait(10)


def reached(second: int) -> Callable[[str], bool]:
    return lambda text: position(text) >= second


def position(text: str) -> int:
    """Seconds into the recording, -1 where the screen does not say."""
    found = POSITION.search(text)
    return 60 * int(found[1]) + int(found[2]) if found else -1


if __name__ == "__main__":
    main()
