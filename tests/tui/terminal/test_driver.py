"""The terminal driver, where it differs from Textual's."""

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Iterator

import pytest

from idlegap.tui.apps.app import IdlegapApp
from idlegap.tui.terminal.driver import TerminalDriver
from idlegap.tui.terminal.output import TerminalOutput
from tests.tui.support.fake_session import FakeSession
from tests.tui.support.scenes import NOW_NS, eager_and_graph
from tests.tui.support.waiting import until


@pytest.fixture
def output() -> Iterator[TerminalOutput]:
    master, slave = pty.openpty()
    terminal = TerminalOutput(slave)
    yield terminal
    terminal.close()
    os.close(slave)
    os.close(master)


def app_on(output: TerminalOutput) -> IdlegapApp:
    return IdlegapApp(FakeSession.still(eager_and_graph()), clock=lambda: NOW_NS, output=output)


async def test_a_terminal_whose_keys_cannot_be_read_ends_the_app_as_a_hang_up(output: TerminalOutput) -> None:
    app = app_on(output)
    async with app.run_test() as pilot:
        driver = TerminalDriver(app)
        gone = os.dup(output.fileno())
        os.close(gone)
        driver.fileno = gone
        driver.run_input_thread()
        await until(pilot, lambda: app.return_code is not None)
    assert app.return_code == 129


async def test_the_size_is_the_terminals_own_whatever_the_environment_says(
    output: TerminalOutput, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "33")
    fcntl.ioctl(output.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    app = app_on(output)
    async with app.run_test():
        assert TerminalDriver(app)._get_terminal_size() == (120, 40)


async def test_a_terminal_without_a_size_counts_as_80x24(output: TerminalOutput) -> None:
    fcntl.ioctl(output.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    app = app_on(output)
    async with app.run_test():
        assert TerminalDriver(app)._get_terminal_size() == (80, 24)
