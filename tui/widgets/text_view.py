"""The text that a real model writes: the work whose speed all the numbers describe."""

import textwrap

from idlegap.core.session.snapshot import Snapshot
from idlegap.tui.widgets.line import Line
from idlegap.tui.widgets.palette import DIM, TEXT
from idlegap.tui.widgets.panel import Panel


class TextView(Panel):
    """The newest rows of the decoded text."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        room = max(1, width - 8)
        rows = [snap.text[-room:]] if height == 1 else (textwrap.wrap(snap.text, room) or [""])[-height:]
        heads = [" text  ", *["       "] * height]
        return [Line().add(head, DIM).add(row, TEXT) for head, row in zip(heads, rows, strict=False)]
