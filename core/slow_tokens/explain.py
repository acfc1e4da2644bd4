"""Why was this token slow? The excess over the mode's usual time, shared out among causes.

Each share is a difference between this token's reading and the mode's median reading, in ns
of the decode thread's own time, so the causes are measured, not guessed from averages:

============  ====================================================================
gpu clock     the wait for the device grew while the GPU's clock was unusually held down
quota         time without a CPU in a sample in which the cgroup was throttled
neighbour     run delay while other programs used the CPU for at least half as long
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

Run delay says that somebody else had the CPU, not who. Whoever it was used the CPU meanwhile;
if both neighbours and our own threads did, the delay is divided in proportion to what they used
beyond what they usually do.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from idlegap.core.measure.typical_token import Typical, off_cpu_ns
from idlegap.core.protocol.events import Token, TokenBatch
from idlegap.core.protocol.modes import ModeName
from idlegap.core.slow_tokens.causes import Cause
from idlegap.core.slow_tokens.context import FLOOR_SHARE, Context, CpuUsers, Loads
from idlegap.core.text.units import ms

Candidate = tuple[Cause, int, str]
"""A cause, the most that it can explain in ns, and the evidence."""


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
        """One line: its round and its place in it, how slow, the evidence for its largest share."""
        which = f"token {self.round:,}/{self.index:,}"
        return f"{which}: {ms(self.wall_ns)} ms, +{ms(self.excess_ns)} ms: {self.largest.evidence}"


def explain(token: Token, usual: Typical, around: Context) -> tuple[Share, ...]:
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


def _candidates(token: Token, usual: Typical, around: Context) -> Iterable[Candidate]:
    room = max(token.wall_ns - usual.wall_ns, 0)
    dispatch = max(token.dispatch_ns - usual.dispatch_ns, 0)
    wait = max(token.wait_ns - usual.wait_ns, 0)
    cpu = _more(token.cpu_ns, usual.cpu_ns)
    delay = _more(token.run_delay_ns, usual.run_delay_ns)
    asleep = _more(off_cpu_ns(token), usual.off_cpu_ns)

    if slowed := around.gpu_slowed(token):
        held = max(wait - max(delay - dispatch, 0), 0)
        yield "gpu clock", held, f"the GPU was held back: {slowed}"
        room = max(room - held, 0)

    throttled = min(around.throttled_ns(token), delay + asleep)
    yield "quota", throttled, f"the CPU quota stopped the process for {ms(throttled)} ms"
    room = max(room - throttled, 0)
    asleep -= max(throttled - delay, 0)
    delay -= min(throttled, delay)

    cpu_users = around.cpu_users(token)
    yield from _cpu_wait(min(delay, room), delay, cpu_users, around.usual)

    switches = _more(token.blocked, usual.blocked)
    if not switches and cpu_users is not None and cpu_users.stolen_ns >= FLOOR_SHARE * cpu_users.window_ns:
        stolen = min(asleep, cpu_users.stolen_ns)
        took = f"the hypervisor gave {cpu_users.stolen_ns / cpu_users.window_ns:.1f} cores away"
        yield "steal", stolen, f"off the CPU for {ms(stolen)} ms without a switch; {took}"

    probe, name = around.probe(token)
    yield "probe", probe, f"{name} overlapped it for {ms(probe)} ms"
    asleep -= min(probe, asleep)

    more = min(cpu, dispatch)
    yield "more cpu", more, f"the same work took {ms(more)} ms more CPU time{_company(cpu_users)}"

    if switches:
        frame, name = around.frame(token)
        beside = f" while {name} was drawn" if frame else ""
        slept = f"the thread slept {ms(asleep)} ms longer, in {switches:,} more switches{beside}"
        yield "blocked", asleep, slept


def _cpu_wait(share: int, delay: int, cpu_users: CpuUsers | None, usual: Loads | None) -> Iterable[Candidate]:
    """Divide `share`, which `delay` explains, among those who used the CPU long enough."""
    waited = f"the decode thread waited {ms(delay)} ms for a CPU"
    own, others = cpu_users.weights(delay, usual) if cpu_users is not None else (0, 0)
    if cpu_users is None or not own + others:
        yield "cpu wait", share, f"{waited}; who had it is not known"
        return
    busy = cpu_users.core_pct
    on_core = "" if busy is None else f"core {cpu_users.core} was {busy:.0f} % busy, "
    theirs = f"others used {cpu_users.others_cores:.1f} cores"
    ours = f"our own other threads used {cpu_users.own_cores:.1f} cores"
    both = f"{theirs}, {ours}"
    neighbour = share * others // (own + others)
    yield "neighbour", neighbour, f"{waited}; {on_core}{both if own else theirs}"
    yield "own threads", share - neighbour, f"{waited}; {on_core}{both if others else ours}"


def _company(cpu_users: CpuUsers | None) -> str:
    """Who ran beside a thread that needed more CPU time: they share caches, memory and often
    the physical core, so this is evidence, but no proof. If nobody did, the clock fell, the
    collector ran, or another virtual machine has the core's other hardware thread."""
    if cpu_users is None:
        return ""
    beside = (
        ("the hypervisor gave away", cpu_users.stolen_ns),
        ("others used", cpu_users.others_ns),
        ("our own other threads used", cpu_users.own_ns),
    )
    who, used = max(beside, key=lambda entry: entry[1])
    if used < cpu_users.window_ns / 4:
        return "; little else ran on this machine meanwhile"
    return f"; {who} {used / cpu_users.window_ns:.1f} cores meanwhile"


def _gap_in_knowledge(token: Token) -> str:
    fields = {"CPU time": token.cpu_ns, "run delay": token.run_delay_ns, "switches": token.blocked}
    missing = [name for name, value in fields.items() if value is None]
    return f"unexplained: {', '.join(missing)} n/a" if missing else "unexplained: no reading accounts for it"


def _more(now: int | None, usual: int | None) -> int:
    return max(now - usual, 0) if now is not None and usual is not None else 0


def slow_token(batch: TokenBatch, offset: int, usual: Typical, around: Context) -> SlowToken:
    """The token at `offset` of `batch`, which is slow, with its excess shared out."""
    token = batch.tokens[offset]
    return SlowToken(
        mode=batch.mode,
        round=batch.round,
        index=batch.first + offset,
        done_ns=token.done_ns,
        wall_ns=token.wall_ns,
        excess_ns=token.wall_ns - usual.wall_ns,
        shares=explain(token, usual, around),
    )


def total_shares(slow: Iterable[SlowToken]) -> Counter[Cause]:
    """Excess time by cause over several slow tokens, in ns."""
    totals: Counter[Cause] = Counter()
    for token in slow:
        for share in token.shares:
            totals[share.cause] += share.ns
    return totals
