"""Faults to inject beside and inside an engine, each for a known time.

A fault begins, lasts for a burst and ends; `end` says from when to when it really acted. Those
that act inside the engine's process are carried out by `benchmarks.victim`.
"""

import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from typing import Protocol

from idlegap.core.slow_tokens.causes import Cause
from idlegap.core.system.neighbours import NoisyNeighbours

STOP_S = 0.030
LOCK_MS = 30
MOST_HOGS = 8

HOG = """
import ctypes, select
ctypes.CDLL(None).prctl(1, 9)
source, target = bytearray(64 << 20), bytearray(64 << 20)
while not select.select([0], [], [], 0)[0]:
    target[:] = source
"""

Span = tuple[int, int]
"""From when to when, CLOCK_MONOTONIC ns."""


class Victim(Protocol):
    """What the faults need to know of the engine under test."""

    pid: int
    tid: int

    def order(self, line: str) -> None: ...

    def answer(self, name: str) -> Span: ...


class Fault(ABC):
    """One injected cause.

    Attributes:
        causes: the answers that are right.
        once: one short blow rather than a state that lasts for the burst.
    """

    name: str
    causes: tuple[Cause, ...]
    once = False

    @abstractmethod
    def begin(self, victim: Victim, seconds: float) -> None:
        """Let it act from now on, for about `seconds`."""

    @abstractmethod
    def end(self) -> Span:
        """Stop it, and say when it acted."""


class NeighbourOnCore(Fault):
    """One busy process on the decode thread's core, and both pinned to it."""

    name = "neighbour, same core"
    causes = ("neighbour",)

    def begin(self, victim: Victim, seconds: float) -> None:
        self._tid = victim.tid
        self._usable = os.sched_getaffinity(victim.tid)
        core = max(self._usable)
        os.sched_setaffinity(victim.tid, {core})
        self._started = time.perf_counter_ns()
        self._neighbours = NoisyNeighbours(lambda _: None)
        self._neighbours.add(1, core)

    def end(self) -> Span:
        self._neighbours.remove_all()
        os.sched_setaffinity(self._tid, self._usable)
        return self._started, time.perf_counter_ns()


class NeighboursEverywhere(Fault):
    """Twice as many busy processes as cores, pinned to none."""

    name = "neighbours, all cores"
    causes = ("neighbour",)

    def begin(self, victim: Victim, seconds: float) -> None:
        self._started = time.perf_counter_ns()
        self._neighbours = NoisyNeighbours(lambda _: None)
        self._neighbours.add(2 * len(os.sched_getaffinity(0)))

    def end(self) -> Span:
        self._neighbours.remove_all()
        return self._started, time.perf_counter_ns()


class _Ordered(Fault):
    """A fault inside the engine's process."""

    once = True

    def begin(self, victim: Victim, seconds: float) -> None:
        self._victim = victim
        self._line = self.line(seconds)
        victim.order(self._line)

    def end(self) -> Span:
        return self._victim.answer(self._line.split()[0])

    def line(self, seconds: float) -> str:
        raise NotImplementedError


class HelperThreads(_Ordered):
    """Twice as many computing threads of the engine's own process as there are cores."""

    name = "own helper threads"
    causes = ("own threads",)
    once = False

    def line(self, seconds: float) -> str:
        return f"helpers {2 * len(os.sched_getaffinity(0))} {round(seconds * 1e3)}"


class Collection(_Ordered):
    """A full garbage collection on the decode thread."""

    name = "garbage collection"
    causes = ("more cpu",)

    def line(self, seconds: float) -> str:
        return "gc"


class LockHeld(_Ordered):
    """Another thread holds a lock that the step needs."""

    name = "lock held"
    causes = ("blocked",)

    def line(self, seconds: float) -> str:
        return f"lock {LOCK_MS}"


class Stopped(Fault):
    """SIGSTOP, and SIGCONT 30 ms later: a debugger, a checkpoint, a frozen container."""

    name = "stopped by a signal"
    causes = ("blocked",)
    once = True

    def begin(self, victim: Victim, seconds: float) -> None:
        self._started = time.perf_counter_ns()
        os.kill(victim.pid, signal.SIGSTOP)
        time.sleep(STOP_S)
        os.kill(victim.pid, signal.SIGCONT)
        self._ended = time.perf_counter_ns()

    def end(self) -> Span:
        return self._started, self._ended


class MemoryHog(Fault):
    """Processes that copy memory on every core but the decode thread's."""

    name = "memory-bandwidth hog"
    causes = ("more cpu",)

    def __init__(self) -> None:
        self._count = min(MOST_HOGS, len(os.sched_getaffinity(0)) - 1)

    def begin(self, victim: Victim, seconds: float) -> None:
        self._tid = victim.tid
        self._usable = os.sched_getaffinity(victim.tid)
        own = max(self._usable)
        os.sched_setaffinity(victim.tid, {own})
        self._started = time.perf_counter_ns()
        # Inherited from the start: on the way to its own affinity a hog would be a neighbour.
        mine = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self._usable - {own})
        self._hogs = [
            subprocess.Popen([sys.executable, "-I", "-S", "-c", HOG], stdin=subprocess.PIPE)
            for _ in range(self._count)
        ]
        os.sched_setaffinity(0, mine)

    def end(self) -> Span:
        for hog in self._hogs:
            hog.kill()
        for hog in self._hogs:
            hog.communicate()
        os.sched_setaffinity(self._tid, self._usable)
        return self._started, time.perf_counter_ns()
