"""Tokens as places in a recording, and where the slow ones are."""

from dataclasses import dataclass
from pathlib import Path

from idlegap.core.protocol.events import Exclusion, Token, TokenBatch
from idlegap.core.protocol.modes import ModeName
from idlegap.core.recording.stream import timed_events
from idlegap.core.session.state import State


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """One token of a recording.

    `due_ns` is when the session hears of it: at its end, or with the rest of its batch.
    """

    mode: ModeName
    round: int
    index: int
    token: Token
    excluded: Exclusion | None
    due_ns: int


def places(batch: TokenBatch, due_ns: int) -> list[TokenPlace]:
    """The tokens of a batch that is due at `due_ns`."""
    return [
        TokenPlace(batch.mode, batch.round, index, token, batch.excluded, due_ns)
        for index, token in enumerate(batch.tokens, batch.first)
    ]


class SlowTokenIndex:
    """Finds slow tokens by reading on, only as far as it is asked; what was found is kept.

    A token is slow here if the session's strip flags it: the same state judges it.
    """

    def __init__(self, path: Path, start_ns: int) -> None:
        self._events = timed_events(path, start_ns)
        self._found: list[TokenPlace] = []
        self._state = State(start_ns)

    def after(self, t_ns: int) -> TokenPlace | None:
        """The first slow token that was done after `t_ns`, None if none follows."""
        if not self._found or self._found[-1].token.done_ns <= t_ns:
            self._read_until(t_ns)
        return next((place for place in self._found if place.token.done_ns > t_ns), None)

    def close(self) -> None:
        """Close the file."""
        self._events.close()

    def _read_until(self, t_ns: int) -> None:
        for due_ns, event in self._events:
            self._state.apply(event)
            if not isinstance(event, TokenBatch) or event.excluded is not None:
                continue
            usual = self._state.setup.modes[event.mode].usual()
            if usual is not None:
                self._found += [place for place in places(event, due_ns) if usual.is_slow(place.token)]
            if self._found and self._found[-1].token.done_ns > t_ns:
                return
