"""Counters that only grow, added up from events as they pass."""

import threading
from bisect import bisect_left
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from idlegap.core.protocol.events import AnyEvent, CgroupSample, Exclusion, Token, TokenBatch
from idlegap.core.protocol.modes import ModeName

BOUNDS_S = (
    *(0.0005, 0.001, 0.0015, 0.002, 0.0025, 0.003, 0.0035, 0.004, 0.005, 0.0075),
    *(0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0),
)
"""Upper bounds of the token histogram: dense from the fastest graph to the slowest eager mode."""

_BOUNDS_NS = tuple(round(bound * 1e9) for bound in BOUNDS_S)


@dataclass(slots=True)
class ModeTally:
    """Counted tokens of one mode. Readings that were never taken are None.

    `buckets` counts tokens by wall time, the last entry those beyond every bound.
    """

    buckets: list[int] = field(default_factory=lambda: [0] * (len(_BOUNDS_NS) + 1))
    wall_ns: int = 0
    cpu_ns: int | None = None
    run_delay_ns: int | None = None
    preempted: int | None = None

    def add(self, tokens: Sequence[Token]) -> None:
        """Take counted tokens into account."""
        walls_ns = [token.done_ns - token.start_ns for token in tokens]
        for wall_ns in walls_ns:
            self.buckets[bisect_left(_BOUNDS_NS, wall_ns)] += 1
        self.wall_ns += sum(walls_ns)
        self.cpu_ns = _plus(self.cpu_ns, *[token.cpu_ns for token in tokens])
        self.run_delay_ns = _plus(self.run_delay_ns, *[token.run_delay_ns for token in tokens])
        self.preempted = _plus(self.preempted, *[token.preempted for token in tokens])


@dataclass(slots=True)
class Totals:
    """All counters at one moment."""

    modes: dict[ModeName, ModeTally] = field(default_factory=dict)
    excluded: dict[Exclusion, int] = field(default_factory=dict)
    throttled: int | None = None
    throttled_ns: int | None = None
    cgroup_pressure_us: int | None = None
    system_pressure_us: int | None = None


class Tally:
    """A listener of a session. One thread tells it events; any may ask for `totals`."""

    def __init__(self) -> None:
        self._totals = Totals()
        self._lock = threading.Lock()

    def __call__(self, event: AnyEvent) -> None:
        """Take one event: less than a microsecond for each token."""
        match event:
            case TokenBatch():
                with self._lock:
                    self._batch(event)
            case CgroupSample():
                with self._lock:
                    self._cgroup(event)
            case _:
                pass

    def totals(self) -> Totals:
        """A copy of all counters."""
        with self._lock:
            return deepcopy(self._totals)

    def _batch(self, batch: TokenBatch) -> None:
        if batch.excluded is not None:
            seen = self._totals.excluded.get(batch.excluded, 0)
            self._totals.excluded[batch.excluded] = seen + len(batch.tokens)
            return
        self._totals.modes.setdefault(batch.mode, ModeTally()).add(batch.tokens)

    def _cgroup(self, sample: CgroupSample) -> None:
        totals = self._totals
        totals.throttled = _plus(totals.throttled, sample.throttled)
        totals.throttled_ns = _plus(totals.throttled_ns, sample.throttled_ns)
        totals.cgroup_pressure_us = _plus(totals.cgroup_pressure_us, sample.cgroup_pressure_us)
        totals.system_pressure_us = _plus(totals.system_pressure_us, sample.system_pressure_us)


def _plus(total: int | None, *more: int | None) -> int | None:
    known = [value for value in more if value is not None]
    return (total or 0) + sum(known) if known else total
