"""Why was this token slow? The excess over the mode's usual time, shared out among causes.

Each share is a difference between this token's reading and the mode's median reading, in ns
of the decode thread's own time, so the causes are measured, not guessed from averages:

============  ====================================================================
gpu clock     the wait for the device grew while the GPU's clock was unusually held down
quota         time without a CPU in a sample in which the cgroup was throttled
neighbour     run delay while other programs kept at least half a core busy
own threads   run delay while our own other threads did
cpu wait      run delay, and the loads do not say who had the CPU
steal         off the CPU without a switch while the hypervisor gave our cores to others
probe         one of our own measurements overlapped the token
more cpu      the dispatch took more CPU time: slower clock, cold cache, garbage collection
blocked       the thread slept longer, with more voluntary switches: a lock, the GIL, a stop
unexplained   the rest, and everything when readings are missing
============  ====================================================================

They are served in this order (the most specific first), each with what is left at most, so
that they sum to the excess. A spinning synchronisation burns CPU while it waits, so more CPU
counts only as far as the dispatch grew, and run delay is laid to the dispatch before the wait.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from core.analysis.surroundings import STEAL_PCT, Surroundings, cpu_holder, own_pct
from core.analysis.typical import Typical, off_cpu_ns, typical
from core.events import (
    AnyEvent,
    CgroupSample,
    CpuSample,
    EngineReady,
    GpuSample,
    ModeEntered,
    MonitorSample,
    ProfileWindow,
    Token,
    TokenBatch,
)
from core.modes import ModeName

KEPT_TOKENS = 256
"""Tokens that define "usual": about one default round, so that it follows a drifting host."""

Cause = Literal[
    "gpu clock",
    "quota",
    "neighbour",
    "own threads",
    "cpu wait",
    "steal",
    "probe",
    "more cpu",
    "blocked",
    "unexplained",
]


@dataclass(frozen=True, slots=True)
class Share:
    """One cause's part of a token's excess, and what was seen."""

    cause: Cause
    ns: int
    evidence: str


@dataclass(frozen=True, slots=True)
class SlowToken:
    """One slow token; its shares are positive and sum to `excess_ns` (over the median)."""

    mode: ModeName
    round: int
    index: int
    done_ns: int
    wall_ns: int
    excess_ns: int
    shares: tuple[Share, ...]

    @property
    def largest(self) -> Share:
        """The largest share; the unexplained one where it is as large as a named one."""
        return max(self.shares, key=lambda share: (share.ns, share.cause == "unexplained"))

    @property
    def cause(self) -> Cause:
        return self.largest.cause

    @property
    def text(self) -> str:
        """One line: which token, how slow, and the evidence for its largest share."""
        return f"token {self.index:,}: {_ms(self.wall_ns)}, +{_ms(self.excess_ns)}: {self.largest.evidence}"


def explain(token: Token, usual: Typical, around: Surroundings) -> tuple[Share, ...]:
    """Share out what `token` took beyond the usual wall time; empty if it took no more.

    The samples that cover a token arrive after it: for a live token, wait for the next ones.
    """
    left = token.wall_ns - usual.wall_ns
    shares: list[Share] = []
    for cause, ns, evidence in _candidates(token, usual, around):
        taken = min(ns, left)
        if taken > 0:
            shares.append(Share(cause, taken, evidence))
            left -= taken
    if left > 0:
        shares.append(Share("unexplained", left, _gap_in_knowledge(token)))
    return tuple(shares)


def _candidates(token: Token, usual: Typical, around: Surroundings) -> Iterable[tuple[Cause, int, str]]:
    dispatch = max(token.dispatch_ns - usual.dispatch_ns, 0)
    wait = max(token.wait_ns - usual.wait_ns, 0)
    cpu = _more(token.cpu_ns, usual.cpu_ns)
    delay = _more(token.run_delay_ns, usual.run_delay_ns)
    asleep = _more(off_cpu_ns(token), usual.off_cpu_ns)

    if slowed := around.gpu_slowed(token):
        delay_in_wait = max(delay - dispatch, 0)
        yield "gpu clock", wait - delay_in_wait, f"the GPU was held back: {slowed}"

    throttled = min(around.throttled_ns(token), delay + asleep)
    yield "quota", throttled, f"the CPU quota stopped the process for {_ms(throttled)}"
    asleep -= max(throttled - delay, 0)
    delay -= min(throttled, delay)

    cpu_sample = around.cpu_at(token)
    yield _cpu_wait(delay, cpu_sample)

    switches = _more(token.blocked, usual.blocked)
    if not switches and cpu_sample is not None and (steal := cpu_sample.steal_pct or 0.0) >= STEAL_PCT:
        yield "steal", asleep, f"off the CPU for {_ms(asleep)} without a switch; steal was {steal:.0f} %"
        asleep = 0

    probe, name = around.probe(token)
    yield "probe", probe, f"{name} overlapped it for {_ms(probe)}"
    asleep -= min(probe, asleep)

    more = min(cpu, dispatch)
    yield "more cpu", more, f"the same work took {_ms(more)} more CPU time"

    if switches:
        frame, name = around.frame(token)
        beside = f" while {name} was drawn" if frame else ""
        yield (
            "blocked",
            asleep,
            f"the thread slept {_ms(asleep)} longer, in {switches:,} more switches{beside}",
        )


def _cpu_wait(delay: int, cpu: CpuSample | None) -> tuple[Cause, int, str]:
    waited = f"the decode thread waited {_ms(delay)} for a CPU"
    holder = cpu_holder(cpu)
    if cpu is None or holder is None:
        return "cpu wait", delay, f"{waited}; who had it is not known"
    if holder == "own threads":
        return holder, delay, f"{waited}; our own other threads used {own_pct(cpu) / 100:.1f} cores"
    core = cpu.decode_core
    on_core = (
        ""
        if core is None or core >= len(cpu.core_pct)
        else f"core {core} was {cpu.core_pct[core]:.0f} % busy, "
    )
    return holder, delay, f"{waited}; {on_core}others used {(cpu.others_pct or 0.0) / 100:.1f} cores"


def _gap_in_knowledge(token: Token) -> str:
    fields = {"CPU time": token.cpu_ns, "run delay": token.run_delay_ns, "switches": token.blocked}
    missing = [name for name, value in fields.items() if value is None]
    return f"unexplained: {', '.join(missing)} n/a" if missing else "unexplained: no reading accounts for it"


def _more(now: int | None, usual: int | None) -> int:
    return max(now - usual, 0) if now is not None and usual is not None else 0


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.1f} ms"


def judge(batch: TokenBatch, usual: Typical, around: Surroundings) -> tuple[SlowToken, ...]:
    """The slow tokens of one batch, oldest first; none of an excluded batch."""
    if batch.excluded is not None:
        return ()
    return tuple(
        SlowToken(
            mode=batch.mode,
            round=batch.round,
            index=batch.first + offset,
            done_ns=token.done_ns,
            wall_ns=token.wall_ns,
            excess_ns=token.wall_ns - usual.wall_ns,
            shares=explain(token, usual, around),
        )
        for offset, token in enumerate(batch.tokens)
        if usual.is_slow(token)
    )


def slow_tokens(events: Iterable[AnyEvent]) -> tuple[SlowToken, ...]:
    """All slow tokens of a recording, each judged by the tokens of its mode before it."""
    events = list(events)
    around = Surroundings(
        cpu=[e for e in events if isinstance(e, CpuSample)],
        cgroup=[e for e in events if isinstance(e, CgroupSample)],
        gpu=[e for e in events if isinstance(e, GpuSample)],
        frames=[e for e in events if isinstance(e, MonitorSample)],
        profiles=[e for e in events if isinstance(e, ProfileWindow)],
    )
    recent: dict[ModeName, deque[Token]] = {}
    found: list[SlowToken] = []
    for event in events:
        match event:
            case EngineReady():  # another shape or engine: nothing is usual yet
                recent.clear()
            case ModeEntered():
                recent.pop(event.mode, None)
            case TokenBatch(excluded=None):
                tokens = recent.setdefault(event.mode, deque(maxlen=KEPT_TOKENS))
                if (usual := typical(tokens)) is not None:
                    found += judge(event, usual, around)
                tokens.extend(event.tokens)
            case _:
                pass
    return tuple(found)


def total_shares(slow: Iterable[SlowToken]) -> dict[Cause, int]:
    """Excess time by cause over several slow tokens, in ns."""
    totals: dict[Cause, int] = {}
    for token in slow:
        for share in token.shares:
            totals[share.cause] = totals.get(share.cause, 0) + share.ns
    return totals
