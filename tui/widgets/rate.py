"""How fast it decodes now, and in which way: the first thing that anyone reads."""

from collections.abc import Callable

from rich.style import Style

from idlegap.core.protocol.modes import BASELINE, mode_spec
from idlegap.core.session.snapshot import ModeView, Snapshot
from idlegap.core.text import units
from idlegap.core.text.names import mode_words
from idlegap.core.text.sanitize import shorten
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.digits import ROWS, big
from idlegap.tui.widgets.line import Line
from idlegap.tui.widgets.palette import DIM, GOOD, KEY, STRONG, TEXT, WARN
from idlegap.tui.widgets.panel import Panel
from idlegap.tui.widgets.readings import current

BIG_WIDTH = 64
_SLOT = 16
"""Cells of a big number of four digits."""

_FACTS_AT = 53


class RatePanel(Panel):
    """Tokens per second and milliseconds per token, large where there is room; dim, and called
    the last ones, while nothing decodes."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        if height < ROWS or width < BIG_WIDTH or self.level is GlyphLevel.ASCII:
            return _small(snap, width, height)
        # Among digits of this size a comma would pass for a point.
        speed, latency = _figures(snap, units.fitted)
        lines = []
        ink, units_ink = _inks(snap)
        for row, (left, right) in enumerate(zip(big(speed), big(latency), strict=True)):
            last = row == ROWS - 1
            line = Line().to(1 + _SLOT - len(left)).add(left, ink)
            line.add(" tok/s" if last else "", units_ink).to(26 + _SLOT - len(right)).add(right, ink)
            line.add(" ms/token" if last else "", units_ink).to(_FACTS_AT)
            lines.append(line)
        for line, (text, style) in zip(lines, _facts(snap, width - _FACTS_AT), strict=False):
            line.add(shorten(text, width - _FACTS_AT), style)
        return lines


def _inks(snap: Snapshot) -> tuple[Style, Style]:
    """Styles of the figures and of their units."""
    return (DIM, DIM) if snap.halted else (STRONG, TEXT)


def _figures(snap: Snapshot, rate: Callable[[float, int], str]) -> tuple[str, str]:
    """Tokens per second, as `rate` writes them, and milliseconds per token."""
    if snap.rate is None:
        return "-", "-"
    return rate(snap.rate.tok_per_s, 4).strip(), units.ms(snap.rate.mean_ns, 4).strip()


def _facts(snap: Snapshot, room: int) -> list[tuple[str, Style]]:
    view = current(snap)
    if view is None or snap.mode is None:
        return []
    figures_ink = _inks(snap)[1]
    words = f"mode {mode_words(snap.mode)}"
    facts = [(f"last: {words}", DIM) if snap.halted and snap.rate is not None else (words, KEY)]
    if snap.rate is not None:
        facts.append(
            (f"p50 {units.ms(snap.rate.p50_ns, 4)}  p99 {units.ms(snap.rate.p99_ns, 4)}", figures_ink)
        )
    if snap.at_new_length:
        facts.append(("not counted: new lengths", WARN))
    elif view.speedup is not None and snap.mode != BASELINE:
        ink = GOOD if view.speedup > 1 and not snap.halted else figures_ink
        facts.append((_speedups(snap, view, room), ink))
    else:
        facts.append((mode_spec(snap.mode).summary, DIM))
    return facts


def _speedups(snap: Snapshot, view: ModeView, room: int) -> str:
    """Against eager-static, the controlled comparison; and against `eager` where that is the
    faster of the two, which is what a user gains."""
    against_static = units.times(view.speedup or 0)
    eager = snap.mode_view("eager")
    if view.name == "eager" or eager is None or eager.speedup is None or eager.speedup <= 1:
        return f"{against_static} vs {BASELINE}"
    against_eager = units.times((view.speedup or 0) / eager.speedup)
    text = f"{against_static} vs {BASELINE}, {against_eager} vs eager"
    return text if len(text) <= room else f"{against_static} static, {against_eager} eager"


def _small(snap: Snapshot, width: int, height: int) -> list[Line]:
    speed, latency = _figures(snap, units.rate)
    ink, units_ink = _inks(snap)
    line = Line().add(f" {speed.rjust(5)}", ink).add(" tok/s  ", units_ink)
    line.add(f"{latency.rjust(4)}", ink).add(" ms/token  ", units_ink)
    rest = _facts(snap, width - line.cells)
    if height == 1:
        for text, style in (*rest[1:], *rest[:1]):
            if line.cells + len(text) + 2 <= width:
                line.add(text, style).add("  ")
        return [line]
    lines = [line, *(Line().add(" ") for _ in rest[1:])]
    for row, (text, style) in zip([*lines[1:2], *lines[1:]], rest, strict=True):
        row.add(f" {text} ", style)
    return lines
