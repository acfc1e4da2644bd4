"""What holds now: the newest event of each kind that still counts.

The base of the session's state (`core.session.state`), and all that a recording which starts in the
middle of a session must begin with (`Facts.events`): without these events it would not know the
machine, the model or the mode.
"""

from collections.abc import Hashable
from typing import TypeVar, get_args

from idlegap.core.protocol import events
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.reasons import ReasonOrText
from idlegap.core.session.snapshot import StageView

_PASSING = (events.TokenBatch, events.TextPiece, events.Notice, events.NotVerified)
"""What happened once; nothing of it holds afterwards."""

_OF_A_SHAPE = (
    events.ProfileWindow,
    events.Verified,
    events.RoundStarted,
    events.RoundFinished,
    events.ModeRefused,
)
"""What another batch size or prompt length makes void."""

_E = TypeVar("_E", bound=events.Event)


class Facts:
    """Apply every event; then ask. None where nothing was heard yet.

    A restarted engine voids all that was heard of the one before; what is known of the machine stays.
    """

    def __init__(self) -> None:
        self._events: dict[Hashable, events.AnyEvent] = {}

    def apply(self, event: events.AnyEvent) -> None:
        """Take one event into account."""
        if isinstance(event, _PASSING):
            return
        match event:
            case events.EngineStage():
                self._stage(event)
                return
            case events.EngineReady() if self.newest(events.EngineReady) is not None:
                self._forget(*_OF_A_SHAPE)
            case _:
                pass
        # At the end again, so that the order stays that of arrival.
        self._events.pop(_key(event), None)
        self._events[_key(event)] = event

    def kept(self) -> list[events.AnyEvent]:
        """All of it, oldest first. What the screen itself has cost is left out: another one may show it."""
        return [event for event in self._events.values() if not isinstance(event, events.MonitorSample)]

    def newest(self, kind: type[_E]) -> _E | None:
        """The newest event of a kind of which one alone holds at a time."""
        event = self._events.get(kind)
        return event if isinstance(event, kind) else None

    @property
    def stage(self) -> StageView | None:
        """What the engine is doing, and since when; ``failed`` once it has ended by itself."""
        first, newest = (self._events.get((events.EngineStage, which)) for which in ("first", "newest"))
        if failed := self.newest(events.EngineFailed):
            return StageView("failed", failed.reason, None, failed.t_ns)
        if not isinstance(first, events.EngineStage):
            return None
        last = newest if isinstance(newest, events.EngineStage) else first
        return StageView(last.stage, last.detail, last.fraction, first.t_ns)

    @property
    def mode(self) -> ModeName | None:
        """The mode that was entered last."""
        entered = self.newest(events.ModeEntered)
        return entered.mode if entered is not None else None

    @property
    def refused(self) -> dict[ModeName, ReasonOrText]:
        """Why modes cannot run here: those that the engine does not offer, and those that failed."""
        engine = self.newest(events.EngineReady)
        statuses = engine.modes if engine is not None else ()
        reasons = {status.name: status.reason for status in statuses if status.reason is not None}
        later = (event for event in self._events.values() if isinstance(event, events.ModeRefused))
        return reasons | {event.mode: event.reason for event in later}

    @property
    def dropped(self) -> int:
        """Events that the engine had to drop since its start."""
        event = self.newest(events.Dropped)
        return event.events if event is not None else 0

    @property
    def neighbours(self) -> int:
        """Noisy neighbours of our own making that run."""
        event = self.newest(events.Neighbours)
        return event.count if event is not None else 0

    def _forget(self, *kinds: type[events.Event]) -> None:
        self._events = {key: event for key, event in self._events.items() if not isinstance(event, kinds)}

    def _stage(self, event: events.EngineStage) -> None:
        """Keep the first report of a stage, which says since when, and the newest."""
        if event.stage == "starting":
            self._forget(*get_args(events.EngineEvent))
        first = self._events.pop((events.EngineStage, "first"), None)
        self._events.pop((events.EngineStage, "newest"), None)
        if isinstance(first, events.EngineStage) and first.stage == event.stage:
            self._events[events.EngineStage, "first"] = first
            self._events[events.EngineStage, "newest"] = event
        else:
            self._events[events.EngineStage, "first"] = event


def _key(event: events.AnyEvent) -> Hashable:
    match event:
        case events.ProfileWindow():
            return (events.ProfileWindow, event.mode, event.accepted)
        case events.Verified() | events.RoundStarted() | events.RoundFinished() | events.ModeRefused():
            return (type(event), event.mode)
        case _:
            return type(event)
