"""Playing a recording: its time, its events as they come due, and where its slow tokens are."""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from idlegap.core.protocol.events import AnyEvent, EngineFailed, TokenBatch
from idlegap.core.protocol.quantities import MOST
from idlegap.core.recording.format import RecordingError
from idlegap.core.recording.reader import RecordingReader
from idlegap.core.session.snapshot import TokenPlace
from idlegap.core.session.state import State

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)

NEVER = MOST + 1
"""Later than any time that an event can have."""

LOOK_AHEAD = 20_000
"""Events that may be kept to find the next token: a quarter of an hour without any."""

Timed = tuple[int, AnyEvent]
"""An event and when it is due: when it was said, but never before those above it in the file."""


class PlaybackClock:
    """The time of a recording that is being played: it runs, stands, and runs faster or slower.

    Maps real time (`clock`, CLOCK_MONOTONIC in ns) to the recording's, from `start_ns` to `end_ns`;
    stands at first.
    """

    def __init__(self, clock: Callable[[], int], start_ns: int, end_ns: int) -> None:
        self._clock = clock
        self._start_ns, self._end_ns = start_ns, end_ns
        self._at_ns = start_ns
        self._since_ns = 0
        self._playing = False
        self.speed = 1.0

    def now_ns(self) -> int:
        """The recording's own time: what a session over it takes as its clock."""
        if not self._playing:
            return self._at_ns
        passed_ns = round((self._clock() - self._since_ns) * self.speed)
        return min(self._at_ns + passed_ns, self._end_ns)

    @property
    def playing(self) -> bool:
        """Whether time passes: neither paused nor at the end."""
        return self._playing and self.now_ns() < self._end_ns

    def play(self) -> None:
        """Let time pass."""
        self.move(self.now_ns())
        self._playing = True

    def pause(self) -> None:
        """Let time stand."""
        self._at_ns = self.now_ns()
        self._playing = False

    def move(self, to_ns: int) -> None:
        """Go to another time, at most to the end, and go on in the same way."""
        self._at_ns = min(max(to_ns, self._start_ns), self._end_ns)
        self._since_ns = self._clock()

    def set_speed(self, speed: float) -> None:
        """Play `speed` times as fast as it was.

        Raises:
            ValueError: outside SPEEDS' range.
        """
        if not SPEEDS[0] <= speed <= SPEEDS[-1]:
            raise ValueError(f"speed {speed:g}: from {SPEEDS[0]:g} to {SPEEDS[-1]:g}")
        self.move(self.now_ns())
        self.speed = speed

    def change_speed(self, steps: int) -> None:
        """The next faster speed of SPEEDS, or the next slower one for -1."""
        nearest = min(range(len(SPEEDS)), key=lambda i: abs(SPEEDS[i] - self.speed))
        self.set_speed(SPEEDS[min(max(nearest + steps, 0), len(SPEEDS) - 1)])


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
        while len(taken) < most and self.next_ns() <= now_ns:
            taken.append(self._ahead.popleft())
        return taken

    def next_ns(self) -> int:
        """When the next event is due; NEVER if none is left."""
        return self._ahead[0][0] if self._ahead or self._read() else NEVER

    def ahead(self) -> Iterator[Timed]:
        """What has not been taken yet, as far as one can look ahead."""
        yield from tuple(self._ahead)
        while len(self._ahead) < LOOK_AHEAD and self._read():
            yield self._ahead[-1]

    def close(self) -> None:
        self._events.close()
        self._ahead.clear()

    def _read(self) -> bool:
        timed = next(self._events, None)
        if timed is not None:
            self._ahead.append(timed)
        return timed is not None


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
