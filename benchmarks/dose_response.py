"""How much do noisy neighbours slow a token, submitted kernel by kernel and replayed as a graph?

    python -m benchmarks.dose_response --json FILE [--plot FILE.png] [--counts 0,1,2,4,8,16,32]
                                       [--modes eager-static,graph] [--arms free,pinned]
                                       [--seconds 1.0] [--budget 100] [--device auto] [--model ID]
                                       [--wait spin|block]
    python -m benchmarks.dose_response --plot-from FILE,FILE --plot FILE.png

Two arms: ``free`` leaves all placement to the kernel; ``pinned`` puts the decode thread and all
neighbours on one core, which is the worst that a neighbour can do. For every number of
neighbours the modes take turns in one engine process, so that a drifting host hits both.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from benchmarks.dose_plot import plot
from idlegap.core.measure.statistics import quantile
from idlegap.core.protocol.commands import AnyCommand, SetMode
from idlegap.core.protocol.events import (
    AnyEvent,
    EngineFailed,
    EngineReady,
    ModeEntered,
    ModeRefused,
    Token,
    TokenBatch,
)
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.settings import Settings
from idlegap.core.sensors.host import read_host
from idlegap.core.sensors.mounts import read_mounts
from idlegap.core.sources.engine_process import EngineProcess
from idlegap.core.system.neighbours import NoisyNeighbours
from idlegap.core.text.reasons import words

POLL_S = 0.02
START_S = 0.3
START_EACH_S = 0.03
"""A Python process needs this much CPU time before it is busy with nothing but being busy."""

LEAST_TOKENS = 8
LONGEST_CELL_S = 6.0
"""With 32 neighbours on its core an eager token can take a second: fewer tokens must do then."""


class BenchError(Exception):
    """The engine cannot do what the bench needs."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The tokens of one mode beside so many neighbours; times in ms, `waiting` a share of 1."""

    arm: str
    neighbours: int
    mode: str
    tokens: int
    median_ms: float
    p10_ms: float
    p90_ms: float
    mean_ms: float
    dispatch_ms: float
    run_delay_ms: float | None
    waiting: float | None

    @classmethod
    def of(cls, arm: str, neighbours: int, mode: str, tokens: Sequence[Token]) -> "Cell":
        """Summarise `tokens`; run delay is the mean per token."""
        walls = [token.wall_ns / 1e6 for token in tokens]
        delays = [token.run_delay_ns / 1e6 for token in tokens if token.run_delay_ns is not None]
        known = len(delays) == len(tokens)
        return cls(
            arm,
            neighbours,
            mode,
            len(tokens),
            median_ms=round(quantile(walls, 0.5), 4),
            p10_ms=round(quantile(walls, 0.1), 4),
            p90_ms=round(quantile(walls, 0.9), 4),
            mean_ms=round(fmean(walls), 4),
            dispatch_ms=round(quantile([token.dispatch_ns / 1e6 for token in tokens], 0.5), 4),
            run_delay_ms=round(fmean(delays), 4) if known else None,
            waiting=round(sum(delays) / sum(walls), 4) if known else None,
        )


