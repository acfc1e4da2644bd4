"""The terminal as a file: a real pseudo-terminal stands behind it."""

import os
import pty
import threading
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from idlegap.tui.terminal.output import RELEASE_NS, STALL_NS, TerminalOutput, diverted

MORE_THAN_A_PTY_HOLDS = "x" * 1_000_000


class Terminal:
    """Both ends of a pseudo-terminal and a clock that the test moves."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        self.output = TerminalOutput(self.slave, lambda: self.now_ns)

    def hang_up(self) -> None:
        os.close(self.master)
        self.master = -1

    def close(self) -> None:
        self.output.close()
        os.close(self.slave)
        if self.master >= 0:
            os.close(self.master)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    both = Terminal()
    yield both
    both.close()


def test_everything_arrives_and_is_counted(terminal: Terminal) -> None:
    assert terminal.output.write("▓ µ\x1b[0m") == 7
    expected = "▓ µ\x1b[0m".encode()
    assert os.read(terminal.master, 100) == expected
    assert terminal.output.bytes_written == len(expected)
    assert terminal.output.isatty()


def test_a_terminal_that_hung_up_swallows_everything(terminal: Terminal) -> None:
    terminal.hang_up()
    assert terminal.output.write("x") == 1
    assert terminal.output.lost
    assert not terminal.output.isatty()
    assert terminal.output.bytes_written == 0


def test_a_terminal_that_takes_nothing_is_noticed_and_given_up_only_at_the_end(terminal: Terminal) -> None:
    writer = threading.Thread(target=terminal.output.write, args=(MORE_THAN_A_PTY_HOLDS,))
    writer.start()
    while terminal.output.bytes_written == 0:
        pass
    assert not terminal.output.stalled()
    terminal.now_ns = STALL_NS + 1
    assert terminal.output.stalled()
    terminal.output.release()
    terminal.now_ns += RELEASE_NS + 1
    writer.join(timeout=30)
    assert not writer.is_alive()
    assert not terminal.output.stalled()
    assert 0 < terminal.output.bytes_written < len(MORE_THAN_A_PTY_HOLDS)


def test_a_slow_reader_gets_all_of_it(terminal: Terminal) -> None:
    writer = threading.Thread(target=terminal.output.write, args=(MORE_THAN_A_PTY_HOLDS,))
    writer.start()
    received = 0
    while received < len(MORE_THAN_A_PTY_HOLDS):
        received += len(os.read(terminal.master, 65_536))
    writer.join(timeout=30)
    assert terminal.output.bytes_written == received == len(MORE_THAN_A_PTY_HOLDS)


def test_libraries_are_diverted_into_a_log_and_back(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "deep" / "engine.log"
    os.write(1, b"before ")
    with diverted(log):
        os.write(1, b"out ")
        os.write(2, b"err ")
    os.write(1, b"after")
    assert log.read_text() == "out err "
    assert capfd.readouterr().out == "before after"


def test_no_log_means_no_diversion(capfd: pytest.CaptureFixture[str]) -> None:
    with diverted(None):
        os.write(1, b"seen")
    assert capfd.readouterr().out == "seen"
