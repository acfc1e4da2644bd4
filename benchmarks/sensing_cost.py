"""What does sensing cost? The readings that are taken for every token, and decoding with and
without them.

    python -m benchmarks.sensing_cost [--json FILE] [--pairs 12] [--tokens 64] [--device auto]
                                      [--modes eager-static,graph] [--model ID]

One model decodes round after round, with the readings and without. Rounds alternate, because a rented
host drifts, and the interval is over pairs.
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
import torch

from idlegap.core.engine.available_modes import Lineup
from idlegap.core.engine.device import choose_device
from idlegap.core.engine.errors import ModeError, UnsupportedError
from idlegap.core.engine.model import load_model
from idlegap.core.engine.modes import Mode
from idlegap.core.engine.tokens import timed_step
from idlegap.core.measure.statistics import paired_ratio_interval, quantile
from idlegap.core.protocol.settings import Settings
from idlegap.core.sensors.host import read_host
from idlegap.core.sensors.mounts import read_mounts
from idlegap.core.sensors.thread import ThreadCounters, ThreadReading

LIMIT_US = 10.0
READS = 2000
REPEATS = 15
LEAD_IN = 3


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


class NoCounters(ThreadCounters):
    """Reads nothing."""

    def read(self) -> ThreadReading:
        return _UNREAD


_UNREAD = ThreadReading(0, None, 0, 0)


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """Time per token with sensing over that without, for each mode."""
    torch.set_grad_enabled(False)
    device = choose_device(options.device)
    settings = Settings(model=options.model, new_tokens=options.tokens)
    lineup = Lineup.build(load_model(options.model, device, lambda *_: None), device, settings)
    found = {}
    for name in options.modes:
        if name not in lineup.modes:
            raise ModeError(lineup.refused[name])
        mode = lineup.modes[name]
        mode.enter()
        mode.prefill()
        mode.prepare()
        found[name] = _ratio(mode, options)
    return found


def _ratio(mode: Mode, options: argparse.Namespace) -> dict[str, Any]:
    counters = (ThreadCounters(), NoCounters())
    runs: tuple[list[float], list[float]] = ([], [])
    for turn in range(options.pairs + 1):
        # Each begins a pair as often as the other, so that a steady drift cancels.
        for which in (0, 1) if turn % 2 else (1, 0):
            spacing_ns = _spacing_ns(mode, counters[which], options.tokens)
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


def _spacing_ns(mode: Mode, counters: ThreadCounters, tokens: int) -> float:
    """Mean time from the start of one token to that of the next over a round: it holds the sensing,
    which a token's own wall time leaves out."""
    mode.enter()
    mode.prefill()
    starts_ns = [timed_step(mode, time.perf_counter_ns, counters).start_ns for _ in range(tokens)][LEAD_IN:]
    return (starts_ns[-1] - starts_ns[0]) / (len(starts_ns) - 1)


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    read_us = per_token_us()
    try:
        modes = compare(options)
    except (ModeError, UnsupportedError) as error:
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
    parser.add_argument("--tokens", type=int, default=64, help="of each round")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--model")
    parser.add_argument(
        "--modes", type=lambda text: tuple(text.split(",")), default=("eager-static", "graph")
    )
    parser.add_argument("--json", type=Path)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
