"""Results side by side: which differences are real, and what makes them up as far as their figures tell.

Different machines differ in everything at once, so a comparison shows that they differ, never
why. Each machine's own profile, where there is one, says why.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from idlegap.core.compare.machines import Machine
from idlegap.core.measure.host_speed import slower_host
from idlegap.core.measure.limits import HOST_SHARE, LEAST_DIFFERENCE, MOST, SAME_WORK, is_different
from idlegap.core.measure.statistics import Ratio, ratio_interval
from idlegap.core.protocol.modes import EAGER, MODE_NAMES, REPLAYED, ModeName
from idlegap.core.text.units import ms


@dataclass(frozen=True, slots=True)
class Difference:
    """A machine against the first one: the ratio of their rates in each mode that both ran alike.
    `unlike` says why the other modes are not compared, `remark` what differs all the same, `reasons`
    what makes up the differences, as far as that is known."""

    machine: Machine
    reference: Machine
    ratios: Mapping[ModeName, Ratio]
    unlike: tuple[str, ...] = ()
    unstated: tuple[str, ...] = ()
    remark: str = ""
    reasons: tuple[str, ...] = ()


def differences(machines: Sequence[Machine]) -> tuple[Difference, ...]:
    """All machines but the first against the first."""
    return tuple(_difference(machine, machines[0]) for machine in machines[1:])


def _difference(machine: Machine, reference: Machine) -> Difference:
    ours, theirs = machine.workload, reference.workload
    ratios: dict[ModeName, Ratio] = {
        mode: _ratio(machine, reference, mode)
        for mode in MODE_NAMES
        if mode in machine.tok_per_s and mode in reference.tok_per_s and not ours.differences(theirs, mode)
    }
    unlike = tuple(ours.differences(theirs, REPLAYED))
    unstated = () if unlike else tuple(ours.unstated(theirs))
    remark = ours.cache_remark(theirs) if ratios.keys() - {"eager"} else ""
    differing = [mode for mode, ratio in ratios.items() if is_different(ratio)]
    why = _reasons(machine, reference, differing)
    return Difference(machine, reference, ratios, unlike, unstated, remark, why)


def _ratio(machine: Machine, reference: Machine, mode: ModeName) -> Ratio:
    """The ratio of the rates that the table shows; what the single runs took says how sure it is."""
    value = machine.tok_per_s[mode] / reference.tok_per_s[mode]
    return ratio_interval(reference.run_means_ns[mode], machine.run_means_ns[mode], value=value)


def _reasons(ours: Machine, theirs: Machine, modes: Sequence[ModeName]) -> tuple[str, ...]:
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


@dataclass(frozen=True, slots=True)
class Inversion:
    """A machine of more specified bandwidth than `other` that decodes slower in the same eager mode."""

    machine: Machine
    other: Machine
    mode: ModeName


def inversions(machines: Sequence[Machine]) -> list[Inversion]:
    """For each machine that is overtaken, the one of least bandwidth that does so, in one mode of EAGER."""
    return [found for machine in machines if (found := next(_overtaken(machine, machines), None))]


def _overtaken(machine: Machine, machines: Sequence[Machine]) -> Iterator[Inversion]:
    for mode in EAGER:
        if machine.spec_bytes_per_s is None or mode not in machine.tok_per_s:
            continue
        ahead = [
            (other.spec_bytes_per_s, other.tok_per_s[mode], other)
            for other in machines
            if other.spec_bytes_per_s is not None
            and other.spec_bytes_per_s < machine.spec_bytes_per_s
            and other.tok_per_s.get(mode, 0.0) > machine.tok_per_s[mode]
            and not other.workload.differences(machine.workload, mode)
        ]
        if ahead:
            yield Inversion(machine, min(ahead, key=lambda entry: entry[:2])[2], mode)
