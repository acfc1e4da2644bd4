"""Who holds the decode thread back: what slow tokens lost since the mode was entered, whether
the machine is contended now, and what to do about it, in words.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

from idlegap.core.measure.limits import is_contended, is_stolen
from idlegap.core.protocol.events import CgroupSample, CpuSample, HostInfo, Token
from idlegap.core.protocol.modes import ONE_GRAPH, ModeName
from idlegap.core.protocol.settings import Wait
from idlegap.core.slow_tokens.causes import Cause, CauseTotal, RecentTokens, SlowView
from idlegap.core.slow_tokens.cpu_users import Loads, Rivals
from idlegap.core.slow_tokens.explain import SlowToken
from idlegap.core.text.units import percent

KEPT_SLOW = 64
"""Slow tokens to look back at: more lines than a terminal has."""

RECENT_NS = 2_000_000_000
"""Contention now: over as long as the rate on screen covers, where so many tokens are kept."""

SPARE_CORES = 0.5
"""With less than half a core left by others, whatever wakes up has to queue for it."""

QUIET_PCT = 20.0
"""A core with less load than this is worth a pin: the scheduler's own housekeeping is below."""

ADVISED_SLOW = 5
"""Advice on slow tokens needs this many: one or two are anybody's bad luck."""

Pressure = Literal["quota", "neighbour", "own threads", "cpu wait", "steal", "crowded"]
"""What contends now: a cause of slow tokens, or ``crowded``, cores full but no token hurt."""


@dataclass(slots=True)
class SlowLog:
    """The last slow tokens, and what all of them lost since the mode was entered."""

    recent: deque[SlowView] = field(default_factory=lambda: deque(maxlen=KEPT_SLOW))
    _ns: dict[Cause, int] = field(default_factory=dict)
    _tokens: dict[Cause, int] = field(default_factory=dict)

    def entered(self) -> None:
        """A mode was entered: its shares begin anew."""
        self._ns.clear()
        self._tokens.clear()

    def add(self, found: SlowToken, mode: ModeName | None) -> None:
        """Take a slow token; it counts if it is of the current `mode`."""
        self.recent.appendleft(
            SlowView(
                token=found.index,
                round=found.round,
                mode=found.mode,
                wall_ns=found.wall_ns,
                excess_ns=found.excess_ns,
                cause=found.cause,
                text=found.text,
                done_ns=found.done_ns,
            )
        )
        if found.mode != mode:
            return
        self._tokens[found.cause] = self._tokens.get(found.cause, 0) + 1
        for share in found.shares:
            self._ns[share.cause] = self._ns.get(share.cause, 0) + share.ns

    def shares(self) -> tuple[CauseTotal, ...]:
        """Excess time by cause, largest first."""
        ordered = sorted(self._ns.items(), key=lambda entry: -entry[1])
        return tuple(CauseTotal(cause, ns, self._tokens.get(cause, 0)) for cause, ns in ordered)


