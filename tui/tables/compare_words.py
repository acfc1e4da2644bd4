"""What a comparison says in words: the differences, what limits whom, and what turns the order round."""

from idlegap.core.compare.differences import Difference, Inversion
from idlegap.core.compare.machines import Machine
from idlegap.core.measure.limits import Judgement, is_different
from idlegap.core.measure.statistics import Ratio
from idlegap.core.protocol.modes import EAGER, REPLAYED
from idlegap.core.text.phrases import LIMIT_NAMES, LIMIT_WORDS, sentence
from idlegap.core.text.reasons import words
from idlegap.core.text.units import US, bandwidth, interval, percent, rate, tenths, times, us


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


def inversion_words(found: Inversion) -> str:
    """By how much more bandwidth decodes slower, and why as far as that is known."""
    machine, other = found.machine, found.other
    speed, ahead = machine.tok_per_s[found.mode], other.tok_per_s[found.mode]
    more = (machine.spec_bytes_per_s or 0.0) / (other.spec_bytes_per_s or 1.0)
    ours, theirs = machine.mbu_at(speed) or 0.0, other.mbu_at(ahead) or 0.0
    rates = f"{found.mode}: {rate(speed)} against {rate(ahead)} tok/s"
    limits = "" if machine.limit.limit == "bandwidth" else "Bandwidth does not limit it: "
    return (
        f"{machine.gpu} has {times(more)} the bandwidth of {other.gpu} and decodes eagerly "
        f"at {times(speed / ahead)} its rate ({rates}). "
        + sentence(f"{limits}it uses {tenths(ours)} of its own, the other {tenths(theirs)}")
        + f" {_why(machine)}"
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
