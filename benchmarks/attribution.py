"""Is the right cause named? Faults of known kind are injected into a running engine, one at a
time and in pairs, and the largest share of every slow token is held against what was done.

    python -m benchmarks.attribution [--engine loop|model] [--device auto] [--bursts 8]
                                     [--pair-bursts 3] [--calm 20] [--json FILE] [--events FILE]

A token counts as slowed by a fault if it is slow and the fault acted during at least half of
its excess. Right is then the fault's own cause, in a pair either of the two. What is slow
without a fault is reported beside it: a shared machine has neighbours of its own.
"""

import argparse
import itertools
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.faults import (
    Collection,
    Fault,
    HelperThreads,
    LockHeld,
    MemoryHog,
    NeighbourOnCore,
    NeighboursEverywhere,
    NvmlStorm,
    QuotaGroup,
    QuotaOnDisk,
    Span,
    Stopped,
)
from benchmarks.rig import Rig
from core.analysis.slow import Cause, SlowToken, slow_tokens
from core.events import AnyEvent, HostInfo, Token, TokenBatch
from core.sensors.errors import ReadingError
from core.settings import Settings

NOTHING = "nothing"
BURST_S = 0.5
CALM_S = 1.25
"""Calm enough between bursts that what is usual stays what it is without a fault."""

SETTLE_TOKENS = 64
RIGHT_LEAST = 0.90
FALSE_MOST = 0.01


@dataclass(frozen=True, slots=True)
class Injection:
    """One fault while it acted, and the causes that are right answers."""

    causes: tuple[Cause, ...]
    start_ns: int
    end_ns: int

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
    def share_falsely_named(self) -> float:
        """Slow tokens with a named cause where nothing was injected, of all tokens."""
        named = sum(n for cause, n in self.background.items() if cause != "unexplained")
        return named / self.tokens if self.tokens else 0.0


def tally(scenario: Scenario, tokens: Iterable[Token], slow: Iterable[SlowToken]) -> Row:
    """Hold what was named against what was injected, over the tokens of one scenario."""
    row = Row(scenario.name)
    for token in tokens:
        if scenario.start_ns <= token.done_ns < scenario.end_ns:
            row.tokens += 1
            row.touched += any(i.overlap_ns(token.start_ns, token.done_ns) for i in scenario.injections)
    for found in slow:
        if not scenario.start_ns <= found.done_ns < scenario.end_ns:
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


def run_scenario(rig: Rig, faults: Sequence[Fault], bursts: int) -> Scenario:
    """Inject `faults` together, `bursts` times, with calm in between."""
    rig.pump_tokens(SETTLE_TOKENS)
    scenario = Scenario(" + ".join(fault.name for fault in faults), time.perf_counter_ns())
    burst_s = 0.1 if all(fault.once for fault in faults) else BURST_S
    for _ in range(bursts):
        for fault in faults:
            fault.begin(rig, burst_s)
        rig.pump(burst_s)
        for fault in faults:
            start_ns, end_ns = fault.end()
            scenario.injections.append(Injection(fault.causes, start_ns, end_ns))
        rig.pump(max(CALM_S * burst_s / BURST_S, 0.5))
    scenario.end_ns = time.perf_counter_ns()
    return scenario


