"""One plain sentence on what limits this machine now, or what just happened."""

from idlegap.core.phrasing.sentence import limiting_sentence
from idlegap.core.session.snapshot import Snapshot
from idlegap.tui.widgets.line import Line, wrapped
from idlegap.tui.widgets.palette import SENTENCE, WARN
from idlegap.tui.widgets.panel import Panel
from idlegap.tui.widgets.readings import is_tokenless

_BEFORE_A_TOKEN = "The engine ended before it had decoded anything."
_AFTER_THE_END = "The figures on this screen are the last ones before the engine ended."


class Sentence(Panel):
    """The session's sentence; a notice takes its place while there is one."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        if snap.message:
            return wrapped(snap.message, width, height, " ! ", WARN)
        if snap.failed is not None:
            end = _BEFORE_A_TOKEN if is_tokenless(snap) else _AFTER_THE_END
            return wrapped(end, width, height, " ► ", SENTENCE)
        return wrapped(limiting_sentence(snap), width, height, " ► ", SENTENCE)
