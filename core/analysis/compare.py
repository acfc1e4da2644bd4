"""Results side by side: who decodes how fast, what limits whom, and which differences are real.

Different machines differ in everything at once, so a comparison shows that they differ, never
why. Why is told by each machine's own profile where there is one; otherwise the bandwidth in
use gives a hint, and is called one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core.analysis.machines import Limit, Machine
from core.analysis.stats import Ratio, ratio_interval
from core.analysis.verdict import LEAST_DIFFERENCE
from core.analysis.words import bandwidth, interval, percent, rate, tenths, times, us


@dataclass(frozen=True, slots=True)
class Difference:
    """A machine against the first one. `unlike` says why nothing is compared; a ratio is None
    where one of both lacks that figure."""

    machine: Machine
    reference: Machine
    eager: Ratio | None
    graph: Ratio | None
    unlike: tuple[str, ...] = ()
    unstated: tuple[str, ...] = ()


def differences(machines: Sequence[Machine]) -> tuple[Difference, ...]:
    """All machines but the first against the first."""
    return tuple(_difference(machine, machines[0]) for machine in machines[1:])


def _difference(machine: Machine, reference: Machine) -> Difference:
    unlike = tuple(machine.workload.differences(reference.workload))
    if unlike:
        return Difference(machine, reference, None, None, unlike)
    return Difference(
        machine,
        reference,
        _ratio(machine.eager, reference.eager),
        _ratio(machine.graph, reference.graph),
        unstated=tuple(machine.workload.unstated(reference.workload)),
    )


def _ratio(a: Sequence[float], b: Sequence[float]) -> Ratio | None:
    return ratio_interval(a, b) if a and b else None


def ratio_words(ratio: Ratio) -> str:
    """The ratio with its interval, and whether it is one."""
    if ratio.low is None:
        return interval(ratio)
    if ratio.significant and abs(ratio.value - 1) >= LEAST_DIFFERENCE:
        return interval(ratio)
    return f"no significant difference, {interval(ratio)}"


def limit_words(machine: Machine) -> str:
    """The entry of the *limit* column; a question mark where it is an inference."""
    limit, measured = machine.limit
    return limit if measured or limit == "unknown" else f"{limit}?"


def limit_reason(machine: Machine) -> str:
    """What the *limit* column rests on, in one sentence."""
    limit, measured = machine.limit
    used = ""
    if machine.mbu_spec is not None and machine.spec_bytes_per_s is not None:
        used = f"{tenths(machine.mbu_spec)} of its {bandwidth(machine.spec_bytes_per_s)} stream the weights"
    if measured and machine.idle_share is not None:
        cost = machine.dispatch_per_kernel_ns
        launches = f", {us(cost)} us per launch" if cost is not None else ""
        beside = f"; {used}" if used else ""
        return f"{_SAYS[limit]}: the GPU idles in {percent(machine.idle_share)} of a token{launches}{beside}"
    if limit == "unknown":
        return "unknown: neither a profile nor a specified bandwidth"
    return f"{_SAYS[limit]}, inferred: {used}; its idle time was not measured"


_SAYS: dict[Limit, str] = {
    "host": "the host sets the pace, not its bandwidth",
    "GPU": "the GPU sets the pace",
    "both": "host and GPU both",
    "unknown": "unknown",
}


def inversions(machines: Sequence[Machine]) -> list[str]:
    """Where more bandwidth decodes slower: for each machine, the least one that overtakes it."""
    rows = [(m, m.spec_bytes_per_s, m.eager_rate) for m in machines]
    known = [(m, spec, speed) for m, spec, speed in rows if spec is not None and speed is not None]
    found = []
    for machine, spec, speed in known:
        ahead = [
            (other_spec, other_speed, other)
            for other, other_spec, other_speed in known
            if other_spec < spec and other_speed > speed and not other.workload.differences(machine.workload)
        ]
        if not ahead:
            continue
        other_spec, other_speed, other = min(ahead, key=lambda entry: entry[:2])
        ours, theirs = machine.mbu_spec or 0.0, other.mbu_spec or 0.0
        found.append(
            f"{machine.gpu} has {times(spec / other_spec)} the bandwidth of {other.gpu} and decodes eagerly "
            f"at {times(speed / other_speed)} its rate ({rate(speed)} against {rate(other_speed)} tok/s). "
            f"Bandwidth does not limit it: it uses {tenths(ours)} of its own, the other {tenths(theirs)}. "
            f"{_why(machine)}"
        )
    return found


def _why(machine: Machine) -> str:
    limit, measured = machine.limit
    if measured and machine.idle_share is not None:
        idle = percent(machine.idle_share)
        return f"Its GPU idles in {idle} of each token, waiting for its host ({machine.cpu})."
    if limit == "host":
        return (
            f"That it waits for its host ({machine.cpu}) is likely, not shown: machines differ in everything "
            "at once, and a bench on this one would tell."
        )
    return "What else limits it, these figures do not tell."
