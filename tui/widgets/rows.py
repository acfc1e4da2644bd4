"""Rows that several panels are made of."""

import textwrap

from rich.style import Style

from idlegap.tui.widgets.line import Line
from idlegap.tui.widgets.palette import DIM, RULE, STRONG, TEXT
from idlegap.tui.widgets.units import shorten, without_reason

LABEL_AT = 7
"""Where the readings begin in the two-row panels."""

VALUE_AT = 24
"""Where the values begin in the tall panels."""


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
