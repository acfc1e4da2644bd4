"""The latency strip: the last half minute of tokens on an axis that begins at zero."""

from textual.strip import Strip as Row

from core.snapshot import Snapshot
from tui.line import Line
from tui.widgets.panel import Panel
from tui.widgets.strip_picture import StripPicture


class LatencyStrip(Panel):
    """Draws a `StripPicture`; a frame repaints the newest column only."""

    _picture: StripPicture | None = None

    def repaint_changes(self) -> None:
        width, height = self.size
        if self.snapshot is None or height < 3 or not width:
            return
        picture = self._picture
        if picture is None or (picture.width, picture.height) != (width, height):
            picture = self._picture = StripPicture(width, height, self.level)
            self._rows: dict[int, Row] = {}
        regions = picture.update(self.snapshot.strip, self.snapshot.modes)
        for region in regions:
            for y in region.line_range:
                self._rows.pop(y, None)
        if regions:
            self.touch(regions)

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        """The whole picture of one snapshot."""
        picture = StripPicture(width, height, self.level)
        picture.update(snap.strip, snap.modes)
        return [picture.row(y) for y in range(height)]

    def render_line(self, y: int) -> Row:
        """Row `y`, joined from its cells when it is first asked for."""
        picture = self._picture
        if picture is None or picture.width != self.size.width:
            return super().render_line(y)
        if y not in self._rows:
            self._rows[y] = picture.row(y).strip(picture.width, self.level)
        return self._rows[y]
