"""Where a replay stands: the length of the recording as a bar, with its switches of mode."""

from idlegap.core.session.snapshot import Playback, Snapshot, TokenPlace
from idlegap.core.text.sanitize import shorten
from idlegap.core.text.units import clock, ms
from idlegap.tui.widgets.line import Line
from idlegap.tui.widgets.palette import DIM, KEY, RULE, STRONG, TEXT, WARN
from idlegap.tui.widgets.panel import Panel

_TOKEN_CELLS = 44
"""For the token that was reached last; the rest is the bar."""

_LEAST_BAR = 10


class PlaybackBar(Panel):
    """One row: time, bar, length, and the token under the head."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        playback = snap.playback
        if playback is None:
            return []
        line = Line().add(f" {clock(playback.position_ns)} ", STRONG)
        total = f" {clock(playback.length_ns)} "
        cells = max(_LEAST_BAR, width - line.cells - len(total) - _TOKEN_CELLS)
        line.extend(_bar(playback, cells)).add(total, DIM)
        at_end = playback.ended and bool(playback.ending)
        words = playback.ending if at_end else token_words(playback.token)
        return [line.add(shorten(words, max(0, width - line.cells)), WARN if at_end else TEXT)]


def token_words(token: TokenPlace | None) -> str:
    """The token that was reached: which it is and what it took."""
    if token is None:
        return ""
    text = f"token {token.index:,} of round {token.round}: {ms(token.token.wall_ns)} ms"
    return f"{text}, {token.excluded}" if token.excluded else text


def playback_words(playback: Playback) -> str:
    """What a replay does now: ``playing 4x``, ``paused``, ``at its end``."""
    if playback.behind:
        return f"catching up {playback.speed:g}x"
    if playback.ended:
        return "at its end"
    return f"playing {playback.speed:g}x" if playback.playing else f"paused {playback.speed:g}x"


def _bar(playback: Playback, cells: int) -> Line:
    """Mode switches are marked, the past is drawn differently from what is to come."""
    length_ns = max(1, playback.length_ns)

    def cell(ns: int) -> int:
        return min(cells - 1, max(0, ns * cells // length_ns))

    head = cell(playback.position_ns)
    switches = {cell(ns) for ns in playback.switches_ns}
    line = Line()
    for at in range(cells):
        if at == head:
            line.add("█", KEY)
        elif at in switches:
            line.add("┊", KEY)
        else:
            line.add("━" if at < head else "─", TEXT if at < head else RULE)
    return line
