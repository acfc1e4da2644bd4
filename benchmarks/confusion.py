"""What was named against what was injected: the confusion matrix of the attribution bench."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from idlegap.core.protocol.events import CpuSample, Token
from idlegap.core.slow_tokens.causes import Cause
from idlegap.core.slow_tokens.explain import SlowToken

UNINVITED_PCT = 33.0
"""More load than this by programs that were not invited spoils a sample as a proof."""

MEASURED = ("more cpu", "unexplained")
"""These name no culprit. That the same work took more CPU time is a reading, not a conclusion: on a
shared host the core itself slows down when its other hardware thread is at work."""


@dataclass(frozen=True, slots=True)
class Injection:
    """One fault while it acted, and the causes that are right answers. `invited_pct` is the load of
    the other programs that belong to it, in percent of one core."""

    causes: tuple[Cause, ...]
    start_ns: int
    end_ns: int
    invited_pct: float = 0.0

    def overlap_ns(self, start_ns: int, end_ns: int) -> int:
        return max(min(self.end_ns, end_ns) - max(self.start_ns, start_ns), 0)


@dataclass(slots=True)
class Scenario:
    """A stretch of time in which the same faults were injected again and again."""

    name: str
    start_ns: int
    end_ns: int = 0
    injections: list[Injection] = field(default_factory=list)


@dataclass(slots=True)
class Row:
    """One row of the confusion matrix; `named` counts the largest shares by cause."""

    scenario: str
    disturbed: int = 0
    tokens: int = 0
    touched: int = 0
    slowed: int = 0
    right: int = 0
    named: Counter[str] = field(default_factory=Counter)
    background: Counter[str] = field(default_factory=Counter)

    @property
    def share_right(self) -> float | None:
        return self.right / self.slowed if self.slowed else None

    @property
    def share_accused(self) -> float:
        """Of all tokens, those for which somebody is blamed although nothing was injected."""
        blamed = sum(n for cause, n in self.background.items() if cause not in MEASURED)
        return blamed / self.tokens if self.tokens else 0.0

    @property
    def share_more_cpu(self) -> float:
        """Of all tokens, those that needed more CPU time although nothing was injected."""
        return self.background["more cpu"] / self.tokens if self.tokens else 0.0


def tally(
    scenario: Scenario, tokens: Iterable[Token], slow: Iterable[SlowToken], loads: Sequence[CpuSample]
) -> Row:
    """Hold what was named against what was injected, over the tokens of one scenario."""
    row = Row(scenario.name)
    judged = set()
    for token in tokens:
        if scenario.start_ns <= token.done_ns < scenario.end_ns:
            if _uninvited_pct(scenario, loads, token.done_ns) > UNINVITED_PCT:
                row.disturbed += 1
                continue
            judged.add(token.done_ns)
            row.tokens += 1
            row.touched += any(i.overlap_ns(token.start_ns, token.done_ns) for i in scenario.injections)
    for found in slow:
        if found.done_ns not in judged:
            continue
        start_ns = found.done_ns - found.wall_ns
        hits = [
            injection
            for injection in scenario.injections
            if 2 * injection.overlap_ns(start_ns, found.done_ns) >= found.excess_ns
        ]
        if hits:
            row.slowed += 1
            row.named[found.cause] += 1
            row.right += any(found.cause in injection.causes for injection in hits)
        else:
            row.background[found.cause] += 1
    return row


def _uninvited_pct(scenario: Scenario, loads: Sequence[CpuSample], at_ns: int) -> float:
    """Load of programs that belong to no injection, in the sample that holds `at_ns`."""
    at = bisect_left(loads, at_ns, key=lambda sample: sample.t_ns)
    if at == len(loads):
        return 0.0
    start_ns, end_ns = loads[at - 1].t_ns if at else at_ns, loads[at].t_ns
    invited_pct = sum(i.invited_pct for i in scenario.injections if i.overlap_ns(start_ns, end_ns))
    return (loads[at].others_pct or 0.0) - invited_pct
