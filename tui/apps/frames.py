"""When the screen draws a frame, and what drawing costs."""

import time
from collections.abc import Callable

from idlegap.core.protocol.events import MonitorSample

CALM_TICKS = 20
"""Ticks in time before the rate is doubled again."""

SLOWEST = 8
LATE_SHARE = 0.5

COST_INTERVAL_NS = 1_000_000_000


class FrameRate:
    """Decides on each tick of a fixed timer whether a frame is drawn.

    A tick is bad when the terminal still holds back a write or when the tick came late by
    more than half its period. Two bad ticks in a row halve the rate, down to an eighth.
    """

    def __init__(self, fps: float) -> None:
        self._period_ns = 1e9 / fps
        self._divisor = 1
        self._tick = 0
        self._bad = 0
        self._good = 0
        self._last_ns: int | None = None

    @property
    def divisor(self) -> int:
        """A frame is drawn every this many ticks."""
        return self._divisor

    def due(self, now_ns: int, stalled: bool) -> bool:
        """Whether this tick draws a frame. A stalled terminal gets none."""
        late = self._last_ns is not None and now_ns - self._last_ns > self._period_ns * (1 + LATE_SHARE)
        self._last_ns = now_ns
        self._note(bad=late or stalled)
        self._tick += 1
        return not stalled and self._tick % self._divisor == 0

    def _note(self, *, bad: bool) -> None:
        self._bad, self._good = (self._bad + 1, 0) if bad else (0, self._good + 1)
        if self._bad >= 2:
            self._divisor, self._bad = min(SLOWEST, self._divisor * 2), 0
        elif self._good >= CALM_TICKS and self._divisor > 1:
            self._divisor, self._good = self._divisor // 2, 0


class ScreenCost:
    """Counts frames and turns them into a `MonitorSample` once a second.

    `cpu_pct` and `frame_ns` are CPU time of the drawing thread (CLOCK_THREAD_CPUTIME_ID), so
    they hold everything that a frame costs it: the snapshot, painting, and Textual's layout.
    """

    def __init__(
        self,
        clock: Callable[[], int] = time.perf_counter_ns,
        thread_clock: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        self._clock = clock
        self._thread_clock = thread_clock
        self._since_ns = clock()
        self._cpu_ns = thread_clock()
        self._bytes: int | None = None
        self._frames = 0

    def frame(self) -> None:
        """One frame has been drawn."""
        self._frames += 1

    def sample(self, bytes_written: int | None) -> MonitorSample | None:
        """The sample of the last second, None until it is over. `bytes_written` counts all
        that ever went to the terminal, None where it is not counted."""
        now_ns = self._clock()
        wall_ns = now_ns - self._since_ns
        if wall_ns < COST_INTERVAL_NS:
            return None
        cpu_ns = self._thread_clock() - self._cpu_ns
        bytes_per_s = None
        if bytes_written is not None and self._bytes is not None:
            bytes_per_s = (bytes_written - self._bytes) * 1e9 / wall_ns
        sample = MonitorSample(
            now_ns,
            cpu_pct=100 * cpu_ns / wall_ns,
            frame_ns=cpu_ns // max(1, self._frames),
            bytes_per_s=bytes_per_s,
            frames_per_s=self._frames * 1e9 / wall_ns,
        )
        self._since_ns, self._cpu_ns = now_ns, self._cpu_ns + cpu_ns
        self._bytes, self._frames = bytes_written, 0
        return sample
