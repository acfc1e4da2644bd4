"""The live screen: speed, where a token's time goes, and what limits it, at one glance."""

from textual.app import ComposeResult
from textual.containers import Container
from textual.widget import Widget

from idlegap.core.session.snapshot import Snapshot
from idlegap.tui.screens.layout import Need, Plan, plan
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.compact import Compact
from idlegap.tui.widgets.failure import Failure
from idlegap.tui.widgets.gpu_panel import GpuPanel
from idlegap.tui.widgets.header import Header
from idlegap.tui.widgets.host_panel import HostPanel
from idlegap.tui.widgets.key_bar import KeyBar
from idlegap.tui.widgets.loading import Loading
from idlegap.tui.widgets.mode_bars import ModeBars
from idlegap.tui.widgets.palette import BACKGROUND
from idlegap.tui.widgets.panel import Panel
from idlegap.tui.widgets.playback_bar import PlaybackBar
from idlegap.tui.widgets.rate import RatePanel
from idlegap.tui.widgets.readings import is_loading
from idlegap.tui.widgets.sentence import Sentence
from idlegap.tui.widgets.snapshot_screen import SnapshotScreen
from idlegap.tui.widgets.strip.widget import LatencyStrip
from idlegap.tui.widgets.text_view import TextView
from idlegap.tui.widgets.work_panel import WorkPanel


class _PanelBox(Container):
    """The panels, stacked or side by side; it draws nothing itself."""

    BLANK = True


class MainScreen(SnapshotScreen):
    """Lays the panels out by `tui.screens.layout.plan` and gives each one the snapshot."""

    DEFAULT_CSS = f"""
    MainScreen {{ background: {BACKGROUND}; overflow: hidden; }}
    MainScreen #panels {{ height: auto; layout: vertical; overflow: hidden; }}
    MainScreen #panels.side-by-side {{ layout: horizontal; }}
    """

    def __init__(self, level: GlyphLevel) -> None:
        super().__init__()
        self._plan: Plan | None = None
        self._above: list[Panel] = [
            Compact(level, id="compact"),
            Header(level, id="header"),
            RatePanel(level, id="rate"),
            Loading(level, id="loading"),
            Failure(level, id="failure"),
            LatencyStrip(level, id="strip"),
            ModeBars(level, id="bars"),
        ]
        self._side: list[Panel] = [
            HostPanel(level, id="host"),
            GpuPanel(level, id="gpu"),
            WorkPanel(level, id="work"),
        ]
        self._below: list[Panel] = [
            TextView(level, id="text"),
            Sentence(level, id="sentence"),
            PlaybackBar(level, id="playback"),
            KeyBar(level, id="keys"),
        ]
        self._box = _PanelBox(*self._side, id="panels")

    def compose(self) -> ComposeResult:
        yield from self._above
        yield self._box
        yield from self._below

    def show(self, snap: Snapshot) -> None:
        self._arrange(snap)
        for panel in (*self._above, *self._side, *self._below):
            if panel.display:
                panel.show(snap)

    def _arrange(self, snap: Snapshot) -> None:
        width, height = self.app.size
        new = plan(width, height, need_of(snap))
        if new == self._plan:
            return
        self._plan = new
        for panel in (*self._above, *self._side, *self._below):
            rows = getattr(new, str(panel.id))
            _resize(panel, rows)
        self._box.set_class(new.columns > 1, "side-by-side")
        spaced: list[Widget] = [
            w for w in (self._above[1], *self._above[3:], self._box, *self._below) if w.display
        ]
        for i, widget in enumerate(spaced):
            widget.styles.margin = (0, 0, 1, 0) if i < new.spacing else 0


def need_of(snap: Snapshot) -> Need:
    """What the layout has to make room for."""
    return Need(
        modes=len(snap.modes),
        ready_modes=sum(mode.reason is None for mode in snap.modes),
        loading=is_loading(snap),
        failed=snap.failed is not None,
        text=bool(snap.text),
        playback=snap.playback is not None,
    )


def _resize(panel: Panel, rows: int) -> None:
    panel.display = rows > 0
    if rows:
        panel.styles.height = rows
