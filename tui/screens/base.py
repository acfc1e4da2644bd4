"""What every screen of the app can do: show a snapshot, painting no more than changed."""

from textual.screen import Screen

from core.snapshot import Snapshot
from tui.tight_compositor import TightCompositor


class SnapshotScreen(Screen[None]):
    """A screen whose content follows from the newest snapshot."""

    BLANK = True

    def __init__(self) -> None:
        super().__init__()
        self._compositor = TightCompositor()

    def show(self, snap: Snapshot) -> None:
        """Show `snap`."""
        raise NotImplementedError
