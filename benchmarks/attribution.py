"""Is the right cause named? Faults of known kind are injected into a running engine, one at a
time and in pairs, and the largest share of every slow token is held against what was done.

    python -m benchmarks.attribution [--engine loop|model] [--device auto] [--bursts 8]
                                     [--pair-bursts 3] [--calm 20] [--patience 0]
                                     [--quota real|disk] [--only NAME] [--json FILE]
                                     [--keep FOLDER | --again FOLDER]

A token counts as slowed by a fault if it is slow and the fault acted during at least half of
its excess. Right is then the fault's own cause, in a pair either of the two. What is slow
without a fault is reported beside it.

A shared machine has neighbours of its own. Tokens in samples in which programs that were not
invited used more than a third of a core are counted as disturbed and judged no further.
"""

import argparse
import itertools
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.confusion import UNINVITED_PCT, Injection, Scenario, tally
from benchmarks.faults import (
    Collection,
    Fault,
    HelperThreads,
    LockHeld,
    MemoryHog,
    NeighbourOnCore,
    NeighboursEverywhere,
    Stopped,
)
from benchmarks.machine_faults import NvmlStorm, QuotaGroup, QuotaOnDisk
from benchmarks.rig import Rig
from idlegap.core.protocol.events import AnyEvent, CpuSample, HostInfo, TokenBatch
from idlegap.core.protocol.settings import Settings
from idlegap.core.sensors.reading import ReadingError
from idlegap.core.session.state import State

NOTHING = "nothing"
BURST_S = 0.5
CALM_S = 1.25
"""Calm enough between bursts that what is usual stays what it is without a fault."""

SETTLE_TOKENS = 48
STEP_S = 0.25
CALM_PATIENCE = 10
"""The calm stretch is the longest, so it may wait for quiet this many times as long as a burst."""

RIGHT_LEAST = 0.90
FALSE_MOST = 0.01

EVENTS, SCENARIOS = "events.jsonl", "scenarios.json"


def run_scenario(rig: Rig, faults: Sequence[Fault], bursts: int, patience_s: float) -> Scenario:
    """Inject `faults` together, `bursts` times, with calm in between."""
    rig.pump_tokens(SETTLE_TOKENS)
    scenario = Scenario(" + ".join(fault.name for fault in faults), time.perf_counter_ns())
    burst_s = 0.1 if all(fault.once for fault in faults) else BURST_S
    for _ in range(bursts):
        rig.wait_until_quiet(UNINVITED_PCT, patience_s)
        for fault in faults:
            fault.begin(rig, burst_s)
        began = time.monotonic()
        rig.pump(burst_s)
        invited_pct = 100 * rig.guests_cpu_s() / (time.monotonic() - began)
        for fault in faults:
            start_ns, end_ns = fault.end()
            scenario.injections.append(Injection(fault.causes, start_ns, end_ns, invited_pct))
            invited_pct = 0.0
        rig.pump(max(CALM_S * burst_s / BURST_S, 0.5))
    scenario.end_ns = time.perf_counter_ns()
    return scenario


