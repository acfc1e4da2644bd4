"""The last row: what the keys do now."""

from core.modes import REPLAYED
from core.snapshot import Snapshot
from tui.line import Line
from tui.palette import DIM, KEY
from tui.widgets.panel import Panel
from tui.words import is_loading


class KeyBar(Panel):
    """As many keys as fit, the most useful first, always with help and quit."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        ending = _keys([("?", "help"), ("q", "quit")])
        line = Line().add(" ")
        for key, meaning in _wishes(snap):
            if line.cells + len(key) + len(meaning) + 3 + ending.cells <= width:
                line.extend(_keys([(key, meaning)]))
        return [line.extend(ending)]


def _wishes(snap: Snapshot) -> list[tuple[str, str]]:
    if snap.failed is not None:
        return [("R", "restart the engine"), ("d", "detail"), ("e", "explain")]
    if is_loading(snap):
        return [("d", "detail"), ("e", "explain")]
    graph = snap.mode_view(REPLAYED)
    replayable = graph is not None and graph.reason is None
    return [
        *([("space", "→ eager" if snap.mode == REPLAYED else "→ graph")] if replayable else []),
        ("1-6", "mode"),
        ("p", "resume" if snap.paused else "pause"),
        ("m", "measure"),
        ("d", "detail"),
        ("e", "explain"),
        ("t", "restart round"),
        ("v", "verify"),
        ("b B", "batch"),
        ("[ ]", "prompt"),
        ("s", "save"),
    ]


def _keys(keys: list[tuple[str, str]]) -> Line:
    line = Line()
    for key, meaning in keys:
        line.add(key, KEY).add(f" {meaning}  ", DIM)
    return line