@dataclass(frozen=True, slots=True)
class Contention:
    """What contends now, and a few words for a badge. `cores` are those that others or our own
    other threads use meanwhile, where that was read and one of them is to blame."""

    pressure: Pressure
    text: str
    cores: float | None = None


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
    return RecentTokens(
        tokens=len(recent),
        wall_ns=wall_ns,
        run_delay_ns=min(sum(delays_ns) // len(delays_ns), wall_ns) if delays_ns else None,
    )


def contention_now(
    recent: RecentTokens | None,
    *,
    rivals: tuple[Rivals | None, Loads | None],
    cpu: CpuSample | None,
    cgroup: CgroupSample | None,
    host: HostInfo | None,
) -> Contention | None:
    """Whether the decode thread is being held back now, or nobody could say.

    Unlike slow tokens, which differ from their neighbours in time, this also sees a rival that
    has been there all along.
    """
    if cgroup is not None and cgroup.throttled_ns and cgroup.interval_ns:
        share = cgroup.throttled_ns / cgroup.interval_ns
        if is_contended(cgroup.throttled_ns, cgroup.interval_ns):
            return Contention("quota", f"CPU quota: stopped {percent(min(share, 1))} of the time")
    delay_ns = recent.run_delay_ns if recent is not None else None
    if recent is not None and delay_ns is not None and is_contended(delay_ns, recent.wall_ns):
        who, cores = _holder(delay_ns, *rivals)
        waits = f"waits {percent(delay_ns / recent.wall_ns)} for a CPU"
        return Contention(who, waits if who == "cpu wait" else f"{who}: {waits}", cores)
    if cpu is None:
        return None
    if cpu.steal_pct is not None and is_stolen(cpu.steal_pct):
        return Contention("steal", f"steal: {cpu.steal_pct:.0f} % of this machine")
    usable = host.usable_cores if host is not None else len(cpu.core_pct)
    if cpu.others_pct is not None and usable and cpu.others_pct / 100 > usable - SPARE_CORES:
        used = cpu.others_pct / 100
        return Contention("crowded", f"others use {used:.1f} of {usable:g} cores", used)
    return None


def _holder(waited_ns: int, rivals: Rivals | None, usual: Loads | None) -> tuple[Pressure, float | None]:
    own, others = rivals.weights(waited_ns, usual) if rivals is not None else (0, 0)
    if rivals is None or not own + others:
        return "cpu wait", None
    return ("neighbour", rivals.others_cores) if others >= own else ("own threads", rivals.own_cores)


@dataclass(frozen=True, slots=True)
class Situation:
    """What advice depends on: `ours` neighbours are of our own making, `wait` is how the decode
    thread waits for the GPU, `graphs` whether graph mode can run here."""

    mode: ModeName | None
    cpu: CpuSample | None
    cgroup: CgroupSample | None
    host: HostInfo | None
    in_process: bool = False
    ours: int = 0
    wait: Wait = "spin"
    graphs: bool = True


def advice(contention: Contention | None, shares: tuple[CauseTotal, ...], now: Situation) -> str:
    """What to do about the contention of now, else about the main cause of slow tokens, in one
    sentence; empty where there is nothing to be done."""
    if contention is not None:
        return _remedy(contention.pressure, now)
    if not shares or sum(total.tokens for total in shares) < ADVISED_SLOW:
        return ""
    return _remedy(shares[0].cause, now)


def _remedy(cause: Cause | Pressure, now: Situation) -> str:
    match cause:
        case "neighbour" | "cpu wait" | "crowded":
            return _against_neighbours(now)
        case "own threads":
            core = quiet_core(now)
            pin = f" and pin the decode thread: --pin {core}" if core is not None else ""
            return f"Give the engine's other threads less to do (OMP_NUM_THREADS=1){pin}."
        case "quota":
            quota = now.cgroup.quota_cores if now.cgroup is not None else None
            limit = f" from {quota:g} cores" if quota is not None else ""
            return f"Raise the container's CPU limit{limit}, or run less beside the engine in it."
        case "steal":
            return "The host is oversold: only another one, or CPUs of your own, will help."
        case "probe":
            return "Our own measuring costs this: see what --no-nvml changes."
        case "more cpu":
            return (
                "The core itself slows down: a busy sibling or shared cache, its clock, or garbage collection"
                f"{_fewer_calls(now)}."
            )
        case "blocked" if now.in_process:
            return "The engine shares the interpreter with the screen: leave out --in-process."
        case "blocked":
            return "The decode thread is made to wait: a lock, a debugger, or signals that stop the engine."
        case "gpu clock":
            return "The GPU holds its clocks back: check its cooling and its power limit."
        case _:
            return ""


def _against_neighbours(now: Situation) -> str:
    if now.ours:
        them = "it" if now.ours == 1 else "them"
        return f"{_count(now.ours)} of our own making: remove {them} to compare{_sleep(now)}."
    core = quiet_core(now)
    besides = _fewer_calls(now) + _sleep(now)
    if core is not None:
        return f"Core {core} is free: pin the decode thread there with --pin {core}{besides}."
    return f"No usable core is free: move the neighbours away, or rent CPUs of your own{besides}."


def _fewer_calls(now: Situation) -> str:
    """Graphs as the other way out, where they can run and are not in use already."""
    if not now.graphs or now.mode in ONE_GRAPH:
        return ""
    return "; graph mode needs the CPU only once a token"


def _sleep(now: Situation) -> str:
    """After its one submission the thread needs no core until the GPU is done. A spinning wait keeps
    one busy all the same, so the scheduler gives the thread no more than its share of it. In the
    other modes the host works all the time: there is nothing to give away."""
    spins = now.mode in ONE_GRAPH and now.wait == "spin"
    return "; --wait block gives the core away while the GPU computes" if spins else ""


def _count(neighbours: int) -> str:
    return "One neighbour is" if neighbours == 1 else f"{neighbours} neighbours are"


def quiet_core(now: Situation) -> int | None:
    """The usable core with the least load, if it has nearly none and is not decode's own."""
    if now.cpu is None:
        return None
    usable = now.host.affinity if now.host is not None else range(len(now.cpu.core_pct))
    loads = [
        (now.cpu.core_pct[core], core)
        for core in usable
        if core < len(now.cpu.core_pct) and core != now.cpu.decode_core
    ]
    load, core = min(loads, default=(100.0, 0))
    return core if load < QUIET_PCT else None
