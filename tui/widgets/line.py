"""One row of the screen while it is being written, and what changed between two rows."""

from collections.abc import Iterator
from itertools import chain, repeat

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.terminal.sanitize import clean
from idlegap.tui.widgets.palette import TEXT

MERGE_CELLS = 12
"""Repainting this many unchanged cells costs about as many bytes as a second cursor move and
another change of colour on average, so nearer changes become one span."""


class Line:
    """Text with styles, built from left to right. Positions are terminal cells."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self.cells = 0

    def add(self, text: str, style: Style = TEXT) -> "Line":
        """Append `text`, made harmless: all text on the screen passes here."""
        if text:
            text = clean(text)
            last = self._segments[-1] if self._segments else None
            if last is not None and last.style is style:
                self._segments[-1] = Segment(last.text + text, style)
            else:
                self._segments.append(Segment(text, style))
            self.cells += len(text) if text.isascii() else cell_len(text)
        return self

    def to(self, column: int) -> "Line":
        """Fill with blanks up to `column`; nothing where the row is longer already."""
        return self.add(" " * (column - self.cells))

    def right(self, text: str, width: int, style: Style = TEXT) -> "Line":
        """Put `text` at the right end of a row of `width`, where it fits."""
        if self.cells + cell_len(text) < width:
            self.to(width - cell_len(text)).add(text, style)
        return self

    def extend(self, other: "Line") -> "Line":
        """Append everything of `other`."""
        self._segments.extend(other._segments)
        self.cells += other.cells
        return self

    def strip(self, width: int, level: GlyphLevel) -> Strip:
        """The finished row: exactly `width` cells, in characters that `level` can show."""
        segments = self._segments
        if level is not GlyphLevel.BRAILLE:
            segments = [Segment(level.text(text), style) for text, style, _ in segments]
        if self.cells < width:
            segments = [*segments, Segment(" " * (width - self.cells), TEXT)]
        strip = Strip(segments, max(self.cells, width))
        return strip if self.cells <= width else strip.crop(0, width)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Line) and self._segments == other._segments

    __hash__ = None  # type: ignore[assignment]

    @property
    def plain(self) -> str:
        """The text alone."""
        return "".join(segment.text for segment in self._segments)


def changed_spans(old: Strip, new: Strip) -> list[tuple[int, int]]:
    """Where two rows of equal width differ, as (start, end) cells, nearby spans merged."""
    before, after = old.text, new.text
    width = new.cell_length
    if len(before) != width or len(after) != width:
        # Wide characters: positions in the text are not cells.
        return [] if old == new else [(0, width)]
    changed = [x for x, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    old_runs, new_runs = _style_runs(old), _style_runs(new)
    if old_runs != new_runs:
        styles = zip(_spread(old_runs), _spread(new_runs), strict=True)
        changed = sorted({*changed, *(x for x, (a, b) in enumerate(styles) if a is not b and a != b)})
    spans: list[tuple[int, int]] = []
    for x in changed:
        if spans and x - spans[-1][1] <= MERGE_CELLS:
            spans[-1] = (spans[-1][0], x + 1)
        else:
            spans.append((x, x + 1))
    return spans


def _style_runs(strip: Strip) -> list[tuple[int, Style | None]]:
    return [(len(text), style) for text, style, _ in strip]


def _spread(runs: list[tuple[int, Style | None]]) -> Iterator[Style | None]:
    return chain.from_iterable(repeat(style, cells) for cells, style in runs)
