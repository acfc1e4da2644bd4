"""How much CPU time a token takes now, against the least that the same work ever took here.

A neighbour that no counter shows (see core.measure.host_speed) makes the decode thread's
instructions slower, not its waits longer. CPU time knows nothing of waiting for a core, so its
growth while the kernels stay the same is the host's own speed. It means that only where the host
sets the pace (`core.measure.limits.host_sets_pace`): elsewhere the thread spins until the device is done.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from idlegap.core.measure.limits import DISPATCH_SHARE, SAME_WORK, host_sets_pace
from idlegap.core.measure.typical_token import LEAST_TOKENS, median_known
from idlegap.core.protocol.events import Token
from idlegap.core.protocol.reasons import Reason, because

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
    """The least medians of CPU time and of wall time over LEAST_TOKENS tokens in a row, of one mode
    and shape, as far as dispatch filled these tokens.

    Of a block rather than of a token, because the least of single tokens falls with their number.
    """

    ns: int | None = None
    wall_ns: int | None = None
    _block: list[Token] = field(default_factory=list)

    def add(self, tokens: Iterable[Token]) -> None:
        """Take counted tokens of the mode, oldest first."""
        for token in tokens:
            self._block.append(token)
            if len(self._block) == LEAST_TOKENS:
                self._close()

    def _close(self) -> None:
        cpu_ns, wall_ns = _cpu_ns(self._block), _wall_ns(self._block)
        if cpu_ns is not None and _dispatch_fills(self._block):
            self.ns = min(cpu_ns, self.ns or cpu_ns)
            self.wall_ns = min(wall_ns, self.wall_ns or wall_ns)
        self._block.clear()


def cpu_work(recent: Sequence[Token], least: LeastCpu, busy_ns: int | None) -> CpuWork | Reason:
    """CPU time over the `recent` tokens, newest first, beside the least, or the reason why it tells
    nothing. Slow is what they and the newest of them are: else the host has just become faster.

    `busy_ns` is device busy of the mode's profile window; None without one. It is held against the
    fastest tokens ever, because it may be older than a GPU that slowed down.
    """
    if len(recent) < RECENT_LEAST_TOKENS:
        return because("few-recent-tokens", tokens=len(recent))
    if not _dispatch_fills(recent):
        return because("waits-for-gpu")
    cpu_ns = _cpu_ns(recent)
    newest_ns = _cpu_ns(recent[:RECENT_LEAST_TOKENS])
    if cpu_ns is None or newest_ns is None:
        return because("no-thread-clock")
    if least.ns is None or least.wall_ns is None:
        return because("few-tokens", tokens=LEAST_TOKENS)
    if busy_ns is None:
        return because("needs-window")
    fastest_ns = min(_wall_ns(recent), least.wall_ns)
    if not host_sets_pace(fastest_ns, fastest_ns, busy_ns):
        return because("gpu-fills-token")
    least_ns = min(cpu_ns, least.ns)
    return CpuWork(cpu_ns, least_ns, slow=min(cpu_ns, newest_ns) > SAME_WORK * least_ns)


def _dispatch_fills(tokens: Sequence[Token]) -> bool:
    """Whether dispatch is the token, in the median."""
    return median([token.dispatch_ns for token in tokens]) >= DISPATCH_SHARE * _wall_ns(tokens)


def _wall_ns(tokens: Sequence[Token]) -> int:
    return round(median([token.wall_ns for token in tokens]))


def _cpu_ns(tokens: Sequence[Token]) -> int | None:
    return median_known(token.cpu_ns for token in tokens)
