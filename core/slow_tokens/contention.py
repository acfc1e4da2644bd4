"""Who holds the decode thread back: what slow tokens lost since the mode was entered, and whether
the machine is contended now.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from idlegap.core.measure.limits import is_contended, is_stolen
from idlegap.core.protocol.events import CgroupSample, CpuSample, HostInfo, Token
from idlegap.core.protocol.modes import ModeName
from idlegap.core.slow_tokens.causes import Cause, CauseTotal, Contention, Pressure, RecentTokens
from idlegap.core.slow_tokens.context import CpuUsers, Loads
from idlegap.core.slow_tokens.explain import SlowToken, total_shares

KEPT_SLOW = 64
"""Slow tokens to look back at: more lines than a terminal has."""

RECENT_NS = 2_000_000_000
"""Contention now: over as long as the rate on screen covers, where so many tokens are kept."""

QUIET_PCT = 20.0
"""A core with less load than this is worth a pin: the scheduler's own housekeeping is below."""

SPARE_CORES = 0.5
"""With less than half a core left by others, whatever wakes up has to queue for it."""


@dataclass(slots=True)
class SlowLog:
    """The last slow tokens, and what all of them lost since the mode was entered."""

    recent: deque[SlowToken] = field(default_factory=lambda: deque(maxlen=KEPT_SLOW))
    _ns: Counter[Cause] = field(default_factory=Counter)
    _tokens: Counter[Cause] = field(default_factory=Counter)

    def entered(self) -> None:
        """A mode was entered: its shares begin anew."""
        self._ns.clear()
        self._tokens.clear()

    def add(self, found: SlowToken, mode: ModeName | None) -> None:
        """Take a slow token; it counts if it is of the current `mode`."""
        self.recent.appendleft(found)
        if found.mode == mode:
            self._tokens[found.cause] += 1
            self._ns += total_shares([found])

    def shares(self) -> tuple[CauseTotal, ...]:
        """Excess time by cause, largest first."""
        return tuple(CauseTotal(cause, ns, self._tokens[cause]) for cause, ns in self._ns.most_common())


def recently_begun(newest_first: Iterable[Token], now_ns: int) -> list[Token]:
    """The tokens that began within RECENT_NS before `now_ns`, newest first."""
    since_ns = now_ns - RECENT_NS
    return list(takewhile(lambda token: token.start_ns >= since_ns, newest_first))


def mean_token(recent: Sequence[Token]) -> RecentTokens | None:
    """The mean of `recent`; None without one.

    Its run delay is the mean of those that were read, and never longer than the token itself.
    """
    if not recent:
        return None
    wall_ns = sum(token.wall_ns for token in recent) // len(recent)
    delays_ns = [token.run_delay_ns for token in recent if token.run_delay_ns is not None]
    delay_ns = min(sum(delays_ns) // len(delays_ns), wall_ns) if delays_ns else None
    return RecentTokens(len(recent), wall_ns, delay_ns)


def contention_now(
    recent: RecentTokens | None,
    *,
    cpu_users: tuple[CpuUsers | None, Loads | None],
    cpu: CpuSample | None,
    cgroup: CgroupSample | None,
    host: HostInfo | None,
) -> Contention | None:
    """Whether the decode thread is being held back now, or nobody could say.

    Unlike slow tokens, which differ from their neighbours in time, this also sees a neighbour that
    has been there all along.
    """
    if cgroup is not None and cgroup.throttled_ns and cgroup.interval_ns:
        share = cgroup.throttled_ns / cgroup.interval_ns
        if is_contended(cgroup.throttled_ns, cgroup.interval_ns):
            return Contention("quota", share=min(share, 1.0))
    delay_ns = recent.run_delay_ns if recent is not None else None
    if recent is not None and delay_ns is not None and is_contended(delay_ns, recent.wall_ns):
        who, cores = _holder(delay_ns, *cpu_users)
        return Contention(who, share=delay_ns / recent.wall_ns, cores=cores)
    if cpu is None:
        return None
    if cpu.steal_pct is not None and is_stolen(cpu.steal_pct):
        return Contention("steal", share=cpu.steal_pct / 100)
    usable = host.usable_cores if host is not None else len(cpu.core_pct)
    if cpu.others_pct is not None and usable and cpu.others_pct / 100 > usable - SPARE_CORES:
        return Contention("crowded", cores=cpu.others_pct / 100, usable_cores=usable)
    return None


def _holder(waited_ns: int, cpu_users: CpuUsers | None, usual: Loads | None) -> tuple[Pressure, float | None]:
    own, others = cpu_users.weights(waited_ns, usual) if cpu_users is not None else (0, 0)
    if cpu_users is None or not own + others:
        return "cpu wait", None
    return ("neighbour", cpu_users.others_cores) if others >= own else ("own threads", cpu_users.own_cores)


def quiet_core(cpu: CpuSample | None, host: HostInfo | None) -> int | None:
    """The usable core with the least load, if it has nearly none and is not decode's own."""
    if cpu is None:
        return None
    others = [(load, core) for core, load in enumerate(cpu.core_pct) if core != cpu.decode_core]
    usable = [(load, core) for load, core in others if host is None or core in host.affinity]
    load, core = min(usable, default=(100.0, 0))
    return core if load < QUIET_PCT else None
