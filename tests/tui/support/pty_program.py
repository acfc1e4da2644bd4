"""A program on a real pseudo-terminal, with a model of its screen."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyte

ENTRY = Path(__file__).with_name("entry.py")
ROOT = Path(__file__).resolve().parents[3]
DEADLINE_S = 30.0
ALTERNATE_SCREEN = 1049 << 5
"""Pyte keeps private modes shifted like this."""


class PtyProgram:
    """Runs `command` with a pseudo-terminal as stdin and stdout; stderr is a pipe.

    With `controlling` it is the program's controlling terminal, so that hanging up sends
    SIGHUP; without it, and with SIGHUP ignored, the program is like one under nohup.
    """

    def __init__(
        self,
        command: list[str],
        *,
        size: tuple[int, int] = (80, 24),
        controlling: bool = True,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.master, self.slave = pty.openpty()
        self.screen = pyte.Screen(*size)
        self.resize(size)
        self.before = termios.tcgetattr(self.slave)
        self._stream = pyte.ByteStream(self.screen)
        ours = ("TEXTUAL", "NO_COLOR", "LC_", "LANG", "COLORTERM")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        inherited |= {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "TEXTUAL_DISABLE_KITTY_KEY": "1"}

        def prepare() -> None:
            if controlling:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            else:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)

        self.process = subprocess.Popen(
            command,
            stdin=self.slave,
            stdout=self.slave,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=inherited | (environment or {}),
            start_new_session=True,
            preexec_fn=prepare,
        )

    @classmethod
    def screen_of(cls, report: Path, scene: str = "moving", **options: Any) -> "PtyProgram":
        """The real screen on a fake session, which writes what it was asked to `report`."""
        return cls([sys.executable, str(ENTRY), str(report), scene], **options)

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Take in the program's output until `condition` holds.

        Raises:
            AssertionError: with the screen, when it does not within the deadline.
        """
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, f"never saw {what}:\n" + "\n".join(self.screen.display)
            self._read(0.02)

    def wait_for_text(self, text: str) -> None:
        """Until `text` is on the screen."""
        self.wait_for(lambda: any(text in row for row in self.screen.display), text)

    def press(self, keys: str) -> None:
        """Type `keys`."""
        os.write(self.master, keys.encode())

    def resize(self, size: tuple[int, int]) -> None:
        """Make the terminal `size` (columns, rows); a program whose terminal it is gets SIGWINCH."""
        width, height = size
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.screen.resize(height, width)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        self.process.send_signal(number)

    def hang_up(self) -> None:
        """Close the terminal's other end, as a dropped connection does."""
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def wait(self) -> int:
        """Until the program has ended; its exit code."""
        if self.master < 0:
            return self.process.wait(DEADLINE_S)
        self.wait_for(lambda: self.process.poll() is not None, "the end of the program")
        self._read(0)
        return self.process.returncode

    @property
    def stderr(self) -> str:
        """What an ended program wrote to stderr."""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    @property
    def nothing_left(self) -> bool:
        """Whether the alternate screen was left empty. The emulator goes on showing it, and writes the
        last letter of a sequence (``CSI < u``, keyboard protocol) that it does not know."""
        return "".join(self.screen.display).strip() in ("", "u")

    @property
    def terminal_restored(self) -> bool:
        """Whether alternate screen, cursor and line discipline are as they were."""
        modes = self.screen.mode
        same = termios.tcgetattr(self.slave) == self.before
        return ALTERNATE_SCREEN not in modes and not self.screen.cursor.hidden and same

    @property
    def on_alternate_screen(self) -> bool:
        """Whether the program draws on the alternate screen."""
        return ALTERNATE_SCREEN in self.screen.mode

    def close(self) -> None:
        """Make sure that nothing is left."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)

    def _read(self, timeout_s: float) -> None:
        while select.select([self.master], [], [], timeout_s)[0]:
            self._stream.feed(os.read(self.master, 65_536))
            timeout_s = 0


def asked(report: Path) -> dict[str, Any]:
    """What the fake session was asked, from an ended program's report."""
    told: dict[str, Any] = json.loads(report.read_text())
    return told
