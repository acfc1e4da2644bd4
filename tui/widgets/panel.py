"""The base of every widget: paint rows from a snapshot, repaint only what changed."""

from textual.color import Color
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from core.snapshot import Snapshot
from tui.glyphs import GlyphLevel
from tui.line import Line, changed_spans
from tui.palette import BACKGROUND, TEXT
from tui.screens.base import SnapshotScreen

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

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        """The rows to show, at most `height` of them, each cut at `width`."""
        raise NotImplementedError

    def show(self, snap: Snapshot) -> None:
        """Take a new snapshot and repaint what it changes."""
        self.snapshot = snap
        self.repaint_changes()

    def repaint_changes(self) -> None:
        """Paint the snapshot and have the cells drawn that differ from the last time."""
        width, height = self.size
        if self.snapshot is None or not width or not height:
            return
        lines = self.paint(self.snapshot, width, height)[:height]
        lines += [Line() for _ in range(height - len(lines))]
        if len(lines) != len(self._lines):
            self._lines, self._strips = lines, [line.strip(width, self.level) for line in lines]
            self.refresh()
            return
        regions = []
        for y, (before, after) in enumerate(zip(self._lines, lines, strict=True)):
            if after != before:
                old, new = self._strips[y], after.strip(width, self.level)
                self._strips[y] = new
                regions += [Region(start, y, end - start, 1) for start, end in changed_spans(old, new)]
        self._lines = lines
        if regions:
            self.touch(regions)

    def touch(self, regions: list[Region]) -> None:
        """Have these regions drawn with the frame that is being made."""
        screen = self.screen
        if isinstance(screen, SnapshotScreen):
            screen.touch(self, regions)

    def on_resize(self) -> None:
        """A new size: every row is painted anew."""
        self._lines = []
        self.repaint_changes()

    def render_line(self, y: int) -> Strip:
        """Row `y`, which may be asked for before the resize event for a new size came."""
        width = self.size.width
        if y < len(self._strips):
            return self._strips[y].adjust_cell_length(width, TEXT)
        return Strip.blank(width, TEXT)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows of `crop`. Panels have neither borders nor padding, so Textual's cache of
        styled rows, the dearest part of a frame, has nothing to add."""
        rows = [self.render_line(y) for y in crop.line_range]
        for line_filter in self.get_line_filters():
            rows = [row.apply_filter(line_filter, _BACKGROUND) for row in rows]
        return [row.crop(crop.x, crop.right) for row in rows]
