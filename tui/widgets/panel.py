"""The base of every widget: paint rows from a snapshot, repaint only what changed."""

from textual.color import Color
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from idlegap.core.session.snapshot import Snapshot
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.line import Line, changed_spans
from idlegap.tui.widgets.palette import BACKGROUND, TEXT
from idlegap.tui.widgets.snapshot_screen import SnapshotScreen

_BACKGROUND = Color.parse(BACKGROUND)


class Panel(Widget):
    """A rectangle of text that is a pure function of the newest snapshot and its size.

    Subclasses write `paint`. A frame repaints the cells that differ from the last frame and
    nothing else, which keeps the traffic to a slow terminal small.
    """

    DEFAULT_CSS = "Panel { width: 1fr; height: 1; }"

    def __init__(self, level: GlyphLevel, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.level = level
        self.snapshot: Snapshot | None = None
        self._lines: list[Line] = []
        self._strips: list[Strip] = []
        self._painted_for: Size | None = None

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        """The rows to show, at most `height` of them, each cut at `width`."""
        raise NotImplementedError

    def show(self, snap: Snapshot) -> None:
        """Take a new snapshot and repaint what it changes."""
        self.snapshot = snap
        self.repaint_changes()

    def repaint_changes(self) -> None:
        """Paint the snapshot and have the cells that changed drawn."""
        if self.snapshot is None:
            return
        if self._painted_for != self.size:
            # Textual draws the whole panel, which is painted when it does.
            self.refresh()
        elif regions := self.update_rows(self.snapshot):
            self.touch(regions)

    def make_rows(self, snap: Snapshot) -> None:
        """Paint `snap` at a new size."""
        self._lines = self._painted(snap)
        self._strips = [line.strip(self.size.width, self.level) for line in self._lines]

    def update_rows(self, snap: Snapshot) -> list[Region]:
        """Paint `snap` at the same size as before; where it looks different."""
        lines = self._painted(snap)
        regions = []
        for y, (before, after) in enumerate(zip(self._lines, lines, strict=True)):
            if after != before:
                old, new = self._strips[y], after.strip(self.size.width, self.level)
                self._strips[y] = new
                regions += [Region(start, y, end - start, 1) for start, end in changed_spans(old, new)]
        self._lines = lines
        return regions

    def touch(self, regions: list[Region]) -> None:
        """Have these regions drawn with the frame that is being made."""
        screen = self.screen
        if isinstance(screen, SnapshotScreen):
            screen.touch(self, regions)

    def render_line(self, y: int) -> Strip:
        """Row `y`; blank before the first snapshot."""
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width, TEXT)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows of `crop`. Panels have neither borders nor padding, so Textual's cache of
        styled rows, the costliest part of a frame, has nothing to add."""
        if self.snapshot is not None and self._painted_for != self.size:
            self.make_rows(self.snapshot)
            self._painted_for = self.size
        rows = [self.render_line(y) for y in crop.line_range]
        for line_filter in self.get_line_filters():
            rows = [row.apply_filter(line_filter, _BACKGROUND) for row in rows]
        return [row.crop(crop.x, crop.right) for row in rows]

    def _painted(self, snap: Snapshot) -> list[Line]:
        """As many rows as the panel is high."""
        width, height = self.size
        lines = self.paint(snap, width, height)[:height]
        return lines + [Line() for _ in range(height - len(lines))]
