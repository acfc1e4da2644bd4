"""Rows of the screen while they are being written, and what changed between two of them."""

import textwrap
from collections.abc import Iterator
from itertools import chain, repeat

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from idlegap.core.text.sanitize import printable, shorten
from idlegap.core.text.units import without_reason
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.palette import DIM, RULE, STRONG, TEXT

MERGE_CELLS = 12
"""Repainting this many unchanged cells costs about as many bytes as a second cursor move and
another change of colour on average, so nearer changes become one span."""

LABEL_AT = 7
"""Where the readings begin in the two-row panels."""

VALUE_AT = 24
"""Where the values begin in the tall panels."""


class Line:
    """Text with styles, built from left to right. Positions are terminal cells."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self.cells = 0

    def add(self, text: str, style: Style = TEXT) -> "Line":
        """Append `text`, made printable: all text on the screen passes here."""
        if text:
            text = printable(text)
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

    def gauge(self, share: float, cells: int, style: Style) -> "Line":
        """A bar of `cells` that is filled up to `share` (0..1)."""
        filled = round(min(1.0, max(0.0, share)) * cells)
        return self.add("█" * filled, style).add("░" * (cells - filled), DIM)

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


def title(name: str, what: str, width: int) -> Line:
    """A panel's title row: its name, what it is about, and a rule to the end."""
    line = Line().add(f" {name} ", STRONG)
    if what:
        line.add(f"{shorten(what, max(0, width - line.cells - 3))} ", DIM)
    return line.add("─" * max(0, width - line.cells - 1), RULE)


def labelled(label: str, value: str, width: int, style: Style = TEXT) -> Line:
    """One reading: what it is, then its value."""
    return Line().add(f" {label}", DIM).to(VALUE_AT).add(shorten(value, max(0, width - VALUE_AT)), style)


def joined(line: Line, items: list[tuple[str, str]], width: int) -> Line:
    """Append named readings to `line`, with a dot between them. Where they are too long, the
    reasons of missing ones are left out (the explanation page has them), then the last ones."""
    shown = list(items)
    for i in reversed(range(len(shown))):
        if line.cells + sum(len(name) + len(value) + 4 for name, value in shown) <= width + 3:
            break
        shown[i] = (shown[i][0], without_reason(shown[i][1]))
    for i, (name, value) in enumerate(shown):
        if line.cells + len(name) + len(value) + 4 <= width or i == 0:
            line.add(" · " if i else "", DIM).add(f"{name} " if name else "", DIM).add(value)
    return line


def wrapped(text: str, width: int, rows: int, lead: str, style: Style) -> list[Line]:
    """`text` in at most `rows` rows behind `lead`; what does not fit ends in an ellipsis."""
    room = max(1, width - len(lead) - 1)
    pieces = textwrap.wrap(text, room) if text else []
    if len(pieces) > rows:
        pieces = [*pieces[: rows - 1], shorten(" ".join(pieces[rows - 1 :]), room)]
    leads = [lead, *[" " * len(lead)] * rows]
    return [Line().add(first + piece, style) for first, piece in zip(leads, pieces, strict=False)]


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