def run_calm(rig: Rig, seconds: float) -> Scenario:
    rig.pump_tokens(SETTLE_TOKENS)
    scenario = Scenario(NOTHING, time.perf_counter_ns())
    rig.pump(seconds)
    scenario.end_ns = time.perf_counter_ns()
    return scenario


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    with tempfile.TemporaryDirectory() as folder:
        root, quota = Path("/"), _quota(Path(folder))
        if isinstance(quota, QuotaOnDisk):
            root = quota.root
        rig = Rig(options.engine, _settings(options), root, nvml=options.engine == "model")
        try:
            scenarios = _run(rig, quota, options)
        finally:
            rig.close()
            if isinstance(quota, QuotaGroup):
                quota.leave()
    if options.events:
        _write_events(options.events, rig.events)
    report = _report(rig.events, scenarios, options)
    print(_table(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


def _quota(folder: Path) -> QuotaGroup | QuotaOnDisk:
    """A real cgroup where one can be made; it must stand before the engine starts."""
    try:
        return QuotaGroup()
    except (OSError, ReadingError) as error:
        print(f"no cgroup can be made here ({error}): quota is played on disk", file=sys.stderr)
        return QuotaOnDisk(folder)


def _run(rig: Rig, quota: Fault, options: argparse.Namespace) -> list[Scenario]:
    rig.start()
    faults: list[Fault] = [
        NeighbourOnCore(),
        NeighboursEverywhere(),
        HelperThreads(),
        quota,
        Stopped(),
        Collection(),
        LockHeld(),
    ]
    if len(os.sched_getaffinity(0)) > 1:
        faults.append(MemoryHog())
    with suppress(ReadingError):
        faults.append(NvmlStorm(rig.events.append))
    chosen = [fault for fault in faults if not options.only or options.only in fault.name]
    scenarios = [run_calm(rig, options.calm)]
    scenarios += [run_scenario(rig, [fault], options.bursts) for fault in chosen]
    if options.pair_bursts:
        for pair in itertools.combinations(chosen, 2):
            # Both pin the decode thread, or both are the same state of the machine.
            if not {type(fault) for fault in pair} <= {NeighbourOnCore, NeighboursEverywhere, MemoryHog}:
                scenarios.append(run_scenario(rig, pair, options.pair_bursts))
    rig.pump(1.5)
    return scenarios


def _report(
    events: Sequence[AnyEvent], scenarios: Sequence[Scenario], options: argparse.Namespace
) -> dict[str, Any]:
    slow = slow_tokens(events)
    tokens = [t for e in events if isinstance(e, TokenBatch) and e.excluded is None for t in e.tokens]
    rows = [tally(scenario, tokens, slow) for scenario in scenarios]
    single = [row for row in rows if row.scenario != NOTHING and "+" not in row.scenario]
    calm = next(row for row in rows if row.scenario == NOTHING)
    host = next((e for e in events if isinstance(e, HostInfo)), None)
    return {
        "benchmark": "attribution",
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "host": msgspec.to_builtins(host),
        "engine": options.engine,
        "bursts": options.bursts,
        "targets": {
            "right_least": RIGHT_LEAST,
            "right": {row.scenario: row.share_right for row in single},
            "right_met": all(row.slowed and row.right >= RIGHT_LEAST * row.slowed for row in single),
            "falsely_named_most": FALSE_MOST,
            "falsely_named": calm.share_falsely_named,
            "falsely_named_met": calm.share_falsely_named <= FALSE_MOST,
            "shares_sum_to_excess": all(sum(s.ns for s in t.shares) == t.excess_ns for t in slow),
            "slow_tokens": len(slow),
        },
        "rows": [
            {
                "injected": row.scenario,
                "tokens": row.tokens,
                "touched": row.touched,
                "slowed": row.slowed,
                "right": row.right,
                "named": dict(row.named.most_common()),
                "background": dict(row.background.most_common()),
            }
            for row in rows
        ],
    }


def _table(report: dict[str, Any]) -> str:
    lines = [f"{'injected':<48}{'tokens':>7}{'slowed':>7}{'right':>7}  largest share; not injected"]
    for row in report["rows"]:
        right = f"{100 * row['right'] / row['slowed']:.0f} %" if row["slowed"] else "-"
        named = ", ".join(f"{cause} {n}" for cause, n in row["named"].items())
        beside = ", ".join(f"{cause} {n}" for cause, n in row["background"].items())
        lines.append(
            f"{row['injected']:<48}{row['tokens']:>7}{row['slowed']:>7}{right:>7}  {named}; {beside or '-'}"
        )
    return "\n".join([*lines, json.dumps(report["targets"])])


def _settings(options: argparse.Namespace) -> Settings:
    return Settings(model=options.model, device=options.device, mode="eager-static", profile_every_ns=None)


def _write_events(path: Path, events: Sequence[AnyEvent]) -> None:
    encoder = msgspec.json.Encoder()
    path.write_bytes(b"".join(encoder.encode(event) + b"\n" for event in events))


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engine", choices=("loop", "model"), default="loop")
    parser.add_argument("--model")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--bursts", type=int, default=8)
    parser.add_argument("--pair-bursts", type=int, default=3)
    parser.add_argument("--calm", type=float, default=20.0)
    parser.add_argument("--only", help="only faults whose name holds this")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--events", type=Path, help="keep the events for a closer look")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
