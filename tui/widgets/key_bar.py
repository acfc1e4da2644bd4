"""The last row: what the keys do now."""

from idlegap.core.protocol.modes import REPLAYED
from idlegap.core.session.snapshot import Playback, Snapshot
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.line import Line
from idlegap.tui.widgets.palette import DIM, KEY
from idlegap.tui.widgets.panel import Panel
from idlegap.tui.widgets.readings import is_loading

_APART = "  "


class KeyBar(Panel):
    """As many keys as fit, the most useful first, always with help and quit."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        ending = _keys([("?", "help"), ("q", "quit")])
        line = Line().add(" ")
        room = width + len(_APART) - ending.cells
        for key, meaning in _wishes(snap, self.level):
            if line.cells + len(key) + len(meaning) + 1 + len(_APART) <= room:
                line.extend(_keys([(key, meaning)]))
        return [line.extend(ending)]


def _wishes(snap: Snapshot, level: GlyphLevel) -> list[tuple[str, str]]:
    if snap.playback is not None:
        return _replay_wishes(snap.playback, level)
    if snap.failed is not None:
        ours = [("N", "end a neighbour")] if snap.neighbours else []
        return [("R", "restart the engine"), *ours, ("d", "detail"), ("e", "explain")]
    if is_loading(snap):
        return [("d", "detail"), ("e", "explain")]
    graph = snap.mode_view(REPLAYED)
    replayable = graph is not None and graph.reason is None
    return [
        *([("space", "→ eager" if snap.mode == REPLAYED else "→ graph")] if replayable else []),
        ("1-6", "mode"),
        ("n N" if snap.neighbours else "n", "neighbour"),
        ("w", "why"),
        ("e", "explain"),
        ("d", "detail"),
        ("p", "resume" if snap.paused else "pause"),
        ("m", "measure"),
        ("r", "stop recording" if snap.recording and not snap.recording.problem else "record"),
        ("t", "restart round"),
        ("v", "verify"),
        ("b B", "batch"),
        ("[ ]", "prompt"),
        ("s", "save"),
    ]


def _replay_wishes(playback: Playback, level: GlyphLevel) -> list[tuple[str, str]]:
    # In ASCII an arrow looks like the key that goes to the next mode.
    arrows = "arrows" if level is GlyphLevel.ASCII else "← →"
    return [
        ("space", "pause" if playback.playing else "play"),
        (".", "token"),
        (">", "mode"),
        ("!", "slow"),
        (arrows, "5 s"),
        ("+ -", "speed"),
        ("w", "why"),
        ("e", "explain"),
        ("d", "detail"),
        ("s", "save"),
    ]


def _keys(keys: list[tuple[str, str]]) -> Line:
    line = Line()
    for key, meaning in keys:
        line.add(key, KEY).add(f" {meaning}{_APART}", DIM)
    return line
