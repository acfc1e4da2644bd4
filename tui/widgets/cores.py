"""One bar for each CPU core."""

from collections.abc import Sequence

from rich.style import Style

from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.line import Line
from idlegap.tui.widgets.palette import HOST, TEXT, WARN

_RAMPS = {
    GlyphLevel.BRAILLE: "▁▂▃▄▅▆▇█",
    GlyphLevel.BLOCKS: "·░▒▓█",
    GlyphLevel.ASCII: "0123456789",
}
BUSY_PCT = 80.0


def cores_per_bar(cores: int, cells: int) -> int:
    """How many cores share a bar so that all of them fit into `cells`."""
    return max(1, -(-cores // max(1, cells)))


def core_line(core_pct: Sequence[float], decode_core: int | None, cells: int, level: GlyphLevel) -> Line:
    """Bars of `core_pct` (0..100 each), the decode thread's core in its own colour (panels
    name it in words too); with several cores to a bar it shows the busiest of them."""
    group = cores_per_bar(len(core_pct), cells)
    line = Line()
    for first in range(0, len(core_pct), group):
        pct = max(core_pct[first : first + group])
        holds_decode = decode_core is not None and first <= decode_core < first + group
        line.add(_bar(pct, level), _ink(pct, holds_decode))
    return line


def marker_column(core_pct: Sequence[float], decode_core: int | None, cells: int) -> int | None:
    """The cell of the bar that holds the decode thread's core."""
    if decode_core is None or decode_core >= len(core_pct):
        return None
    return decode_core // cores_per_bar(len(core_pct), cells)


def _bar(pct: float, level: GlyphLevel) -> str:
    ramp = _RAMPS[level]
    return ramp[min(len(ramp) - 1, int(max(0.0, pct) / 100 * len(ramp)))]


def _ink(pct: float, holds_decode: bool) -> Style:
    if holds_decode:
        return HOST
    return WARN if pct >= BUSY_PCT else TEXT
