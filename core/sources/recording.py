"""Plays a recording: a source of its events, and the session that the screen shows.

`ReplaySource` is to a session what a live engine is; the recording's sensor samples come out
of it too. `Replay` is the session over it.
"""

import time
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

from idlegap.core.protocol.commands import AnyCommand
from idlegap.core.protocol.events import AnyEvent, MonitorSample, TokenBatch
from idlegap.core.recording.index import RecordingIndex, read_index
from idlegap.core.recording.playback import EventStream, PlaybackClock, SlowTokenIndex, places
from idlegap.core.session.session import Session
from idlegap.core.session.snapshot import NO_APP, FromApp, Playback, Snapshot, TokenPlace

POLL_EVENTS = 500
"""Events taken at once: a few milliseconds of analysis."""

CATCH_UP_NS = 100_000_000
"""Time that one frame may spend on the events that a jump has made due. The rest waits for the
next frames, so that keys are answered meanwhile."""


class ReplaySource(PlaybackClock):
    """Implements `core.session.session.Source` over the recording at `path`; its clock is the control.

    The whole file is read once at first, so that what is wrong with it is said before anything
    is shown. Positions are ns since the recording's start; `clock` is real time in ns. Whoever
    moves it backwards must ask `take_rewound`, as `Replay` does. `token` is the one that a step or a
    jump has reached, or else the last one played.

    Raises:
        RecordingError: the recording cannot be read.
        ValueError: a speed outside `core.recording.playback.SPEEDS`.
    """

    def __init__(
        self, path: Path, *, speed: float = 1.0, clock: Callable[[], int] = time.perf_counter_ns
    ) -> None:
        self.index: RecordingIndex = read_index(path)
        self.in_process = self.index.header.in_process
        self.token: TokenPlace | None = None
        self._stands_at_token = False
        self._stream = EventStream(path, self.index.start_ns)
        self._slow = SlowTokenIndex(path, self.index.start_ns)
        self._rewound = False
        super().__init__(clock, self.index.start_ns, self.index.end_ns)
        self.set_speed(speed)

    def start(self) -> None:
        self.play()

    def poll(self) -> list[AnyEvent]:
        """Events that are due, oldest first; after a jump not all of them at once."""
        timed = self._stream.take(self.now_ns(), POLL_EVENTS)
        if not self._stands_at_token:
            batches = [(e, due_ns) for due_ns, e in timed if isinstance(e, TokenBatch) and e.tokens]
            if batches:
                self.token = places(*batches[-1])[-1]
        return [event for _, event in timed]

    def send(self, command: AnyCommand) -> None:
        """What has happened cannot be changed: commands are ignored."""

    def restart(self) -> None:
        self.seek(0)
        self.play()

    def close(self) -> None:
        self.pause()
        self._stream.close()
        self._slow.close()

    @property
    def position_ns(self) -> int:
        return self.now_ns() - self.index.start_ns

    @property
    def behind(self) -> bool:
        """Whether events are due that have not been taken yet."""
        return self._stream.next_ns() <= self.now_ns()

    @property
    def heard_ns(self) -> int:
        """Until when everything was taken: the present time, unless `behind`."""
        return min(self.now_ns(), self._stream.next_ns())

    @property
    def ended(self) -> bool:
        """Whether the end has been reached and everything was taken."""
        return self.now_ns() >= self.index.end_ns and not self.behind

    def play(self) -> None:
        """Let the recording run, from the start if it is at its end."""
        if self.now_ns() >= self.index.end_ns:
            self.seek(0)
        self._stands_at_token = False
        super().play()

    def seek(self, position_ns: int) -> None:
        """Go to a position; one outside the recording becomes its start or its end."""
        self.token, self._stands_at_token = None, False
        self.move(self.index.start_ns + position_ns)

    def step(self) -> bool:
        """Pause, and go to the end of the next token; False if none is in sight.

        The session hears of a batch when its last token is reached, as it did live; `token`
        shows each.
        """
        self.pause()
        reached_ns, due_ns = self._reached_ns(), self.now_ns()
        for due_ns, event in self._stream.ahead():
            if isinstance(event, TokenBatch):
                for place in places(event, due_ns):
                    if place.token.done_ns > reached_ns:
                        last = place.token.done_ns == event.tokens[-1].done_ns
                        self._arrive(place, due_ns if last else place.token.done_ns)
                        return True
        self.move(due_ns)
        return False

    def next_mode(self) -> bool:
        """Go to where the mode changes next; False if it does not."""
        switches_ns = self.index.switches_ns
        at = bisect_right(switches_ns, self.now_ns())
        if at < len(switches_ns):
            self.seek(switches_ns[at] - self.index.start_ns)
        return at < len(switches_ns)

    def next_slow(self) -> bool:
        """Go to the next token that the latency strip flags as slow; False if none follows."""
        place = self._slow.after(self._reached_ns())
        if place is not None:
            self._arrive(place, place.due_ns)
        return place is not None

    def take_rewound(self) -> bool:
        """Whether the events begin anew since the last call, so that a session must forget all."""
        rewound, self._rewound = self._rewound, False
        return rewound

    def move(self, to_ns: int) -> None:
        """Go to another time of the recording; backwards, the events begin anew."""
        if to_ns < self.now_ns():
            self._stream.close()
            self._stream = EventStream(self.index.path, self.index.start_ns)
            self._rewound = True
        super().move(to_ns)

    def _reached_ns(self) -> int:
        return self.token.token.done_ns if self.token and self._stands_at_token else self.now_ns()

    def _arrive(self, place: TokenPlace, t_ns: int) -> None:
        self.move(max(t_ns, self.now_ns()))
        self.token, self._stands_at_token = place, True


class Replay(Session):
    """A session over a recording; `source` has the controls.

    A snapshot at any position is the one that the session, had it been live, would have shown
    then. Raises what `ReplaySource` raises.
    """

    def __init__(
        self, path: Path, *, speed: float = 1.0, clock: Callable[[], int] = time.perf_counter_ns
    ) -> None:
        self.source = ReplaySource(path, speed=speed, clock=clock)
        self._real_clock = clock
        index = self.source.index
        self._switches_ns = tuple(ns - index.start_ns for ns in index.switches_ns)
        header = index.header
        super().__init__(self.source, spec_bytes_per_s=header.spec_bytes_per_s, clock=self.source.now_ns)

    def snapshot(self, now_ns: int, app: FromApp = NO_APP) -> Snapshot:
        """The snapshot at the recording's present time; `now_ns` is the screen's and not used."""
        if self.source.take_rewound():
            self.reset(self.source.index.start_ns)
        deadline_ns = self._real_clock() + CATCH_UP_NS
        self.pump()
        while self.source.behind and self._real_clock() < deadline_ns:
            self.pump()
        return super().snapshot(self.source.heard_ns, app)

    @property
    def playback(self) -> Playback:
        source = self.source
        return Playback(
            position_ns=source.position_ns,
            length_ns=source.index.length_ns,
            speed=source.speed,
            playing=source.playing,
            ended=source.ended,
            behind=source.behind,
            switches_ns=self._switches_ns,
            token=source.token,
            ending=source.index.ending.text,
        )

    def restart(self) -> None:
        self.source.restart()

    def note_frame(self, sample: MonitorSample) -> None:
        """Not taken: the recording holds what its own screen has cost."""
