"""What contends for the CPU, and what would help, in words."""

from idlegap.core.protocol.modes import ONE_GRAPH, REPLAYED
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.slow_tokens.causes import Cause, Contention, Pressure
from idlegap.core.slow_tokens.contention import quiet_core
from idlegap.core.text.units import percent

ADVISED_SLOW = 5
"""Advice on slow tokens needs this many: one or two are anybody's bad luck."""


def contention_words(contention: Contention | None) -> str:
    """A few words for a badge; "" where nothing contends."""
    if contention is None:
        return ""
    share = percent(contention.share) if contention.share is not None else ""
    match contention.pressure:
        case "quota":
            return f"CPU quota: stopped {share} of the time"
        case "steal":
            return f"steal: {share} of this machine"
        case "crowded":
            return f"others use {contention.cores or 0:.1f} of {contention.usable_cores or 0:g} cores"
        case "cpu wait":
            return f"waits {share} for a CPU"
        case who:
            return f"{who}: waits {share} for a CPU"


def advice(snap: Snapshot) -> str:
    """What to do about the contention of now, else about the main cause of slow tokens, in one
    sentence; empty where there is nothing to be done."""
    if snap.contention is not None:
        return _remedy(snap.contention.pressure, snap)
    if sum(total.tokens for total in snap.slow_shares) < ADVISED_SLOW:
        return ""
    return _remedy(snap.slow_shares[0].cause, snap)


def _remedy(cause: Cause | Pressure, snap: Snapshot) -> str:
    match cause:
        case "neighbour" | "cpu wait" | "crowded":
            return _against_neighbours(snap)
        case "own threads":
            core = quiet_core(snap.cpu, snap.host)
            pin = f" and pin the decode thread: --pin {core}" if core is not None else ""
            return f"Give the engine's other threads less to do (OMP_NUM_THREADS=1){pin}."
        case "quota":
            quota = snap.cgroup.quota_cores if snap.cgroup is not None else None
            limit = f" from {quota:g} cores" if quota is not None else ""
            return f"Raise the container's CPU limit{limit}, or run less beside the engine in it."
        case "steal":
            return "The host is oversold: only another one, or CPUs of your own, will help."
        case "probe":
            return "Our own measuring costs this: see what --no-nvml changes."
        case "more cpu":
            return (
                "The core itself slows down: a busy sibling or shared cache, its clock, or garbage collection"
                f"{_fewer_calls(snap)}."
            )
        case "blocked" if snap.in_process:
            return "The engine shares the interpreter with the screen: leave out --in-process."
        case "blocked":
            return "The decode thread is made to wait: a lock, a debugger, or signals that stop the engine."
        case "gpu clock":
            return "The GPU holds its clocks back: check its cooling and its power limit."
        case _:
            return ""


def _against_neighbours(snap: Snapshot) -> str:
    if snap.neighbours:
        one = snap.neighbours == 1
        who = "One neighbour is" if one else f"{snap.neighbours} neighbours are"
        return f"{who} of our own making: remove {'it' if one else 'them'} to compare{_sleep(snap)}."
    core = quiet_core(snap.cpu, snap.host)
    besides = _fewer_calls(snap) + _sleep(snap)
    if core is not None:
        return f"Core {core} is free: pin the decode thread there with --pin {core}{besides}."
    return f"No usable core is free: move the neighbours away, or rent CPUs of your own{besides}."


def _fewer_calls(snap: Snapshot) -> str:
    """Graphs as the other way out, where they can run and are not in use already."""
    graph = snap.mode_view(REPLAYED)
    if snap.mode in ONE_GRAPH or (graph is not None and graph.reason is not None):
        return ""
    return "; graph mode needs the CPU only once a token"


def _sleep(snap: Snapshot) -> str:
    """After its one submission the thread needs no core until the GPU is done. A spinning wait keeps
    one busy all the same, so the scheduler gives the thread no more than its share of it. In the
    other modes the host works all the time: there is nothing to give away."""
    wait = snap.engine.wait if snap.engine is not None else "spin"
    spins = snap.mode in ONE_GRAPH and wait == "spin"
    return "; --wait block gives the core away while the GPU computes" if spins else ""
