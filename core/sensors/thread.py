"""CPU time, run delay and context switches of one thread, cheap enough for every token.

Sources: CLOCK_THREAD_CPUTIME_ID, getrusage(2) with RUSAGE_THREAD, and ``schedstat`` of the
thread (Documentation/scheduler/sched-stats.rst: nanoseconds on a CPU, nanoseconds runnable
but waiting for one, time slices).
"""

import os
import threading
import time
from pathlib import Path
from resource import RUSAGE_THREAD, getrusage
from typing import NamedTuple

from idlegap.core.protocol.reasons import Reason, because

_CLOSED = -1
_LINE_BYTES = 96


class ThreadReading(NamedTuple):
    """Cumulative counters of a thread; take differences.

    `run_delay_ns` is time runnable without a CPU, None where the kernel does not tell; `preempted`
    counts involuntary context switches, `blocked` voluntary ones (waits for the device, a lock, I/O).
    """

    cpu_ns: int
    run_delay_ns: int | None
    preempted: int
    blocked: int


class ThreadCounters:
    """Counters of the thread that creates it; only that thread may call `read`.

    The schedstat file stays open: opening it for each token would cost more than everything else
    together. `run_delay_reason` says why `run_delay_ns` is None.
    """

    def __init__(self, schedstat: Path | None = None) -> None:
        path = schedstat or Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self.run_delay_reason: Reason | None = None
        self._fd = _CLOSED
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            fields = [int(field) for field in os.pread(self._fd, _LINE_BYTES, 0).split()]
        except (OSError, ValueError) as error:
            text = error.strerror if isinstance(error, OSError) else "unreadable"
            self._give_up(because("schedstat-unreadable", detail=text or "failed"))
            return
        # A running thread has had at least one time slice, so zero in all three fields means
        # that nobody counts: gVisor, or a kernel without CONFIG_SCHED_INFO.
        if len(fields) < 2 or not any(fields):
            self._give_up(because("schedstat-zero"))

    def read(self) -> ThreadReading:
        """The counters now; never raises."""
        usage = getrusage(RUSAGE_THREAD)
        run_delay_ns = None
        if self._fd != _CLOSED:
            try:
                run_delay_ns = int(os.pread(self._fd, _LINE_BYTES, 0).split()[1])
            except (OSError, ValueError, IndexError):
                self._give_up(because("schedstat-stopped"))
        return ThreadReading(time.thread_time_ns(), run_delay_ns, usage.ru_nivcsw, usage.ru_nvcsw)

    def close(self) -> None:
        """Close the file; later reads give no run delay."""
        self._give_up(self.run_delay_reason or because("closed"))

    def _give_up(self, reason: Reason) -> None:
        self.run_delay_reason = reason
        if self._fd != _CLOSED:
            os.close(self._fd)
            self._fd = _CLOSED
