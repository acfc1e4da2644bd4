"""Results side by side: who decodes how fast, what limits whom, and which differences are real.

Different machines differ in everything at once, so a comparison shows that they differ, never
why. Why is told by each machine's own profile where there is one; otherwise the bandwidth in
use gives a hint, and is called one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from idlegap.core.bench.conclusion import LEAST_DIFFERENCE
from idlegap.core.compare.machines import Limit, Machine
from idlegap.core.compare.same_gpu import host_remark
from idlegap.core.measure.statistics import Ratio, ratio_interval
from idlegap.core.protocol.modes import EAGER, MODE_NAMES, REPLAYED, ModeName
from idlegap.core.text.units import US, bandwidth, interval, percent, rate, tenths, times, us


@dataclass(frozen=True, slots=True)
class Difference:
    """A machine against the first one: the ratio of their rates in each mode that both ran alike.
    `unlike` says why the other modes are not compared, `remark` what differs all the same, `host`
    that both are of one GPU whose host changed speed."""

    machine: Machine
    reference: Machine
    ratios: Mapping[ModeName, Ratio]
    unlike: tuple[str, ...] = ()
    unstated: tuple[str, ...] = ()
    remark: str = ""
    host: str = ""


def differences(machines: Sequence[Machine]) -> tuple[Difference, ...]:
    """All machines but the first against the first."""
    return tuple(_difference(machine, machines[0]) for machine in machines[1:])


def _difference(machine: Machine, reference: Machine) -> Difference:
    ours, theirs = machine.workload, reference.workload
    ratios: dict[ModeName, Ratio] = {
        mode: ratio_interval(machine.rates[mode], reference.rates[mode])
        for mode in MODE_NAMES
        if mode in machine.rates and mode in reference.rates and not ours.differences(theirs, mode)
    }
    unlike = tuple(ours.differences(theirs, REPLAYED))
    unstated = () if unlike else tuple(ours.unstated(theirs))
    remark = ours.cache_remark(theirs) if ratios.keys() - {"eager"} else ""
    host = ""
    if machine.device_uuid is not None and machine.device_uuid == reference.device_uuid:
        differing = [mode for mode in EAGER if mode in ratios and _differs(ratios[mode])]
        host = host_remark(machine.usual, reference.usual, differing)
    return Difference(machine, reference, ratios, unlike, unstated, remark, host)


def difference_words(difference: Difference) -> str:
    """All ratios, each with its mode; without an eager mode that both ran, which ones they ran; and
    why modes are left out."""
    unlike = "; ".join(difference.unlike)
    if unlike and not difference.ratios:
        return f"NOT COMPARED, another workload: {unlike}"
    parts = [f"{mode} {ratio_words(ratio)}" for mode, ratio in difference.ratios.items()]
    if unlike:
        return ", ".join([*parts, f"other modes NOT COMPARED: {unlike}"])
    if not any(mode in difference.ratios for mode in EAGER):
        ours, theirs = (_eager_modes(machine) for machine in (difference.machine, difference.reference))
        parts.insert(0, f"no eager mode in common ({ours}, not {theirs})")
    if REPLAYED not in difference.ratios:
        parts.append(f"{REPLAYED} n/a")
    return ", ".join(parts)


def _eager_modes(machine: Machine) -> str:
    return " and ".join(mode for mode in EAGER if mode in machine.rates) or "none"


def ratio_words(ratio: Ratio) -> str:
    """The ratio with its interval, and whether it is one."""
    if ratio.low is None or _differs(ratio):
        return interval(ratio)
    return f"no significant difference, {interval(ratio)}"


def _differs(ratio: Ratio) -> bool:
    return ratio.significant and abs(ratio.value - 1) >= LEAST_DIFFERENCE


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
        launches = f", {us(cost)} {US} per launch" if cost is not None else ""
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
    """Where more bandwidth decodes slower in the same eager mode: for each machine, the least one
    that overtakes it."""
    told: dict[int, str] = {}
    for mode in EAGER:
        for index, text in _inversions(machines, mode):
            told.setdefault(index, text)
    return [told[index] for index in sorted(told)]


def _inversions(machines: Sequence[Machine], mode: ModeName) -> Iterator[tuple[int, str]]:
    """The places in `machines` of those that are overtaken in `mode`, each with its sentence."""
    rows = [(index, m, m.spec_bytes_per_s, m.rate(mode)) for index, m in enumerate(machines)]
    known = [
        (index, m, spec, speed) for index, m, spec, speed in rows if spec is not None and speed is not None
    ]
    for index, machine, spec, speed in known:
        ahead = [
            (other_spec, other_speed, other)
            for _, other, other_spec, other_speed in known
            if other_spec < spec
            and other_speed > speed
            and not other.workload.differences(machine.workload, mode)
        ]
        if not ahead:
            continue
        other_spec, other_speed, other = min(ahead, key=lambda entry: entry[:2])
        ours, theirs = machine.mbu_at(speed) or 0.0, other.mbu_at(other_speed) or 0.0
        rates = f"{mode}: {rate(speed)} against {rate(other_speed)} tok/s"
        yield (
            index,
            f"{machine.gpu} has {times(spec / other_spec)} the bandwidth of {other.gpu} and decodes eagerly "
            f"at {times(speed / other_speed)} its rate ({rates}). "
            f"Bandwidth does not limit it: it uses {tenths(ours)} of its own, the other {tenths(theirs)}. "
            f"{_why(machine)}",
        )


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
