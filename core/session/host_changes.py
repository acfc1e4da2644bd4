"""Did the host change speed between two visits?

On a rented machine the same work may take the decode thread two to four times the CPU time from
one minute to the next: another virtual machine on the core's other hardware thread does that, or
a hypervisor that gives the core away in silence. No counter of this machine shows it. What
shows it is the work itself: a token that took longer, in CPU time and not in waiting for a CPU,
while the host was the one that submitted all the time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from idlegap.core.measure.cpu_time import SAME_WORK
from idlegap.core.measure.typical_token import Typical
from idlegap.core.protocol.events import EngineReady
from idlegap.core.protocol.modes import EAGER, MODE_NAMES, ModeName
from idlegap.core.session.snapshot import HostChange
from idlegap.core.session.visits import Visit, VisitLog
from idlegap.core.text.units import ms, us

LIKE_WORK = 1.5
"""The same between two modes, per kernel: at one speed of the host a kernel of eager costs 0.95 to
1.15 times one of eager-static (H200), whose kernels are not quite the same."""

MOST = 0.8
"""Share of the difference that CPU time must account for; waiting of any kind has the rest."""


def changed_speed(one: Visit, other: Visit, kernels: Mapping[ModeName, int]) -> bool:
    """Whether the host was faster in one visit than in the other; False where nothing tells.

    Visits of one mode are compared by token, visits of the two modes of EAGER by kernel;
    `kernels` holds the kernels per token where they are known. The visits must be of one shape.
    """
    if one.mode == other.mode:
        return slower_host(one.usual, other.usual) or slower_host(other.usual, one.usual)
    if {one.mode, other.mode} != set(EAGER) or not (kernels.get(one.mode) and kernels.get(other.mode)):
        return False
    work = kernels[one.mode] / kernels[other.mode]
    return any(
        slower_host(slow.usual, fast.usual, LIKE_WORK, share)
        for slow, fast, share in ((one, other, work), (other, one, 1 / work))
    )


def slower_host(slow: Typical, fast: Typical, factor: float = SAME_WORK, work: float = 1.0) -> bool:
    """Whether `slow` took more than `factor` times what `work` times `fast` takes, in CPU time.

    Where CPU time accounts for the difference, waiting for a CPU does not. The decode thread may
    spin while it waits for the GPU, so CPU time tells of the host only where submitting is the token.
    """
    if slow.cpu_ns is None or fast.cpu_ns is None:
        return False
    excess = slow.wall_ns - work * fast.wall_ns
    return (
        slow.wall_ns > factor * work * fast.wall_ns
        and slow.submits_always
        and slow.cpu_ns - work * fast.cpu_ns >= MOST * excess
    )


def changed_within(visits: Sequence[Visit], kernels: Mapping[ModeName, int]) -> bool:
    """Whether the host changed speed between any two of `visits`."""
    return any(changed_speed(one, other, kernels) for one, other in combinations(visits, 2))


def kernel_ns(visit: Visit, kernels: Mapping[ModeName, int]) -> float:
    """Host time to submit one kernel, its share of the model's Python included."""
    return visit.usual.dispatch_ns / kernels[visit.mode]


def told_by_cpu_time(engine: EngineReady | None) -> bool:
    """Whether the decode thread's CPU time tells of the host's speed: not where the CPU computes,
    because there the thread spins while its helpers are kept waiting."""
    return engine is not None and engine.device != "cpu"


@dataclass(slots=True)
class HostChanges:
    """The changes between the last visits that stand, each with the time since when.

    Whoever feeds it calls `judge` as events come in, not as frames are drawn: a replay then finds
    the same changes at the same times.
    """

    standing: tuple[HostChange, ...] = ()

    def judge(
        self, now_ns: int, log: VisitLog, engine: EngineReady | None, kernels: Mapping[ModeName, int]
    ) -> None:
        """Look again: what stood already keeps its time, what is new was found at `now_ns`."""
        self.standing = tuple(self._dated(change) for change in host_changes(now_ns, log, engine, kernels))

    def _dated(self, change: HostChange) -> HostChange:
        for old in self.standing:
            if _is_one(old, change):
                return replace(change, found_ns=old.found_ns)
        return change


def _is_one(old: HostChange, new: HostChange) -> bool:
    """Whether `new` tells again what `old` told. Between visits of one mode each later visit makes a
    new change. Between two modes it stays the same while the same one is slower: to visit the
    other one again adds nothing."""
    return old.modes == new.modes and (len(new.modes) > 1 or old.since_ns == new.since_ns)


def host_changes(
    now_ns: int, log: VisitLog, engine: EngineReady | None, kernels: Mapping[ModeName, int]
) -> tuple[HostChange, ...]:
    """Between which of the last visits the host changed speed, as found at `now_ns`: those of one
    mode, and those of the two modes that launch kernel by kernel."""
    if not told_by_cpu_time(engine):
        return ()
    found = []
    for mode in MODE_NAMES:
        last = log.of(mode)[-2:]
        if changed_within(last, kernels):
            before, after = last
            found.append(HostChange((mode,), after.since_ns, now_ns, _same_mode(before, after)))
    pair = [visit for mode in EAGER for visit in log.of(mode)[-1:]]
    if changed_within(pair, kernels):
        eager, base = pair
        slower_first = sorted(pair, key=lambda visit: -kernel_ns(visit, kernels))
        modes = tuple(visit.mode for visit in slower_first)
        since_ns = max(visit.since_ns for visit in pair)
        found.append(HostChange(modes, since_ns, now_ns, _two_modes(eager, base, kernels)))
    return tuple(found)


def _same_mode(before: Visit, after: Visit) -> str:
    return (
        f"{after.mode} took {ms(before.usual.wall_ns)} ms a token in one visit, {ms(after.usual.wall_ns)} in "
        "the next, without waiting for a CPU: the host changed speed; visit the modes again to compare."
    )


def _two_modes(eager: Visit, base: Visit, kernels: Mapping[ModeName, int]) -> str:
    return (
        f"To submit a kernel the host took {us(kernel_ns(eager, kernels))} µs in {eager.mode}, "
        f"{us(kernel_ns(base, kernels))} in {base.mode}, without waiting for a CPU: it changed speed; "
        "visit both again to compare."
    )
