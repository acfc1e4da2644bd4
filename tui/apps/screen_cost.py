"""What watching costs, measured by the thread that draws."""

import time
from collections.abc import Callable

from idlegap.core.protocol.events import MonitorSample

INTERVAL_NS = 1_000_000_000


class FrameMeter:
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
        if wall_ns < INTERVAL_NS:
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
