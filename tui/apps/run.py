"""Showing an app on this process's terminal, and saying afterwards how it ended."""

import gc
import locale
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from idlegap.tui.apps.app import IdlegapApp
from idlegap.tui.exit_codes import ExitCode
from idlegap.tui.terminal.glyphs import GlyphLevel, glyph_level
from idlegap.tui.terminal.output import TerminalOutput, diverted

MakeApp = Callable[[GlyphLevel, TerminalOutput], IdlegapApp]
"""Makes the app for a terminal, given what it can show."""


def run_screen(close: Callable[[], None], make_app: MakeApp, log: Path | None = None) -> int:
    """Show an app on this process's terminal until the screen is left, then `close` what it showed;
    the exit code. With a `log`, what is written to stdout and stderr meanwhile goes there."""
    with ExitStack() as ends:
        output = ends.enter_context(closing(TerminalOutput(sys.stdout.fileno())))
        ends.enter_context(diverted(log))
        ends.callback(close)
        app = make_app(glyph_level(locale.getencoding(), os.environ.get("TERM", "")), output)
        # What is loaded by now stays until the end: no collection need walk it in the midst of a frame.
        gc.freeze()
        app.run(mouse=False)
    for line in app.farewell():
        print(line, file=sys.stderr)
    return app.return_code or ExitCode.DONE
