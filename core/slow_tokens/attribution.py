"""Slow tokens explained as the events come in: live, and in the same way on a recording.

The samples that cover a token arrive after it, so a slow token waits until they are in, or
for one second of the events' own time. Memory is bounded.
"""

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from idlegap.core.measure.typical_token import Typical
from idlegap.core.protocol.events import AnyEvent, CpuSample, Token, TokenBatch
from idlegap.core.slow_tokens.context import Context, CpuUsers, Loads
from idlegap.core.slow_tokens.explain import SlowToken, slow_token
from idlegap.core.slow_tokens.samples import Samples, last, trim

PATIENCE_NS = 1_000_000_000
"""Four periods of the sensors: whatever has not been said by then will not be."""

KEPT_LOADS = 64
"""Samples that say what load is usual: a quarter of a minute, so that it follows the machine."""

KEPT_TOKENS = 2048
"""Two samples' worth at a thousand tokens a second."""

MOST_PENDING = 1024
"""Slow tokens that may wait at once; beyond that the oldest make do with what is known."""


class _Pending(NamedTuple):
    token: Token
    batch: TokenBatch
    offset: int
    usual: Typical


@dataclass(slots=True)
class Attribution:
    """Tokens go in with what is usual at the time, samples go in, explained tokens come out."""

    samples: Samples = field(default_factory=Samples)
    _tokens: list[Token] = field(default_factory=list)
    _pending: deque[_Pending] = field(default_factory=deque)
    _loads: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=KEPT_LOADS))
    _usual: Loads | None = None
    _now_ns: int = 0

    def add(self, batch: TokenBatch, usual: Typical | None) -> None:
        """Take a batch; `usual` is None while too few tokens are known to judge it."""
        self._tokens.extend(batch.tokens)
        trim(self._tokens, KEPT_TOKENS)
        if usual is None or batch.excluded is not None:
            return
        slow = (
            _Pending(token, batch, at, usual) for at, token in enumerate(batch.tokens) if usual.is_slow(token)
        )
        self._pending.extend(slow)

    def observe(self, event: AnyEvent) -> None:
        """Take any event: samples are kept, and all of them tell the time."""
        self._now_ns = max(self._now_ns, event.t_ns)
        self.samples.apply(event)
        if isinstance(event, CpuSample):
            self._learn()

    def settled(self) -> tuple[SlowToken, ...]:
        """The slow tokens that can be explained now and were not yet, oldest first."""
        if not self._pending:
            return ()
        found: list[SlowToken] = []
        covered_ns, waiting = self._covered_ns(), self._pending
        while waiting and (waiting[0].token.done_ns <= covered_ns or len(waiting) > MOST_PENDING):
            found.append(self._explain(waiting.popleft()))
        return tuple(found)

    def rest(self) -> tuple[SlowToken, ...]:
        """Those that still wait, explained with what is known: the events have ended."""
        found = tuple(self._explain(waiting) for waiting in self._pending)
        self._pending.clear()
        return found

    def cpu_users(self, token: Token) -> tuple[CpuUsers | None, Loads | None]:
        """Who else used the CPU around `token`, as far as the samples have come, and who
        usually does."""
        return self._around().cpu_users(token), self._usual

    def _around(self) -> Context:
        s = self.samples
        near = (last(s.cpu), last(s.cgroup), last(s.gpu), last(s.frames), last(s.profiles))
        return Context(*near, self._tokens, self._usual)

    def _learn(self) -> None:
        """Add the newest sample whose tokens must all have come to what is usual."""
        cpu = last(self.samples.cpu)
        at = bisect_right(cpu, self._now_ns - PATIENCE_NS, key=lambda sample: sample.t_ns) - 1
        if at < 1:
            return
        end_ns = cpu[at].t_ns
        found = self._around().cpu_users(Token(end_ns, end_ns, end_ns))
        if found is not None:
            self._loads.append((found.own_cores, found.others_cores))
            self._usual = Loads(*map(median, zip(*self._loads, strict=True)))

    def _covered_ns(self) -> int:
        """Until when all kinds of samples that come at all have come."""
        kept = self.samples
        newest = [samples[-1].t_ns for samples in (kept.cpu, kept.cgroup, kept.gpu) if samples]
        return max(min(newest, default=0), self._now_ns - PATIENCE_NS)

    def _explain(self, waiting: _Pending) -> SlowToken:
        return slow_token(waiting.batch, waiting.offset, waiting.usual, self._around())
