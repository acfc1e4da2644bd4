"""Slow tokens explained as the events come in: live, and in the same way on a recording.

The samples that cover a token arrive after it, so a slow token waits until they are in, or
for one second of the events' own time. Memory is bounded.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

from idlegap.core.measure.typical_token import Typical
from idlegap.core.protocol.events import (
    AnyEvent,
    CgroupSample,
    CpuSample,
    GpuSample,
    MonitorSample,
    ProfileWindow,
    Token,
    TokenBatch,
)
from idlegap.core.slow_tokens.context import Surroundings
from idlegap.core.slow_tokens.cpu_users import Loads, Rivals
from idlegap.core.slow_tokens.explain import SlowToken, slow_token

PATIENCE_NS = 1_000_000_000
"""Four periods of the sensors: whatever has not been said by then will not be."""

KEPT_SAMPLES = 128
"""Of each kind: half a minute at four a second, enough for what is usual of the GPU."""

KEPT_LOADS = 64
"""Samples that say what load is usual: a quarter of a minute, so that it follows the machine."""

KEPT_TOKENS = 2048
"""Two samples' worth at a thousand tokens a second."""

MOST_PENDING = 1024
"""Slow tokens that may wait at once; beyond that the oldest make do with what is known."""

_E = TypeVar("_E")


@dataclass(frozen=True, slots=True)
class _Pending:
    batch: TokenBatch
    offset: int
    usual: Typical

    @property
    def token(self) -> Token:
        return self.batch.tokens[self.offset]


@dataclass(slots=True)
class Attribution:
    """Tokens go in with what is usual at the time, samples go in, explained tokens come out."""

    _cpu: list[CpuSample] = field(default_factory=list)
    _cgroup: list[CgroupSample] = field(default_factory=list)
    _gpu: list[GpuSample] = field(default_factory=list)
    _frames: list[MonitorSample] = field(default_factory=list)
    _profiles: list[ProfileWindow] = field(default_factory=list)
    _tokens: list[Token] = field(default_factory=list)
    _pending: deque[_Pending] = field(default_factory=deque)
    _loads: deque[Loads] = field(default_factory=lambda: deque(maxlen=KEPT_LOADS))
    _usual: Loads | None = None
    _now_ns: int = 0

    def add(self, batch: TokenBatch, usual: Typical | None) -> None:
        """Take a batch; `usual` is None while too few tokens are known to judge it."""
        _keep(self._tokens, batch.tokens, KEPT_TOKENS)
        if usual is None or batch.excluded is not None:
            return
        threshold_ns = usual.threshold_ns
        for offset, token in enumerate(batch.tokens):
            if token.done_ns - token.start_ns > threshold_ns:
                self._pending.append(_Pending(batch, offset, usual))

    def observe(self, event: AnyEvent) -> None:
        """Take any event: samples are kept, and all of them tell the time."""
        self._now_ns = max(self._now_ns, event.t_ns)
        match event:
            case CpuSample():
                _keep(self._cpu, (event,), KEPT_SAMPLES)
                self._learn()
            case CgroupSample():
                _keep(self._cgroup, (event,), KEPT_SAMPLES)
            case GpuSample():
                _keep(self._gpu, (event,), KEPT_SAMPLES)
            case MonitorSample():
                _keep(self._frames, (event,), KEPT_SAMPLES)
            case ProfileWindow():
                _keep(self._profiles, (event,), KEPT_SAMPLES)
            case _:
                pass

    def settled(self) -> tuple[SlowToken, ...]:
        """The slow tokens that can be explained now and were not yet, oldest first."""
        if not self._pending:
            return ()
        found: list[SlowToken] = []
        covered_ns = self._covered_ns()
        while self._pending and (
            self._pending[0].token.done_ns <= covered_ns or len(self._pending) > MOST_PENDING
        ):
            found.append(self._explain(self._pending.popleft()))
        return tuple(found)

    def rest(self) -> tuple[SlowToken, ...]:
        """Those that still wait, explained with what is known: the events have ended."""
        found = tuple(self._explain(waiting) for waiting in self._pending)
        self._pending.clear()
        return found

    def rivals(self, token: Token) -> tuple[Rivals | None, Loads | None]:
        """Who else used the CPU around `token`, as far as the samples have come, and who
        usually does."""
        return self._around().rivals(token), self._usual

    def _around(self) -> Surroundings:
        return Surroundings(
            self._cpu, self._cgroup, self._gpu, self._frames, self._profiles, self._tokens, self._usual
        )

    def _learn(self) -> None:
        """Add the newest sample whose tokens must all have come to what is usual."""
        at = bisect_right(self._cpu, self._now_ns - PATIENCE_NS, key=lambda sample: sample.t_ns) - 1
        if at < 1:
            return
        end_ns = self._cpu[at].t_ns
        found = self._around().rivals(Token(end_ns, end_ns, end_ns))
        if found is not None:
            self._loads.append(Loads(found.own_cores, found.others_cores))
            self._usual = Loads(
                median([load.own_cores for load in self._loads]),
                median([load.others_cores for load in self._loads]),
            )

    def _covered_ns(self) -> int:
        """Until when all kinds of samples that come at all have come."""
        newest = [samples[-1].t_ns for samples in (self._cpu, self._cgroup, self._gpu) if samples]
        return max(min(newest, default=0), self._now_ns - PATIENCE_NS)

    def _explain(self, waiting: _Pending) -> SlowToken:
        return slow_token(waiting.batch, waiting.offset, waiting.usual, self._around())


def _keep(kept: list[_E], more: Iterable[_E], most: int) -> None:
    """Append, and forget the oldest half once twice as many as `most` are there. Lists, because
    bisection and slices of a deque take time proportional to its length."""
    kept.extend(more)
    if len(kept) > 2 * most:
        del kept[:-most]
