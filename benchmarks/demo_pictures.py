"""Pictures of a recording's story, taken as a presenter would: keys on a pseudo-terminal.

    python benchmarks/demo_pictures.py --out FOLDER [--recording demo] [--size 120x40]

Plays the recording at 16 times its speed and presses ``s`` at each point of `STORY` (no GPU is
needed). `--size 80x24` shows what a small terminal does with the same story.
"""

import argparse
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.screen_tour import Terminal

POSITION = re.compile(r"^ (\d+):(\d\d) ", re.MULTILINE)
STORY: tuple[tuple[str, int, str], ...] = (
    ("slow-host", 29, ""),
    ("graph", 60, ""),
    ("six-modes", 131, ""),
    ("detail", 131, "d"),
    ("neighbours-eager", 161, ""),
    ("why", 162, "w"),
    ("neighbours-graph", 175, ""),
    ("end", 188, ""),
)
"""Name, second of the recording, page that is opened."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--recording", default="demo")
    parser.add_argument("--size", default="120x40")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    columns, rows = (int(n) for n in given.size.split("x"))
    command = [sys.executable, "-m", "tui", "replay", given.recording, "--speed", "8"]
    term = Terminal(command, columns, rows, given.out)
    try:
        for name, second, page in STORY:
            term.until(reached(second), 120, f"second {second}")
            term.press("p")
            term.read(0.6)
            # What was said of the picture before is not to be in this one.
            term.until(lambda text: "saved idlegap" not in text, 30, "no notice")
            if page:
                term.press(page)
                term.read(0.8)
            old = set(given.out.glob("idlegap-*.svg"))
            term.press("s")
            end = time.monotonic() + 5
            while time.monotonic() < end and not (new := set(given.out.glob("idlegap-*.svg")) - old):
                term.read(0.05)
            shutil.move(new.pop(), given.out / f"{name}.svg")
            (given.out / f"{name}.txt").write_text(term.text() + "\n")
            if page:
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
