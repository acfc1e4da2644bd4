"""Notices of the screen itself: an answer to each key, before the engine has one."""

import dataclasses

from idlegap.core.protocol.modes import ModeName
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.text.names import mode_words

NOTICE_NS = 4_000_000_000


class Notices:
    """Keeps one notice and the mode that was asked for until the engine has answered."""

    def __init__(self) -> None:
        self.asked: ModeName | None = None
        self._text = ""
        self._until_ns = 0
        self._heard = ""
        self._hearing = ""

    def say(self, text: str, now_ns: int) -> None:
        """Show `text` for NOTICE_NS, or until the session has something newer to say."""
        self._text, self._until_ns = text, now_ns + NOTICE_NS
        self._heard = self._hearing

    def ask(self, mode: ModeName, now_ns: int) -> None:
        """A mode was asked for: say so until it is entered or refused."""
        self.asked = mode
        self.say(f"entering {mode_words(mode)} …", now_ns)

    def put_on(self, snap: Snapshot, now_ns: int) -> Snapshot:
        """`snap`, carrying our notice where the session has nothing newer to say. `now_ns` is
        the app's time; that of a replayed snapshot is the recording's."""
        self._hearing = snap.notice
        if self.asked is not None and self._answered(snap, now_ns):
            self.asked, self._text = None, ""
        if self.asked is None and snap.notice and snap.notice != self._heard:
            self._text = ""
        current = self.asked is not None or now_ns <= self._until_ns
        return dataclasses.replace(snap, notice=self._text) if self._text and current else snap

    def _answered(self, snap: Snapshot, now_ns: int) -> bool:
        if snap.mode == self.asked or snap.failed is not None:
            return True
        if snap.notice and snap.notice != self._heard:
            return True
        # A refusal in the same words as the last one: the engine just goes on decoding.
        return snap.stage.stage == "decoding" and now_ns > self._until_ns
