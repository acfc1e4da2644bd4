"""Results side by side: who decodes how fast, what limits whom, and which differences are real.

Different machines differ in everything at once, so a comparison shows that they differ, never
why. Why is told by each machine's own profile where there is one; otherwise the bandwidth in
use gives a hint, and is called one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from idlegap.core.compare.machines import Machine
from idlegap.core.compare.reasons import reasons
from idlegap.core.measure.limits import Judgement, is_different
from idlegap.core.measure.statistics import Ratio, ratio_interval
from idlegap.core.protocol.modes import EAGER, MODE_NAMES, REPLAYED, ModeName
from idlegap.core.text.phrases import LIMIT_NAMES, LIMIT_WORDS, sentence
from idlegap.core.text.reasons import words
from idlegap.core.text.units import US, bandwidth, interval, percent, rate, tenths, times, us


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
    why = reasons(machine, reference, differing)
    return Difference(machine, reference, ratios, unlike, unstated, remark, why)


def _ratio(machine: Machine, reference: Machine, mode: ModeName) -> Ratio:
    """The ratio of the rates that the table shows; what the single runs took says how sure it is."""
    value = machine.tok_per_s[mode] / reference.tok_per_s[mode]
    return ratio_interval(reference.run_means_ns[mode], machine.run_means_ns[mode], value=value)


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
    return " and ".join(mode for mode in EAGER if mode in machine.tok_per_s) or "none"


def ratio_words(ratio: Ratio) -> str:
    """The ratio with its interval, and whether it is one."""
    if ratio.low is None or is_different(ratio):
        return interval(ratio)
    return f"no significant difference, {interval(ratio)}"


def limit_words(machine: Machine) -> str:
    """The entry of the *limit* column; a question mark where it is an inference."""
    limit = machine.limit
    return f"{LIMIT_NAMES[limit.limit]}?" if limit.inferred else LIMIT_NAMES[limit.limit]


def limit_reason(machine: Machine) -> str:
    """What the *limit* column rests on, in one sentence."""
    limit = machine.limit
    if limit.limit == "unknown":
        return f"unknown: {words(limit.reason)}"
    used = ""
    if machine.mbu_spec is not None and machine.spec_bytes_per_s is not None:
        used = f"{tenths(machine.mbu_spec)} of its {bandwidth(machine.spec_bytes_per_s)} stream the weights"
    if limit.basis == "bandwidth":
        return f"{LIMIT_WORDS[limit.limit]}, inferred: {used}; its idle time was not measured"
    cost = machine.dispatch_per_kernel_ns
    launches = f", {us(cost)} {US} per launch" if cost is not None else ""
    inferred = ", inferred" if limit.inferred else ""
    return f"{LIMIT_WORDS[limit.limit]}{inferred}: {_lateness(limit)}{launches}" + (used and f"; {used}")


def _lateness(limit: Judgement) -> str:
    """How much of a token the host costs, by what the judgement rests on."""
    share = percent(limit.late_share or 0)
    match limit.basis:
        case "replay":
            return f"replaying the same kernels from a graph saves {share} of a token"
        case "idle time":
            return f"the GPU idles in {share} of a token"
        case _:
            return f"the GPU waits for the host in {share} of a token"


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
    rows = [(index, m, m.spec_bytes_per_s, m.tok_per_s.get(mode)) for index, m in enumerate(machines)]
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
        limits = "" if machine.limit.limit == "bandwidth" else "Bandwidth does not limit it: "
        yield (
            index,
            f"{machine.gpu} has {times(spec / other_spec)} the bandwidth of {other.gpu} and decodes eagerly "
            f"at {times(speed / other_speed)} its rate ({rates}). "
            + sentence(f"{limits}it uses {tenths(ours)} of its own, the other {tenths(theirs)}")
            + f" {_why(machine)}",
        )


def _why(machine: Machine) -> str:
    limit, host = machine.limit, f"its host ({machine.cpu})"
    late = percent(limit.late_share or 0)
    if limit.limit in ("host", "mixed"):
        if limit.basis == "profile":
            return f"Its GPU waits for {host} in {late} of each token."
        if limit.basis == "replay":
            return f"Its GPU waits for {host}: replaying its kernels from a graph saves {late} of a token."
        if limit.basis == "idle time":
            return f"Its GPU idles in {late} of each token; that it waits for {host} is likely, not shown."
    if limit.limit == "host":
        return (
            f"That it waits for {host} is likely, not shown: machines differ in everything "
            "at once, and a bench on this one would tell."
        )
    if limit.basis == "profile":
        return f"{sentence(LIMIT_WORDS[limit.limit])[:-1]}: it waits for {host} in only {late} of each token."
    return "What else limits it, these figures do not tell."
