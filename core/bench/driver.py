"""Drives one engine step by step: asks for something, waits until it has happened.

The engine decodes for ever in the mode that was asked for last. A measured run is one of its
rounds, begun on request and taken whole. What the engine decodes in between is left aside.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from idlegap.core.protocol import events
from idlegap.core.protocol.commands import ProbeDispatch, RestartRound, SetMode, TakeProfile, VerifyModes
from idlegap.core.protocol.modes import ModeName
from idlegap.core.session.session import Listener, Sensors, Session, Source
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.session.state import State
from idlegap.core.text.reasons import words

POLL_S = 0.02
"""The engine hands over a batch about every 50 ms."""

SNAPSHOT_NS = 1_000_000_000
"""A snapshot takes about a millisecond, and who asks for one asks every few seconds."""

SILENCE_NS = 900_000_000_000
"""Longest wait for a word of the engine: a cold compilation takes minutes, but not fifteen."""

PROFILE_TRIES = 3
"""Requests for a window before the mode counts as not profiled."""

E = TypeVar("E")
F = TypeVar("F")


class InterruptedBenchError(Exception):
    """The user asked to stop."""


class EngineEndedError(Exception):
    """The engine failed or went silent; `failed` says how."""

    def __init__(self, failed: events.EngineFailed) -> None:
        super().__init__(failed.reason)
        self.failed = failed


@dataclass(slots=True)
class Round:
    """A round as it was decoded. `finished` is None while tokens are outstanding."""

    started: events.RoundStarted
    batches: list[events.TokenBatch] = field(default_factory=list)
    finished: events.RoundFinished | None = None


class Driver:
    """One engine under control, with the sensors beside it. Used from one thread.

    Args:
        source: the engine.
        sensors, sensor_events, spec_bytes_per_s: as `core.session.session.Session` takes them.
        listeners: called with every event (a recording, for example).
        stopped: polled while waiting; True ends the wait with `InterruptedBenchError`.
        on_stage: called with every stage that the engine announces.
        clock, pause: monotonic nanoseconds, and how to wait some seconds.

    `state` is what all events have said.
    """

    def __init__(
        self,
        source: Source,
        *,
        sensors: Sensors | None = None,
        sensor_events: "deque[events.SensorEvent] | None" = None,
        listeners: Sequence[Listener] = (),
        stopped: Callable[[], bool] = lambda: False,
        on_stage: Callable[[events.EngineStage], None] = lambda stage: None,
        spec_bytes_per_s: float | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._inbox: deque[events.AnyEvent] = deque()
        self._session = Session(
            source,
            sensors=sensors,
            sensor_events=sensor_events,
            listeners=(self._inbox.append, *listeners),
            spec_bytes_per_s=spec_bytes_per_s,
            keep_all=True,
            clock=clock,
        )
        self._stopped = stopped
        self._on_stage = on_stage
        self.clock = clock
        self._pause = pause
        self.round: Round | None = None
        self._show: Callable[[Snapshot], None] | None = None
        self._show_next_ns = 0

    @property
    def state(self) -> State:
        """The state of the session."""
        return self._session.state

    def watch(self, show: Callable[[Snapshot], None]) -> None:
        """From now on, give `show` what a screen would show: while waiting for the engine, once
        in SNAPSHOT_NS."""
        self._show = show

    def start(self) -> events.EngineReady:
        """Start engine and sensors and wait until the first mode decodes.

        Raises:
            EngineEndedError: the engine could not start.
            InterruptedBenchError: asked to stop.
        """
        self._session.start()
        ready = self._await(events.EngineReady)
        # The engine enters its first mode unasked; later entries are answers.
        self._await(events.ModeEntered, events.ModeRefused)
        return ready

    def enter(self, mode: ModeName) -> events.ModeEntered | events.ModeRefused:
        """Turn to `mode`, capturing or compiling it where that is still to be done."""
        self._session.send(SetMode(mode))
        return self._await(events.ModeEntered, events.ModeRefused, mode=mode)

    def verify(self, mode: ModeName) -> events.Verified | events.NotVerified:
        """Compare the tokens of `mode`, the current one, with those of eager-static, or learn why
        they cannot be compared."""
        self._session.send(VerifyModes())
        return self._await(events.Verified, events.NotVerified, mode=mode)

    def profile(self, windows: int) -> list[events.ProfileWindow]:
        """Take profile windows of the current mode until `windows` of them were accepted or
        PROFILE_TRIES requests in a row failed; returns all, the rejected ones included."""
        taken: list[events.ProfileWindow] = []
        failures = 0
        while sum(window.accepted for window in taken) < windows and failures < PROFILE_TRIES:
            self._session.send(TakeProfile())
            taken.append(self._await(events.ProfileWindow))
            if taken[-1].steps == 0:
                break
            # A mode's first request gives two windows, and "decoding" follows the last.
            while (event := self._take()) and not _is_decoding(event):
                if isinstance(event, events.ProfileWindow):
                    taken.append(event)
            failures = 0 if taken[-1].accepted else failures + 1
        return taken

    def probe(self) -> events.DispatchProbe:
        """Measure the host's cost of an empty kernel."""
        self._session.send(ProbeDispatch())
        return self._await(events.DispatchProbe)

    def decode_round(self, mode: ModeName) -> Round:
        """Turn to `mode`, which was entered before, and decode one whole round.

        While this runs, `round` holds what has arrived so far, for an interruption to keep.
        """
        self.round = None
        self._session.send(SetMode(mode))
        self._session.send(RestartRound())
        answer = self._await(events.ModeEntered, events.ModeRefused, mode=mode)
        if isinstance(answer, events.ModeRefused):
            raise EngineEndedError(events.EngineFailed(self.clock(), f"{mode}: {words(answer.reason)}"))
        while True:
            event = self._take()
            if isinstance(event, events.RoundStarted):
                # Another start means that the round before was cut off by our own request.
                self.round = Round(event)
            elif self.round is None:
                continue
            elif isinstance(event, events.TokenBatch) and event.round == self.round.started.round:
                self.round.batches.append(event)
            elif isinstance(event, events.RoundFinished) and event.round == self.round.started.round:
                done, self.round = self.round, None
                done.finished = event
                return done

    def close(self) -> None:
        """End engine and sensors."""
        self._session.close()

    # --- waiting ------------------------------------------------------------------

    def _await(self, kind: type[E], other: type[F] | None = None, mode: ModeName | None = None) -> E | F:
        """The next event of `kind`, or of the `other`, about `mode` if one is given."""
        while True:
            event = self._take()
            if isinstance(event, (kind, other or kind)) and mode in (None, getattr(event, "mode", None)):
                return event

    def _take(self) -> events.AnyEvent:
        """The next engine event; those of the sensors are passed over, for nothing waits for them."""
        heard_ns = self.clock()
        while True:
            if self._stopped():
                raise InterruptedBenchError
            if not self._inbox:
                self._pump()
            while self._inbox:
                event = self._inbox.popleft()
                if isinstance(event, events.EngineFailed):
                    raise EngineEndedError(event)
                if isinstance(event, events.EngineStage):
                    self._on_stage(event)
                if not isinstance(event, events.SensorEvent):
                    return event
            if self.clock() - heard_ns > SILENCE_NS:
                reason = f"the engine has said nothing for {SILENCE_NS // 10**9} s"
                raise EngineEndedError(events.EngineFailed(self.clock(), reason))
            self._pause(POLL_S)

    def _pump(self) -> None:
        now_ns = self.clock()
        if self._show is None or now_ns < self._show_next_ns:
            self._session.pump()
            return
        self._show_next_ns = now_ns + SNAPSHOT_NS
        self._show(self._session.snapshot(now_ns))


def _is_decoding(event: events.AnyEvent) -> bool:
    return isinstance(event, events.EngineStage) and event.stage == "decoding"
