"""What every screen of the app can do: show a snapshot, painting no more than changed."""

from collections.abc import Iterable

from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget

from idlegap.core.session.snapshot import Snapshot
from idlegap.tui.terminal.tight_compositor import TightCompositor


class SnapshotScreen(Screen[None]):
    """A screen whose content follows from the newest snapshot.

    A frame is one write to the terminal: panels say which of their cells changed (`touch`),
    and `draw_touched` draws all of these at once. Textual's own way, a message from each widget
    to its screen, costs a fifth of a frame's CPU time and draws the same.
    """

    BLANK = True

    def __init__(self) -> None:
        super().__init__()
        self._tight = TightCompositor()
        self._compositor = self._tight

    def show(self, snap: Snapshot) -> None:
        """Show `snap`."""
        raise NotImplementedError

    def touch(self, widget: Widget, regions: Iterable[Region]) -> None:
        """These regions of `widget`, relative to it, look different now."""
        self._tight.touch(region.translate(widget.region.offset) for region in regions)

    def draw_touched(self) -> None:
        """Draw what was touched, unless Textual is about to draw more of this screen anyway."""
        if self._tight.touched and not self._layout_required and not self._dirty_widgets:
            self._compositor_refresh()
