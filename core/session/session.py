"""The session: joins one source of events with the sensors and with whoever listens.

Data flows one way: source and sampler → `pump` → state and listeners → snapshot.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from idlegap.core.protocol import events
from idlegap.core.protocol.commands import AnyCommand
from idlegap.core.session.build import snapshot_of
from idlegap.core.session.snapshot import NO_APP, FromApp, Playback, Snapshot
from idlegap.core.session.state import State

Listener = Callable[[events.AnyEvent], None]


class Source(Protocol):
    """A source of events. All methods are called from the app's threads, never block for
    long, and may be called in any order after `start`.

    `poll` takes what has arrived since the last call, oldest first; `send` is ignored where the source
    cannot do what is asked; `close` waits, within a bound, until the source is gone.
    """

    in_process: bool

    def start(self) -> None: ...

    def poll(self) -> list[events.AnyEvent]: ...

    def send(self, command: AnyCommand) -> None: ...

    def restart(self) -> None: ...

    def close(self) -> None: ...


class Sensors(Protocol):
    """What the session asks of `core.sensors.sampler.Sampler`."""

    def start(self) -> None: ...

    def watch_engine(self, pid: int, tid: int, device_uuid: str | None) -> None: ...

    def stop(self) -> None: ...


class Session:
    """One source, its sensors and its listeners. Used from one thread.

    `sensors` is built by the caller with `sensor_events.append` as its callback; a replay has
    none, because its recording holds the samples. `keep_all` keeps every token and sample.
    """

    def __init__(
        self,
        source: Source,
        *,
        sensors: Sensors | None = None,
        sensor_events: "deque[events.SensorEvent] | None" = None,
        listeners: Sequence[Listener] = (),
        spec_bytes_per_s: float | None = None,
        keep_all: bool = False,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._source = source
        self._sensors = sensors
        self._sensor_events = sensor_events if sensor_events is not None else deque()
        self._listeners = tuple(listeners)
        self._spec_bytes_per_s = spec_bytes_per_s
        self._clock = clock
        self._keep_all = keep_all
        self.state = State(clock(), keep_all)

    def start(self) -> None:
        """Start sensors and source. A source that the system does not let start has failed."""
        if self._sensors is not None:
            self._sensors.start()
        self._begin(self._source.start)

    def pump(self) -> None:
        """Take what has arrived into account and pass it on, in the order of time."""
        sensed = [self._sensor_events.popleft() for _ in range(len(self._sensor_events))]
        for event in in_time_order(self._source.poll(), sensed):
            self.take(event)

    def snapshot(self, now_ns: int, app: FromApp = NO_APP) -> Snapshot:
        """Pump, and say what the screen shows at `now_ns`; `app` is what only the app knows."""
        self.pump()
        return snapshot_of(
            self.state,
            now_ns,
            in_process=self._source.in_process,
            spec_bytes_per_s=self._spec_bytes_per_s,
            app=app,
            playback=self.playback,
        )

    @property
    def playback(self) -> Playback | None:
        """Where a replay stands; None live."""
        return None

    def send(self, command: AnyCommand) -> None:
        """Pass a command to the source."""
        self._source.send(command)

    def note_frame(self, sample: events.MonitorSample) -> None:
        """The screen reports its own cost."""
        self.take(sample)

    def restart(self) -> None:
        """Start the engine again after it has failed. The listeners hear of it as a stage, so
        that a replay forgets the old engine at the same place."""
        self.take(events.EngineStage(self._clock(), "starting"))
        self._begin(self._source.restart)

    def reset(self, t_ns: int) -> None:
        """Forget everything: the source begins anew at `t_ns` (a replay was wound back)."""
        self.state = State(t_ns, self._keep_all)

    def close(self) -> None:
        """End the source, take its last events, stop the sensors."""
        self._source.close()
        self.pump()
        if self._sensors is not None:
            self._sensors.stop()

    def _begin(self, begin: Callable[[], None]) -> None:
        try:
            begin()
        except OSError as error:
            self.take(events.EngineFailed(self._clock(), f"cannot be started: {error}"))

    def take(self, event: events.AnyEvent) -> None:
        """Take one event into account and pass it on: from the source, the sensors, or the app itself."""
        self.state.apply(event)
        if isinstance(event, events.EngineReady) and self._sensors is not None:
            self._sensors.watch_engine(event.pid, event.tid, event.device_uuid)
        for listener in self._listeners:
            listener(event)


def in_time_order(*streams: Sequence[events.AnyEvent]) -> list[events.AnyEvent]:
    """Merge streams by time. Each keeps its own order, even where it stamps an event late (a
    profile window carries a time before that of the tokens which close it)."""
    timed: list[tuple[int, events.AnyEvent]] = []
    for stream in streams:
        newest_ns = 0
        for event in stream:
            newest_ns = max(newest_ns, event.t_ns)
            timed.append((newest_ns, event))
    timed.sort(key=lambda pair: pair[0])
    return [event for _, event in timed]
