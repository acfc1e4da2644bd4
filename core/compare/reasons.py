"""Why two results of one workload differ, as far as their own figures tell: longer kernels, a slower host."""

from collections.abc import Sequence

from idlegap.core.compare.machines import Machine
from idlegap.core.measure.host_speed import slower_host
from idlegap.core.measure.limits import HOST_SHARE, LEAST_DIFFERENCE, MOST, SAME_WORK
from idlegap.core.protocol.modes import EAGER, ModeName
from idlegap.core.text.units import ms


def reasons(ours: Machine, theirs: Machine, modes: Sequence[ModeName]) -> tuple[str, ...]:
    """What makes up the difference in `modes`, which differ; the kernels first. The host is asked only
    about what they do not explain, and only where both results are of one GPU."""
    longer = [mode for mode in modes if _longer_kernels(ours, theirs, mode)]
    told = [
        f"{ms(ours.busy_ns[mode])} ms a token in {mode}, not {ms(theirs.busy_ns[mode])}" for mode in longer
    ]
    found = [f"its kernels take {', and '.join(told)}"] if told else []
    if ours.device_uuid is not None and ours.device_uuid == theirs.device_uuid:
        left = [mode for mode in EAGER if mode in modes and mode not in longer]
        found += [remark for mode in left if (remark := _host_remark(ours, theirs, mode))][:1]
    return tuple(found)


def _longer_kernels(ours: Machine, theirs: Machine, mode: ModeName) -> bool:
    """Whether device busy differs, and accounts for most of the difference in `mode`. Where the device is
    idle for half of the slower token, the host sets the pace and longer kernels cost nothing."""
    if not all(mode in machine.busy_ns and mode in machine.walls_ns for machine in (ours, theirs)):
        return False
    slow, fast = sorted((ours, theirs), key=lambda machine: -machine.walls_ns[mode])
    busy_ns, wall_ns = slow.busy_ns[mode], slow.walls_ns[mode]
    more_busy_ns = busy_ns - fast.busy_ns[mode]
    return (
        more_busy_ns >= LEAST_DIFFERENCE * busy_ns
        and more_busy_ns >= MOST * (wall_ns - fast.walls_ns[mode])
        and busy_ns > (1 - HOST_SHARE) * wall_ns
    )


def _host_remark(ours: Machine, theirs: Machine, mode: ModeName) -> str:
    """The CPU time of both in `mode`, where that makes up the difference; and that the host changed
    speed, where it is more than one speed of it explains. Else ""."""
    mine, other = ours.usual.get(mode), theirs.usual.get(mode)
    if mine is None or other is None:
        return ""
    fast, slow = (theirs, ours) if other.wall_ns <= mine.wall_ns else (ours, theirs)
    quick, late = fast.usual[mode], slow.usual[mode]
    if not slower_host(late, quick, fast.busy_ns.get(mode), 1 + LEAST_DIFFERENCE):
        return ""
    told = (
        f"the same GPU, and {mode} took {ms(mine.cpu_ns or 0)} ms of CPU time a token, not "
        f"{ms(other.cpu_ns or 0)}"
    )
    return f"{told}: its host changed speed" if late.wall_ns > SAME_WORK * quick.wall_ns else told
