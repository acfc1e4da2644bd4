"""A recording as it is played: events in their order, each due at a time that never goes back."""

from collections import deque
from collections.abc import Generator, Iterator
from pathlib import Path

from idlegap.core.protocol.events import AnyEvent, EngineFailed
from idlegap.core.protocol.quantities import MOST
from idlegap.core.recording.format import RecordingError
from idlegap.core.recording.reader import RecordingReader

NEVER = MOST + 1
"""Later than any time that an event can have."""

LOOK_AHEAD = 20_000
"""Events that may be kept to find the next token: a quarter of an hour without any."""

Timed = tuple[int, AnyEvent]
"""An event and when it is due: when it was said, but never before those above it in the file."""


def timed_events(path: Path, start_ns: int) -> Generator[Timed, None, None]:
    """The events of the recording at `path`, which was sound when it was opened first.

    Whoever changes it while it is played ends it with an `EngineFailed` that says so.
    """
    due_ns = start_ns
    try:
        with RecordingReader(path) as reader:
            for event in reader:
                due_ns = max(due_ns, event.t_ns)
                yield due_ns, event
    except RecordingError as error:
        yield due_ns, EngineFailed(due_ns, str(error), hint="the file has changed since it was opened")


class EventStream:
    """Runs from the start of the recording at `path` to its end, once."""

    def __init__(self, path: Path, start_ns: int) -> None:
        self._events = timed_events(path, start_ns)
        self._ahead: deque[Timed] = deque()

    def take(self, now_ns: int, most: int) -> list[Timed]:
        """The next events that are due at `now_ns`, at most so many."""
        taken: list[Timed] = []
        while len(taken) < most and self.behind(now_ns):
            taken.append(self._ahead.popleft())
        return taken

    def behind(self, now_ns: int) -> bool:
        """Whether events that are due at `now_ns` have not been taken yet."""
        return self.next_ns() <= now_ns

    def next_ns(self) -> int:
        """When the next event is due; later than any time if none is left."""
        return self._ahead[0][0] if self._ahead or self._read() else NEVER

    def ahead(self) -> Iterator[Timed]:
        """What has not been taken yet, as far as one can look ahead."""
        yield from tuple(self._ahead)
        while len(self._ahead) < LOOK_AHEAD and self._read():
            yield self._ahead[-1]

    def close(self) -> None:
        """Close the file."""
        self._events.close()
        self._ahead.clear()

    def _read(self) -> bool:
        timed = next(self._events, None)
        if timed is not None:
            self._ahead.append(timed)
        return timed is not None
