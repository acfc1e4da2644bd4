"""Was the host slower in one stretch of tokens than in another?

On a rented machine the same work may take the decode thread two to four times the CPU time from
one minute to the next: another virtual machine on the core's other hardware thread does that, or
a hypervisor that gives the core away in silence. No counter of this machine shows it. What
shows it is the work itself: a token that took longer, in CPU time and not in waiting for a CPU,
while the host set the pace (`core.measure.limits.host_sets_pace`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from idlegap.core.measure.limits import LIKE_WORK, MOST, SAME_WORK, host_sets_pace
from idlegap.core.measure.typical_token import Typical
from idlegap.core.protocol.events import EngineReady, ProfileWindow
from idlegap.core.protocol.modes import EAGER, ModeName

Windows = Mapping[ModeName, ProfileWindow]
"""The accepted profile window of each mode, as far as there is one."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One stay in a mode: when its first counted token began, and what its tokens usually cost."""

    mode: ModeName
    since_ns: int
    usual: Typical


def told_by_cpu_time(engine: EngineReady | None) -> bool:
    """Whether the decode thread's CPU time says something about the host's speed: not where the CPU computes,
    because there the thread spins while its helpers are kept waiting."""
    return engine is not None and engine.device != "cpu"


def changed_speed(one: Visit, other: Visit, windows: Windows) -> bool:
    """Whether the host was faster in one visit than in the other; False where nothing tells.

    Visits of one mode are compared by token, visits of the two modes of EAGER by kernel. The
    visits must be of one shape.
    """
    kernels = {mode: window.kernels for mode, window in windows.items()}
    if one.mode == other.mode:
        factor, work = SAME_WORK, 1.0
    elif {one.mode, other.mode} == set(EAGER) and all(kernels.get(mode) for mode in EAGER):
        factor, work = LIKE_WORK, kernels[one.mode] / kernels[other.mode]
    else:
        return False
    busy = {mode: window.busy_ns for mode, window in windows.items()}
    return any(
        slower_host(slow.usual, fast.usual, busy.get(fast.mode), factor, share)
        for slow, fast, share in ((one, other, work), (other, one, 1 / work))
    )


def slower_host(
    slow: Typical, fast: Typical, busy_ns: int | None, factor: float = SAME_WORK, work: float = 1.0
) -> bool:
    """Whether `slow` took more than `factor` times what `work` times `fast` takes, in CPU time.

    Where CPU time accounts for the difference, waiting for a CPU does not. `busy_ns` is device busy of
    the faster one: measured at another time it may be that of a GPU which was faster, so it is held
    against the fastest token. None: not known, and nothing is claimed.
    """
    if slow.cpu_ns is None or fast.cpu_ns is None:
        return False
    excess = slow.wall_ns - work * fast.wall_ns
    return (
        slow.wall_ns > factor * work * fast.wall_ns
        and slow.dispatch_fills_token
        and host_sets_pace(fast.wall_ns, fast.dispatch_ns, busy_ns)
        and slow.cpu_ns - work * fast.cpu_ns >= MOST * excess
    )


def changed_within(visits: Sequence[Visit], windows: Windows) -> bool:
    """Whether the host changed speed between any two of `visits`."""
    return any(changed_speed(one, other, windows) for one, other in combinations(visits, 2))


def kernel_ns(visit: Visit, windows: Windows) -> float:
    """Host time to submit one kernel, its share of the model's Python included."""
    return visit.usual.dispatch_ns / windows[visit.mode].kernels
