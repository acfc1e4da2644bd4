"""Timing one step: the clock before, between and after, and what the thread went through."""

from collections.abc import Callable

from idlegap.core.engine.modes import Mode
from idlegap.core.protocol.events import Token
from idlegap.core.sensors.thread import ThreadCounters


class StepTimer:
    """Submits a step, waits for it and says what it took. Used on the decode thread."""

    def __init__(self, clock: Callable[[], int], counters: ThreadCounters) -> None:
        self._clock = clock
        self._counters = counters

    def step(self, mode: Mode) -> Token:
        """One synchronised step of `mode`. Counters are read outside the timed part."""
        clock, counters = self._clock, self._counters
        before = counters.read()
        start = clock()
        mode.step()
        dispatched = clock()
        mode.workload.device.synchronize()
        done = clock()
        after = counters.read()
        waited = None
        if after.run_delay_ns is not None and before.run_delay_ns is not None:
            waited = after.run_delay_ns - before.run_delay_ns
        return Token(
            start,
            dispatched,
            done,
            after.cpu_ns - before.cpu_ns,
            waited,
            after.preempted - before.preempted,
            after.blocked - before.blocked,
        )
