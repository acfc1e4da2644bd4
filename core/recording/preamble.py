"""What holds at this moment, as the few events that say so.

A recording may begin in the middle of a session; without these it would not know the machine,
the model or the mode.
"""

from collections.abc import Hashable

from idlegap.core.protocol.events import (
    AnyEvent,
    EngineEvent,
    EngineReady,
    EngineStage,
    ModeRefused,
    MonitorSample,
    Notice,
    NotVerified,
    ProfileWindow,
    RoundFinished,
    RoundStarted,
    TextPiece,
    TokenBatch,
    Verified,
)

_Key = tuple[Hashable, ...]


class Standing:
    """The newest event of each kind that still counts, as `core.session.state` sees it."""

    def __init__(self) -> None:
        self._events: dict[_Key, AnyEvent] = {}

    def note(self, event: AnyEvent) -> None:
        """Take one event of the session into account."""
        match event:
            case TokenBatch() | TextPiece() | MonitorSample() | Notice() | NotVerified():
                return
            case EngineStage():
                self._stage(event)
                return
            case EngineReady() if (EngineReady,) in self._events:
                self._forget(ProfileWindow, Verified, RoundStarted, RoundFinished, ModeRefused)
        key = _key(event)
        # Put at the end again, so that the order stays that of arrival.
        self._events.pop(key, None)
        self._events[key] = event

    def events(self) -> list[AnyEvent]:
        """What a recording that starts now must begin with, oldest first."""
        return list(self._events.values())

    def _stage(self, event: EngineStage) -> None:
        """Keep the first report of a stage, which says since when, and the newest."""
        if event.stage == "starting":
            self._events = {k: e for k, e in self._events.items() if not isinstance(e, EngineEvent)}
        first = self._events.pop((EngineStage, "first"), None)
        self._events.pop((EngineStage, "newest"), None)
        if isinstance(first, EngineStage) and first.stage == event.stage:
            self._events[EngineStage, "first"] = first
            self._events[EngineStage, "newest"] = event
        else:
            self._events[EngineStage, "first"] = event

    def _forget(self, *kinds: type) -> None:
        self._events = {key: e for key, e in self._events.items() if not isinstance(e, kinds)}


def _key(event: AnyEvent) -> _Key:
    match event:
        case ProfileWindow():
            return (ProfileWindow, event.mode, event.accepted)
        case Verified() | RoundStarted() | RoundFinished() | ModeRefused():
            return (type(event), event.mode)
        case _:
            return (type(event),)
