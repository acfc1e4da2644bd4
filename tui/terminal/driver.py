"""Textual's terminal driver on a `TerminalOutput`; it ends the app cleanly when the terminal vanishes."""

import os

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from idlegap.tui.terminal.output import TerminalOutput


class TerminalApp(App[None]):
    """An app that draws on `output`: the terminal, where it is to be counted and watched; None in tests."""

    output: TerminalOutput | None

    def terminal_lost(self) -> None:
        """The terminal has hung up."""
        raise NotImplementedError


class TerminalDriver(LinuxDriver):
    """Draws on the app's `TerminalOutput` rather than on stderr, which thus stays free."""

    def __init__(
        self,
        app: TerminalApp,
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        assert app.output is not None, "the app chooses this driver only with an output"
        self._owner = app
        self._output = app.output
        self._file = app.output  # type: ignore[assignment]

    def run_input_thread(self) -> None:
        """Read keys until the app ends; a terminal that hangs up ends the app cleanly."""
        try:
            super().run_input_thread()
        except OSError:
            self._owner.call_later(self._owner.terminal_lost)

    def stop_application_mode(self) -> None:
        """Give back the terminal, with nothing left on our own screen: once it has been resized, tmux
        (3.3a) moves wide rows of it into the screen that it restores."""
        self.write("\x1b[0m\x1b[2J")
        super().stop_application_mode()

    def _get_terminal_size(self) -> tuple[int, int]:
        """The terminal's own size; fd 1 may lead to a log, and COLUMNS may be old."""
        try:
            width, height = os.get_terminal_size(self._output.fileno())
        except OSError:
            width, height = 0, 0
        return width or 80, height or 24