def run_calm(rig: Rig, seconds: float, patience_s: float) -> Scenario:
    """Nothing but the sensors beside the engine, until `seconds` of it were quiet."""
    rig.pump_tokens(SETTLE_TOKENS)
    scenario = Scenario(NOTHING, time.perf_counter_ns())
    end = time.monotonic() + patience_s * CALM_PATIENCE
    while seconds > 0 and (rig.is_quiet(UNINVITED_PCT) or time.monotonic() < end):
        rig.pump(STEP_S)
        seconds -= STEP_S * rig.is_quiet(UNINVITED_PCT)
    scenario.end_ns = time.perf_counter_ns()
    return scenario


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    # Ended from outside, the cgroup and the engine must still be cleared away.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    if options.again:
        events, scenarios = _load(options.again)
    else:
        events, scenarios = _measure(options)
    if options.keep:
        _save(options.keep, events, scenarios)
    report = _report(events, scenarios, options)
    print(_table(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


def _measure(options: argparse.Namespace) -> tuple[list[AnyEvent], list[Scenario]]:
    with tempfile.TemporaryDirectory() as folder:
        root, quota = Path("/"), _quota(Path(folder), real=options.quota == "real")
        if isinstance(quota, QuotaOnDisk):
            root = quota.root
        rig = Rig(options.engine, _settings(options), root, nvml=options.engine == "model")
        try:
            scenarios = _run(rig, quota, options)
        finally:
            rig.close()
            if isinstance(quota, QuotaGroup):
                quota.leave()
    return rig.events, scenarios


def _quota(folder: Path, *, real: bool) -> QuotaGroup | QuotaOnDisk:
    """A real cgroup where one can be made; it must stand before the engine starts."""
    if not real:
        return QuotaOnDisk(folder)
    try:
        return QuotaGroup()
    except (OSError, ReadingError) as error:
        print(f"no cgroup can be made here ({error}): quota is played on disk", file=sys.stderr)
        return QuotaOnDisk(folder)


def _run(rig: Rig, quota: Fault, options: argparse.Namespace) -> list[Scenario]:
    rig.start()
    rig.order("garbage")
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
    patience_s = options.patience
    scenarios = [run_calm(rig, options.calm, patience_s)]
    scenarios += [run_scenario(rig, [fault], options.bursts, patience_s) for fault in chosen]
    if options.pair_bursts:
        for pair in itertools.combinations(chosen, 2):
            # Both pin the decode thread, or both are the same state of the machine.
            if not {type(fault) for fault in pair} <= {NeighbourOnCore, NeighboursEverywhere, MemoryHog}:
                scenarios.append(run_scenario(rig, pair, options.pair_bursts, patience_s))
    rig.pump(1.5)
    return scenarios


def _report(
    events: Sequence[AnyEvent], scenarios: Sequence[Scenario], options: argparse.Namespace
) -> dict[str, Any]:
    slow = State.of(events).slow_tokens
    tokens = [t for e in events if isinstance(e, TokenBatch) and e.excluded is None for t in e.tokens]
    loads = [e for e in events if isinstance(e, CpuSample)]
    rows = [tally(scenario, tokens, slow, loads) for scenario in scenarios]
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
            "falsely_named": calm.share_accused,
            "falsely_named_met": calm.tokens > 0 and calm.share_accused <= FALSE_MOST,
            "more_cpu_without_a_fault": calm.share_more_cpu,
            "shares_sum_to_excess": all(sum(s.ns for s in t.shares) == t.excess_ns for t in slow),
            "slow_tokens": len(slow),
        },
        "rows": [
            {
                "injected": row.scenario,
                "disturbed": row.disturbed,
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
    heads = f"{'injected':<48}{'disturbed':>10}{'tokens':>7}{'slowed':>7}{'right':>7}"
    lines = [f"{heads}  largest share; where nothing was injected"]
    for row in report["rows"]:
        right = f"{100 * row['right'] / row['slowed']:.0f} %" if row["slowed"] else "-"
        named = ", ".join(f"{cause} {n}" for cause, n in row["named"].items())
        beside = ", ".join(f"{cause} {n}" for cause, n in row["background"].items())
        counts = f"{row['disturbed']:>10}{row['tokens']:>7}{row['slowed']:>7}{right:>7}"
        lines.append(f"{row['injected']:<48}{counts}  {named}; {beside or '-'}")
    return "\n".join([*lines, json.dumps(report["targets"])])


def _settings(options: argparse.Namespace) -> Settings:
    return Settings(model=options.model, device=options.device, mode="eager-static", profile_every_ns=None)


def _save(folder: Path, events: Sequence[AnyEvent], scenarios: Sequence[Scenario]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    encode = msgspec.json.Encoder().encode
    (folder / EVENTS).write_bytes(b"".join(encode(event) + b"\n" for event in events))
    (folder / SCENARIOS).write_bytes(encode(scenarios))


def _load(folder: Path) -> tuple[list[AnyEvent], list[Scenario]]:
    decoder = msgspec.json.Decoder(AnyEvent)
    events = [decoder.decode(line) for line in (folder / EVENTS).read_bytes().splitlines()]
    return events, msgspec.json.decode((folder / SCENARIOS).read_bytes(), type=list[Scenario])


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engine", choices=("loop", "model"), default="loop")
    parser.add_argument("--model")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--bursts", type=int, default=8)
    parser.add_argument("--pair-bursts", type=int, default=3)
    parser.add_argument("--calm", type=float, default=20.0)
    parser.add_argument("--quota", choices=("real", "disk"), default="real")
    parser.add_argument("--patience", type=float, default=0.0, help="seconds to wait for a quiet machine")
    parser.add_argument("--only", help="only faults whose name holds this")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the events and what was injected")
    parser.add_argument("--again", type=Path, metavar="FOLDER", help="judge kept events anew")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
