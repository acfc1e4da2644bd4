"""The engine's outgoing events: a bounded queue between the decode thread and a slow reader."""

import queue
from collections.abc import Callable
from contextlib import suppress

from idlegap.core.protocol.events import Dropped, EngineEvent

CAPACITY = 4096
"""About three minutes of batches at 20 a second; a reader that is further behind has stopped."""


class Outbox:
    """Takes events without ever waiting; what does not fit is dropped and counted."""

    def __init__(self, clock: Callable[[], int], capacity: int = CAPACITY) -> None:
        self._queue: queue.Queue[EngineEvent | None] = queue.Queue(capacity)
        self._clock = clock
        self._dropped = 0
        self._reported = 0

    def put(self, event: EngineEvent) -> None:
        """Queue `event`, or drop it if the queue is full. Called by the decode thread alone."""
        if self._dropped != self._reported and self._offer(Dropped(self._clock(), self._dropped)):
            self._reported = self._dropped
        if not self._offer(event):
            self._dropped += 1

    def _offer(self, event: EngineEvent | None) -> bool:
        try:
            self._queue.put_nowait(event)
        except queue.Full:
            return False
        return True

    def take(self) -> EngineEvent | None:
        """The next event, waited for; None once `close` was called and all is taken."""
        return self._queue.get()

    def drain(self) -> list[EngineEvent]:
        """Everything queued now, without waiting."""
        events: list[EngineEvent] = []
        with suppress(queue.Empty):
            while True:
                if (event := self._queue.get_nowait()) is not None:
                    events.append(event)
        return events

    def close(self) -> None:
        """Mark the end; `take` returns None when it gets there."""
        while not self._offer(None):
            self._queue.get_nowait()
