"""The latency strip: the last half minute of tokens on an axis that begins at zero."""

from textual.geometry import Region
from textual.strip import Strip as Row

from idlegap.core.session.snapshot import Snapshot
from idlegap.tui.widgets.line import Line
from idlegap.tui.widgets.panel import Panel
from idlegap.tui.widgets.strip.picture import StripPicture


class LatencyStrip(Panel):
    """Draws a `StripPicture`; a frame repaints the newest column only."""

    _picture: StripPicture

    def make_rows(self, snap: Snapshot) -> None:
        self._picture = StripPicture(*self.size, self.level)
        self._picture.update(snap.strip, snap.modes)
        self._rows: dict[int, Row] = {}

    def update_rows(self, snap: Snapshot) -> list[Region]:
        regions = self._picture.update(snap.strip, snap.modes)
        for region in regions:
            for y in region.line_range:
                self._rows.pop(y, None)
        return regions

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        """The whole picture of one snapshot."""
        picture = StripPicture(width, height, self.level)
        picture.update(snap.strip, snap.modes)
        return [picture.row(y) for y in range(height)]

    def render_line(self, y: int) -> Row:
        """Row `y`, joined from its cells when it is first asked for."""
        if self.snapshot is None:
            return super().render_line(y)
        if y not in self._rows:
            self._rows[y] = self._picture.row(y).strip(self._picture.width, self.level)
        return self._rows[y]
