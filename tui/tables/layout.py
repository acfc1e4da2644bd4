"""Plain text tables and paragraphs, for any terminal and for pasting."""

import textwrap
from collections.abc import Sequence

NARROW = 80
WIDE = 120


def table(rows: Sequence[Sequence[str]], *, gap: int = 2, left: int = 1) -> list[str]:
    """Lines with `rows` in columns as wide as needed; the first `left` columns are aligned to
    the left, the others to the right. All rows must be equally long."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        (" " * gap)
        .join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        .rstrip()
        for row in rows
    ]


def paragraph(text: str, width: int, *, first: str = "", rest: str | None = None) -> list[str]:
    """`text` wrapped to `width`; the first line begins with `first`, the others with `rest`
    (None: as much space)."""
    later = " " * len(first) if rest is None else rest
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=True,
        break_on_hyphens=False,
    ) or [first.rstrip()]