class Engine:
    """The engine process, driven mode by mode."""

    def __init__(self, settings: Settings) -> None:
        self._source = EngineProcess(settings)
        self.ready: EngineReady | None = None

    def start(self, timeout_s: float) -> EngineReady:
        self._source.start()
        while self.ready is None:
            timeout_s -= POLL_S
            if timeout_s < 0:
                raise BenchError("the engine did not start in time")
            time.sleep(POLL_S)
            self._poll()
        return self.ready

    def enter(self, mode: ModeName, timeout_s: float) -> None:
        """Go to `mode` and wait until it decodes."""
        self._source.send(SetMode(mode))
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            time.sleep(POLL_S)
            for event in self._poll():
                if isinstance(event, ModeRefused) and event.mode == mode:
                    raise BenchError(f"{mode}: {words(event.reason)}")
                if isinstance(event, ModeEntered) and event.mode == mode:
                    return
        raise BenchError(f"{mode} was not entered in {timeout_s:.0f} s")

    def tokens(self, mode: ModeName, seconds: float) -> list[Token]:
        """Counted tokens of `mode` over `seconds`, longer where they are too few."""
        return [token for batch in self.batches(mode, seconds) for token in batch]

    def batches(self, mode: ModeName, seconds: float) -> list[tuple[Token, ...]]:
        """The same, each batch of consecutive tokens by itself."""
        found: list[tuple[Token, ...]] = []
        count = 0
        started = time.monotonic()
        while True:
            time.sleep(POLL_S)
            for event in self._poll():
                if isinstance(event, TokenBatch) and event.mode == mode and event.excluded is None:
                    found.append(event.tokens)
                    count += len(event.tokens)
            passed = time.monotonic() - started
            if (passed >= seconds and count >= LEAST_TOKENS) or (found and passed >= LONGEST_CELL_S):
                return found

    def send(self, command: AnyCommand) -> None:
        self._source.send(command)

    def close(self) -> None:
        self._source.close()

    def _poll(self) -> list[AnyEvent]:
        events = self._source.poll()
        for event in events:
            if isinstance(event, EngineReady):
                self.ready = event
            if isinstance(event, EngineFailed):
                raise BenchError("\n".join([event.reason, *event.log_tail]))
        return events


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run all cells that the budget allows."""
    began = time.monotonic()
    settings = Settings(
        model=options.model,
        device=options.device,
        mode=options.modes[0],
        profile_every_ns=None,
        wait=options.wait,
    )
    cells: list[Cell] = []
    skipped: list[str] = []
    engine = Engine(settings)
    neighbours = NoisyNeighbours(lambda _: None)
    try:
        ready = engine.start(180.0)
        for mode in options.modes:
            engine.enter(mode, 180.0)
        usable = os.sched_getaffinity(ready.tid)
        for arm in options.arms:
            core = max(usable) if arm == "pinned" else None
            os.sched_setaffinity(ready.tid, usable if core is None else {core})
            for count in options.counts:
                if time.monotonic() - began > options.budget:
                    skipped.append(f"{arm} {count}")
                    continue
                neighbours.add(count - neighbours.count, core)
                time.sleep(START_S + START_EACH_S * count)
                for mode in options.modes:
                    engine.enter(mode, 60.0)
                    cells.append(Cell.of(arm, count, mode, engine.tokens(mode, options.seconds)))
                    print(_line(cells[-1]), file=sys.stderr)
            neighbours.remove_all()
    finally:
        neighbours.remove_all()
        engine.close()
    host = read_host(Path("/"), read_mounts(Path("/")), os.sched_getaffinity(0), None, time.perf_counter_ns())
    return {
        "benchmark": "dose response",
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "seconds": round(time.monotonic() - began, 1),
        "host": msgspec.to_builtins(host),
        "engine": msgspec.to_builtins(ready),
        "skipped": skipped,
        "cells": [asdict(cell) for cell in cells],
    }


def _line(cell: Cell) -> str:
    delay = "n/a" if cell.run_delay_ms is None else f"{cell.run_delay_ms:.2f}"
    return (
        f"{cell.arm:<7}{cell.neighbours:>3} neighbours  {cell.mode:<13}{cell.median_ms:>9.2f} ms/token "
        f"({cell.p10_ms:.2f} to {cell.p90_ms:.2f}), waits {delay} ms, {cell.tokens} tokens"
    )


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    if options.plot_from:
        reports = [json.loads(Path(name).read_text()) for name in options.plot_from]
    else:
        try:
            reports = [measure(options)]
        except BenchError as error:
            print(f"dose_response: {error}", file=sys.stderr)
            return 1
        if options.json:
            options.json.write_text(json.dumps(reports[0], indent=1) + "\n")
    if options.plot:
        plot(reports, options.plot)
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--counts", type=_numbers, default=(0, 1, 2, 4, 8, 16, 32))
    parser.add_argument("--modes", type=_names, default=("eager-static", "graph"))
    parser.add_argument("--arms", type=_names, default=("free", "pinned"))
    parser.add_argument("--seconds", type=float, default=1.0, help="of tokens for each mode and count")
    parser.add_argument("--budget", type=float, default=100.0, help="seconds; later counts are skipped")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--model")
    parser.add_argument("--wait", choices=("spin", "block"), default="spin")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--plot-from", type=_names, metavar="FILE,FILE")
    return parser.parse_args(argv)


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted({int(number) for number in text.split(",")}))


if __name__ == "__main__":
    sys.exit(main())
