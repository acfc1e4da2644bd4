"""The app's answer to a key: shown until it is old, or the session has something newer to say."""

from idlegap.core.protocol.modes import ModeName
from idlegap.core.session.snapshot import Answer, Snapshot
from idlegap.core.text.names import mode_words

ANSWER_NS = 4_000_000_000


class Answers:
    """Keeps the last answer and the mode that was asked for until the engine has replied.

    `core.session.snapshot.Snapshot.message` decides what is shown.
    """

    def __init__(self) -> None:
        self.asked: ModeName | None = None
        self._text = ""
        self._until_ns = 0
        self._heard = ""
        self._hearing = ""

    def say(self, text: str, now_ns: int) -> None:
        """Show `text` for ANSWER_NS, or until the session has something newer to say."""
        self._text, self._until_ns = text, now_ns + ANSWER_NS
        self._heard = self._hearing

    def ask(self, mode: ModeName, now_ns: int) -> None:
        """A mode was asked for: say so until it is entered or refused."""
        self.asked = mode
        self.say(f"entering {mode_words(mode)} …", now_ns)

    def current(self, now_ns: int) -> Answer | None:
        """The answer at `now_ns`, the app's time; None without one."""
        old = now_ns > self._until_ns
        if not self._text or (old and self.asked is None):
            return None
        return Answer(self._text, self.asked, self._heard, old)

    def shown(self, snap: Snapshot) -> None:
        """Learn from a frame whether the session has replied."""
        self._hearing = snap.notice
        if snap.app.answer is not None and snap.message != snap.app.answer.text:
            self.asked, self._text = None, ""
