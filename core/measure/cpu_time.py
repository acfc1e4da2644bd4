"""How much CPU time a token takes now, against the least that the same work ever took here.

A neighbour that no counter shows (see core.session.host_changes) makes the decode thread's
instructions slower, not its waits longer. CPU time knows nothing of waiting for a core, so its
growth while the kernels stay the same is the host's own speed. It means that only where
submitting is the token: elsewhere the thread spins until the device is done.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from idlegap.core.measure.limits import DISPATCH_SHARE
from idlegap.core.measure.statistics import median
from idlegap.core.measure.typical_token import LEAST_TOKENS
from idlegap.core.protocol.events import Token
from idlegap.core.protocol.reasons import Reason, because

SAME_WORK = 1.25
"""The same work at more than this times the CPU time is told. On a rented H200, eager-static stayed
within 8 % while the host kept its speed (23.2 to 25.0 ms) and took 1.6 to 1.8 times as long while
it was slow; what a profile window leaves behind costs 4 %."""

RECENT_LEAST_TOKENS = 8
"""Of fewer tokens the median is anybody's; at 94 ms a token two seconds hold 21."""


@dataclass(frozen=True, slots=True)
class CpuWork:
    """CPU time of the decode thread for one token of the current mode: the median of the last two
    seconds, and the least that LEAST_TOKENS tokens in a row took in this mode and shape. The host is
    `slow` where they are further apart than its noise."""

    cpu_ns: int
    least_ns: int
    slow: bool


@dataclass(slots=True)
class LeastCpu:
    """The least median of CPU time over LEAST_TOKENS tokens in a row, of one mode and shape.

    Of a block rather than of a token, because the least of single tokens falls with their number.
    """

    ns: int | None = None
    _block: list[Token] = field(default_factory=list)

    def add(self, tokens: Iterable[Token]) -> None:
        """Take counted tokens of the mode, oldest first."""
        for token in tokens:
            self._block.append(token)
            if len(self._block) == LEAST_TOKENS:
                cpu_ns = _cpu_ns(self._block) if _submitting(self._block) else None
                self._block.clear()
                if cpu_ns is not None:
                    self.ns = cpu_ns if self.ns is None else min(self.ns, cpu_ns)


def cpu_work(recent: Sequence[Token], least: LeastCpu) -> CpuWork | Reason:
    """CPU time over the `recent` tokens, newest first, beside the least, or the reason why it tells
    nothing. Slow is what they and the newest of them are: else the host has just become faster."""
    if len(recent) < RECENT_LEAST_TOKENS:
        return because("few-recent-tokens", tokens=len(recent))
    if not _submitting(recent):
        return because("waits-for-gpu")
    cpu_ns = _cpu_ns(recent)
    newest_ns = _cpu_ns(recent[:RECENT_LEAST_TOKENS])
    if cpu_ns is None or newest_ns is None:
        return because("no-thread-clock")
    if least.ns is None:
        return because("few-tokens", tokens=LEAST_TOKENS)
    least_ns = min(cpu_ns, least.ns)
    return CpuWork(cpu_ns, least_ns, slow=min(cpu_ns, newest_ns) > SAME_WORK * least_ns)


def _submitting(tokens: Sequence[Token]) -> bool:
    """Whether submitting is the token, in the median."""
    wall_ns = median([token.wall_ns for token in tokens])
    return median([token.dispatch_ns for token in tokens]) >= DISPATCH_SHARE * wall_ns


def _cpu_ns(tokens: Sequence[Token]) -> int | None:
    found = [token.cpu_ns for token in tokens if token.cpu_ns is not None]
    return round(median(found)) if found else None
