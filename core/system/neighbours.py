"""Noisy neighbours on demand: real busy processes, to show what a shared CPU does to decoding.

Each one is a process of its own in a session of its own, as another tenant's would be: where
the kernel groups tasks by session (autogroup, sched(7)), all of them in one session would share
a single task's part of a core.

They cannot outlive the app, however it ends: the kernel kills them with their parent
(PR_SET_PDEATHSIG), and each reads a pipe whose other end only the app holds, so that it sees
end-of-file even if the app died before the first guard stood.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from idlegap.core.protocol.events import Neighbours

BUSY_LOOP = """
import ctypes, os, select, sys
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
try:
    os.setpriority(os.PRIO_PROCESS, 0, 0)
except OSError:
    pass  # a nice app may not make its children less nice
if len(sys.argv) > 1:
    os.sched_setaffinity(0, {int(sys.argv[1])})
while not select.select([0], [], [], 0)[0]:
    for _ in range(200_000):
        pass
"""
"""A few milliseconds of work, then a look at the pipe, which is readable at its end only."""

KILL_TIMEOUT_S = 5.0


def busy_command(core: int | None = None) -> list[str]:
    """One busy process, on `core` alone where given; it wants a pipe on stdin. No site packages and no
    user settings are loaded: it is busy after 20 ms."""
    return [sys.executable, "-I", "-S", "-c", BUSY_LOOP, *([] if core is None else [str(core)])]


class _Neighbour(NamedTuple):
    process: "subprocess.Popen[bytes]"
    core: int | None


class NoisyNeighbours:
    """The busy processes that this app has started. Used from one thread.

    That thread must live as long as the app: the parent-death signal follows the thread that
    created the process, not the process. `emit` takes a `Neighbours` event after every change.
    """

    def __init__(
        self, emit: Callable[[Neighbours], None], clock: Callable[[], int] = time.perf_counter_ns
    ) -> None:
        self._emit, self._clock = emit, clock
        self._running: list[_Neighbour] = []

    @property
    def count(self) -> int:
        """How many are running; one that was killed from outside no longer counts."""
        for one in [one for one in self._running if one.process.poll() is not None]:
            self._running.remove(one)
            _end(one)
        return len(self._running)

    def add(self, n: int = 1, core: int | None = None) -> None:
        """Start `n` more, on any core or all on `core`.

        Raises:
            ValueError: this process may not use `core`.
            OSError: no more processes can be started; those that could be are kept.
        """
        usable = os.sched_getaffinity(0)
        if core is not None and core not in usable:
            raise ValueError(f"core {core}: this process may use {', '.join(map(str, sorted(usable)))}")
        try:
            for _ in range(n):
                process = subprocess.Popen(
                    busy_command(core),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
                self._running.append(_Neighbour(process, core))
        finally:
            self._say()

    def remove(self) -> None:
        """End the newest one, if there is any."""
        if self.count:
            _end(self._running.pop())
            self._say()

    def remove_all(self) -> None:
        """End them all; safe to call again."""
        if not self._running:
            return
        # All are told before any is waited for: 32 on one core take their time to die.
        for one in self._running:
            one.process.kill()
        while self._running:
            _end(self._running.pop())
        self._say()

    def _say(self) -> None:
        count = self.count
        cores = sorted({one.core for one in self._running if one.core is not None})
        self._emit(Neighbours(self._clock(), count, tuple(cores)))


def _end(one: _Neighbour) -> None:
    one.process.kill()
    one.process.wait(KILL_TIMEOUT_S)
    if one.process.stdin is not None:
        one.process.stdin.close()
