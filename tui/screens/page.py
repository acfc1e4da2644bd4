"""A full-screen text that follows the snapshot and scrolls: detail, explanation, help."""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.binding import Binding

from idlegap.core.session.snapshot import Snapshot
from idlegap.core.text.sanitize import shorten
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.line import Line
from idlegap.tui.widgets.palette import BACKGROUND, DIM, KEY, RULE, STRONG, WARN
from idlegap.tui.widgets.panel import Panel
from idlegap.tui.widgets.snapshot_screen import SnapshotScreen

PageText = Callable[[Snapshot, int], list[Line]]
"""The rows of a page for a snapshot and a width."""


class Page(Panel):
    """A title, a window on the rows of `text`, and a last row with keys and notices."""

    DEFAULT_CSS = "Page { height: 1fr; }"

    def __init__(self, level: GlyphLevel, name: str, text: PageText) -> None:
        super().__init__(level)
        self._title = name
        self._text = text
        self._top = 0

    def scroll_by(self, rows: int) -> None:
        """Move the window; `paint` keeps it within the text."""
        self._top += rows
        self.repaint_changes()

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        body = self._text(snap, width)
        room = max(0, height - 2)
        self._top = max(0, min(self._top, len(body) - room))
        shown = body[self._top : self._top + room]
        head = Line().add(f" {self._title} ", STRONG)
        head.add("─" * max(0, width - head.cells - 1), RULE)
        keys = Line().add(" esc", KEY).add(" back", DIM)
        if len(body) > room:
            keys.add("   ↑ ↓", KEY).add(f" rows {self._top + 1}-{self._top + len(shown)} of {len(body)}", DIM)
        if snap.message:
            keys.add("   ! ", WARN).add(shorten(snap.message, max(0, width - keys.cells)), WARN)
        return [head, *shown, *[Line()] * (room - len(shown)), keys]


class PageScreen(SnapshotScreen):
    """One page on a screen of its own; the app's keys still work."""

    DEFAULT_CSS = f"PageScreen {{ background: {BACKGROUND}; overflow: hidden; }}"
    BINDINGS = [
        Binding("escape", "app.close_page", "back"),
        Binding("up,k", "scroll_page(-1)"),
        Binding("down,j", "scroll_page(1)"),
        Binding("pageup", "scroll_page(-10)"),
        Binding("pagedown", "scroll_page(10)"),
        Binding("home", "scroll_page(-100000)"),
        Binding("end", "scroll_page(100000)"),
    ]

    def __init__(self, level: GlyphLevel, name: str, text: PageText) -> None:
        super().__init__()
        self._page = Page(level, name, text)

    def compose(self) -> ComposeResult:
        yield self._page

    def show(self, snap: Snapshot) -> None:
        self._page.show(snap)

    def action_scroll_page(self, rows: int) -> None:
        """Scroll by `rows`."""
        self._page.scroll_by(rows)
        self.draw_touched()
