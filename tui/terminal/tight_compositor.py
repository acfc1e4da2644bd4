"""Repaint exactly the changed cells of a row, without repeating escape sequences.

Textual's compositor keeps track of the changed spans, but writes each one from the left edge
of its widget, and sets and resets colours for every piece of text. For a chart that fills
from left to right this would send the whole chart with every frame. These two classes write
only what lies within a span, and change colours only where they change. They lean on
Textual's private compositor, which is one more reason why its version is pinned exactly.
"""

from collections.abc import Iterable
from functools import lru_cache

from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region

_RESET = "\x1b[0m"


class TightUpdate(ChopsUpdate):
    """An update that writes only the cells between both ends of each span."""

    def render_segments(self, console: Console) -> str:
        """The terminal sequences of this update."""
        pen = _Pen(console._color_system or ColorSystem.TRUECOLOR)
        for y, start, end in self.spans:
            for chop_end, (chop_start, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=True):
                left, right = max(start, chop_start), min(end, chop_end)
                if strip is not None and left < right:
                    pen.move(left, y)
                    pen.write(strip.crop(left - chop_start, right - chop_start))
        return pen.finish()


class TightCompositor(Compositor):
    """Textual's compositor with tight partial updates."""

    @property
    def touched(self) -> bool:
        """Whether anything waits to be drawn."""
        return bool(self._dirty_regions)

    def touch(self, regions: Iterable[Region]) -> None:
        """Have these regions of the screen drawn with the next update."""
        self._dirty_regions.update(regions)

    def render_partial_update(self) -> ChopsUpdate | None:
        """The update for the regions that are dirty now, None where there are none."""
        update = super().render_partial_update()
        return update and TightUpdate(update.chops, update.spans, update.chop_ends)


class _Pen:
    """Collects terminal sequences and knows which style is on."""

    def __init__(self, colors: ColorSystem) -> None:
        self._colors = colors
        self._style: Style | None = None
        self._out: list[str] = []

    def move(self, x: int, y: int) -> None:
        self._out.append(f"\x1b[{y + 1};{x + 1}H")

    def write(self, segments: Iterable[Segment]) -> None:
        for text, style, _ in segments:
            self._use(style or Style.null(), blank=text.isspace())
            self._out.append(text)

    def finish(self) -> str:
        if self._style is not None:
            self._out.append(_RESET)
        return "".join(self._out)

    def _use(self, style: Style, *, blank: bool) -> None:
        now = self._style
        if now is style or (now is not None and (now == style or (blank and _same_blank(now, style)))):
            return
        self._out.append(_begin(style, self._colors) if now is None else _RESET + _begin(style, self._colors))
        self._style = style


def _same_blank(one: Style, other: Style) -> bool:
    """Whether a blank looks the same in both styles."""
    decorated = one.reverse or other.reverse or one.underline or other.underline or one.strike or other.strike
    return one.bgcolor == other.bgcolor and not decorated


@lru_cache(maxsize=256)
def _begin(style: Style, colors: ColorSystem) -> str:
    """The sequence that turns `style` on."""
    return style.render("\0", color_system=colors).partition("\0")[0]
