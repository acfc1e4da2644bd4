"""Showing a feed on this process's terminal, and saying afterwards how it ended."""

import gc
import locale
import os
import sys
from pathlib import Path

from tui.app import IdlegapApp
from tui.exit_codes import ExitCode
from tui.feed import Feed
from tui.glyphs import glyph_level
from tui.terminal import TerminalOutput, diverted


def run_screen(feed: Feed, fps: float, log: Path | None = None) -> int:
    """Show `feed` on this process's terminal until the screen is left; its exit code. With a
    `log`, what is written to stdout and stderr meanwhile goes there."""
    level = glyph_level(locale.getencoding(), os.environ.get("TERM", ""))
    output = TerminalOutput(sys.stdout.fileno())
    app = IdlegapApp(feed, level=level, fps=fps, output=output)
    # What is loaded by now stays until the end: no collection need walk it in the midst of a frame.
    gc.freeze()
    with diverted(log):
        try:
            app.run(mouse=False)
        finally:
            feed.close()
            output.close()
    explain_end(app)
    return app.return_code or ExitCode.DONE


def explain_end(app: IdlegapApp) -> None:
    """Say on stderr why the engine is gone, where it is."""
    failed = app.snapshot.failed
    if failed is None:
        return
    print(f"idlegap: {failed.reason}", file=sys.stderr)
    if failed.hint:
        print(f"  {failed.hint}", file=sys.stderr)
