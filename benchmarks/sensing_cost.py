"""What does sensing cost? The readings that are taken for every token, and decoding with and
without them.

    python -m benchmarks.sensing_cost [--json FILE] [--pairs 12] [--seconds 1.0] [--device auto]
                                      [--modes eager-static,graph] [--model ID]

Two engines are loaded, one with sensing and one without; while one decodes the other is paused.
They alternate closely, because a rented host drifts, and the interval is over pairs.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.dose_response import BenchError, Engine
from idlegap.core.measure.statistics import paired_ratio_interval, quantile
from idlegap.core.protocol.commands import SetPaused
from idlegap.core.protocol.events import Token
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.settings import Settings
from idlegap.core.sensors.host import read_host
from idlegap.core.sensors.mounts import read_mounts
from idlegap.core.sensors.thread import ThreadCounters

LIMIT_US = 10.0
READS = 2000
REPEATS = 15
STARTS_S = 240.0


def per_token_us() -> dict[str, float]:
    """Microseconds of one token's sensing: two readings and their differences, less the empty
    loop; the best and the median of some repeats."""
    counters = ThreadCounters()

    def sensed() -> None:
        before = counters.read()
        after = counters.read()
        assert after.cpu_ns >= before.cpu_ns
        _ = (
            (after.run_delay_ns or 0) - (before.run_delay_ns or 0),
            after.preempted - before.preempted,
            after.blocked - before.blocked,
        )

    try:
        took = [_mean_us(sensed) - _mean_us(_nothing) for _ in range(REPEATS)]
    finally:
        counters.close()
    return {"best": round(min(took), 2), "median": round(quantile(took, 0.5), 2)}


def _mean_us(work: Callable[[], None]) -> float:
    started = time.perf_counter_ns()
    for _ in range(READS):
        work()
    return (time.perf_counter_ns() - started) / READS / 1e3


def _nothing() -> None:
    return


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """Time per token with sensing over that without, for each mode."""
    engines = [
        Engine(
            Settings(
                model=options.model,
                device=options.device,
                mode=options.modes[0],
                profile_every_ns=None,
                sensing=sensing,
            ),
        )
        for sensing in (True, False)
    ]
    try:
        for engine in engines:
            engine.start(STARTS_S)
            for mode in options.modes:
                engine.enter(mode, STARTS_S)
            engine.send(SetPaused(True))
        return {mode: _ratio(engines, mode, options) for mode in options.modes}
    finally:
        for engine in engines:
            engine.close()


def _ratio(engines: Sequence[Engine], mode: ModeName, options: argparse.Namespace) -> dict[str, Any]:
    runs: tuple[list[float], list[float]] = ([], [])
    for turn in range(options.pairs + 1):
        # Each begins a pair as often as the other, so that a steady drift cancels.
        order = (0, 1) if turn % 2 else (1, 0)
        for which in order:
            engine = engines[which]
            engine.send(SetPaused(False))
            engine.enter(mode, STARTS_S)
            spacing_ns = _spacing_ns(engine.batches(mode, options.seconds))
            engine.send(SetPaused(True))
            if turn:  # the first pair warms up
                runs[which].append(spacing_ns)
    sensed, bare = runs
    ratio = paired_ratio_interval(sensed, bare)
    return {
        "sensing_over_without": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
        "difference": ratio.difference,
        "pairs": ratio.runs,
        "sensed_ms": [round(ns / 1e6, 4) for ns in sensed],
        "bare_ms": [round(ns / 1e6, 4) for ns in bare],
    }


def _spacing_ns(batches: Sequence[Sequence[Token]]) -> float:
    """Mean time from the start of one token to that of the next: it holds the sensing, which a
    token's own wall time leaves out."""
    spans = [(batch[-1].start_ns - batch[0].start_ns, len(batch) - 1) for batch in batches]
    tokens = sum(count for _, count in spans)
    if not tokens:
        raise BenchError("every batch holds one token: decode something faster")
    return sum(ns for ns, _ in spans) / tokens


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    read_us = per_token_us()
    try:
        modes = compare(options)
    except BenchError as error:
        print(f"sensing_cost: {error}", file=sys.stderr)
        return 1
    host = read_host(Path("/"), read_mounts(Path("/")), os.sched_getaffinity(0), None, time.perf_counter_ns())
    report = {
        "benchmark": "sensing cost",
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "host": msgspec.to_builtins(host),
        "per_token_us": read_us,
        "limit_us": LIMIT_US,
        "limit_met": read_us["median"] <= LIMIT_US,
        "modes": modes,
    }
    print(f"sensing takes {read_us['median']} us a token (best {read_us['best']})")
    for mode, found in modes.items():
        print(
            f"{mode}: with sensing {found['sensing_over_without']:.4f} of the time without "
            f"({found['low']:.4f} to {found['high']:.4f}): {found['difference']}"
        )
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--model")
    parser.add_argument(
        "--modes", type=lambda text: tuple(text.split(",")), default=("eager-static", "graph")
    )
    parser.add_argument("--json", type=Path)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
