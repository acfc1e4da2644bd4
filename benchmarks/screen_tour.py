"""Use the real screen as a person would: keys on a pseudo-terminal, pictures of what it shows.

    python benchmarks/screen_tour.py --out FOLDER [--size 120x40] [--device auto] [--compiled]
                                     [-- idlegap options]

Runs ``python -m idlegap`` on a pseudo-terminal, reads its screen through a terminal emulator,
presses keys once the screen says that it is ready for them, and leaves text grids, the SVGs
that key ``s`` saved, and a JSON with what was seen: times to the first paint and to the first
token, the figures on screen, the exit code and whether the terminal was given back.
"""

import argparse
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pyte

SHAPES = (
    ("b", "batch-2", "batch 2, prompt of"),
    ("B", "batch-1", "batch 1, prompt of"),
    ("]", "longer-prompt", "batch 1, prompt of"),
    ("[", "same-prompt", "batch 1, prompt of"),
)
"""Key, name of the picture, and what the screen says when the key was heard."""

RATE = re.compile(r"p50 +([\d.]+) +p99 +([\d.]+)")


class Terminal:
    """A program on a pseudo-terminal and the screen that it draws."""

    def __init__(self, command: list[str], columns: int, rows: int, folder: Path) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=folder,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"},
        )
        self._slave = slave

    def read(self, seconds: float) -> None:
        """Take in what is drawn during `seconds`."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                return
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            self.raw += data
            self._stream.feed(data)

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, wanted: Callable[[str], object], seconds: float, what: str) -> float:
        """Read until the screen satisfies `wanted`; seconds since the start."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if wanted(self.text()):
                return time.monotonic() - self.started
            if self.process.poll() is not None:
                break
            self.read(0.05)
        raise TimeoutError(f"not seen: {what}\n{self.text()}")

    def until_said(self, words: str, seconds: float) -> float:
        """Read until the screen says `words`; seconds since the start."""
        return self.until(lambda text: words in text, seconds, words)

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def restored(self) -> bool:
        """Main screen again, cursor shown, line discipline as it was."""
        left = self.raw.rfind(b"\x1b[?1049l") > self.raw.rfind(b"\x1b[?1049h")
        shown = self.raw.rfind(b"\x1b[?25h") > self.raw.rfind(b"\x1b[?25l")
        return left and shown and termios.tcgetattr(self._slave)[:4] == self.before[:4]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--watch", type=float, default=6.0, help="seconds in each mode")
    parser.add_argument("--compiled", action="store_true", help="visit the compiled modes too")
    parser.add_argument("--compile-limit", type=float, default=240.0, help="seconds to wait for each of them")
    parser.add_argument("rest", nargs="*")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    columns, rows = (int(n) for n in given.size.split("x"))
    command = [sys.executable, "-m", "idlegap", "--device", given.device, *given.rest]
    root = Path(__file__).resolve().parent.parent
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    term = Terminal(command, columns, rows, given.out)
    seen: dict[str, object] = {"size": given.size, "grids": {}, "rates": {}}

    def keep(name: str) -> None:
        seen["grids"][name] = term.text()  # type: ignore[index]
        (given.out / f"{name}.txt").write_text(term.text() + "\n")
        if found := RATE.search(term.text()):
            seen["rates"][name] = {"p50_ms": float(found[1]), "p99_ms": float(found[2])}  # type: ignore[index]
        old = set(given.out.glob("idlegap-*.svg"))
        term.press("s")
        end = time.monotonic() + 5
        while time.monotonic() < end and not (new := set(given.out.glob("idlegap-*.svg")) - old):
            term.read(0.05)
        if new:
            term.read(0.3)
            shutil.move(new.pop(), given.out / f"{name}.svg")

    def visit(key: str, mode: str, limit: float) -> None:
        term.press(key)
        term.until(lambda t: f"mode {mode}" in t, limit, f"mode {mode}")
        term.read(given.watch)

    def page(key: str, name: str) -> None:
        term.press(key)
        term.read(1.0)
        keep(name)
        term.press("\x1b")
        term.read(0.8)

    try:
        seen["first_paint_s"] = term.until(lambda t: "idlegap" in t, 20, "first paint")
        seen["first_token_s"] = term.until(lambda t: "ms/token" in t and RATE.search(t), 120, "tokens")
        term.read(given.watch)
        keep("eager")
        graphs = "3 graph              n/a" not in term.text()
        if graphs:
            visit(" ", "3 graph", 30)
            keep("graph")
            visit(" ", "2 eager-static", 10)
        visit("1", "1 eager", 10)
        if graphs:
            keep("first-round")
            page("d", "first-round-detail")
            term.until(lambda t: "not counted" not in t, 60, "a second round of eager")
            term.read(given.watch)
            keep("plain-eager")
        for key, name in (("d", "detail"), ("e", "explain"), ("?", "help")):
            page(key, name)
        term.press("p")
        term.until(lambda t: "PAUSED" in t, 10, "PAUSED")
        term.press("p")
        term.until(lambda t: "LIVE" in t, 10, "LIVE again")
        fcntl.ioctl(term.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        term.screen.resize(24, 80)
        # The program has no controlling terminal here, so nothing else tells it.
        term.process.send_signal(signal.SIGWINCH)
        term.read(1.5)
        keep("small")
        fcntl.ioctl(term.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        term.screen.resize(rows, columns)
        term.process.send_signal(signal.SIGWINCH)
        term.read(1.5)
        if graphs:
            visit(" ", "3 graph", 30)
        for key, name, said in SHAPES:
            term.press(key)
            term.until_said(said, 10)
            term.read(given.watch)
            term.until(RATE.search, 60, f"tokens after {key}")
            keep(name)
        for key, mode in (("4", "4 fused"), ("6", "6 fused-graph"), ("5", "5 compiled")):
            if given.compiled and graphs:
                pressed = time.monotonic()
                visit(key, mode, given.compile_limit)
                seen[f"{mode} entered after_s"] = time.monotonic() - pressed - given.watch
        if given.compiled and graphs:
            keep("six-modes")
    finally:
        term.press("q")
        try:
            end = time.monotonic() + 15
            while term.process.poll() is None and time.monotonic() < end:
                term.read(0.05)
            term.read(0.1)
            seen["exit_code"] = term.process.poll()
            seen["terminal_restored"] = term.restored()
            if term.process.poll() is None:
                term.process.kill()
        finally:
            (given.out / "tour.json").write_text(json.dumps(seen, indent=1))
            print(json.dumps({k: v for k, v in seen.items() if k != "grids"}, indent=1))


if __name__ == "__main__":
    main()
