"""The engine has ended: why, what its log said last, and how to go on."""

from idlegap.core.session.snapshot import Snapshot
from idlegap.core.text.sanitize import shorten
from idlegap.tui.widgets.line import Line, title, wrapped
from idlegap.tui.widgets.palette import BAD, DIM, KEY, TEXT
from idlegap.tui.widgets.panel import Panel


class Failure(Panel):
    """An event on the screen, never the end of the app."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        failed = snap.failed
        if failed is None:
            return []
        lines = [title("the engine has ended", "", width)]
        lines += wrapped(failed.reason, width, 3, "   ", BAD)
        lines += wrapped(failed.hint, width, 2, "   ", TEXT)
        keys = _keys(unsupported=failed.unsupported)
        if snap.playback is not None:
            keys = Line().add("   This is what was recorded; the recording may go on from here.", DIM)
        room = height - len(lines) - 1
        if failed.log_tail and room > 3:
            lines.append(Line().add("   the last lines of its log:", DIM))
            room -= 1
        tail = failed.log_tail[-room:] if room > 0 else ()
        lines += [Line().add("   │ ", DIM).add(shorten(text, width - 6), DIM) for text in tail]
        return [*lines[: height - 1], keys]


def _keys(*, unsupported: bool) -> Line:
    line = Line().add("   R", KEY).add(" starts it again   ", TEXT).add("q", KEY)
    return line.add(f" quits with exit code {3 if unsupported else 4}")
