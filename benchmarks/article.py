"""Repeat the experiment of the article that began this project, on this GPU, with better statistics.

    python -m benchmarks.article [--model ID] [--runs 5] [--json FILE]
    python -m benchmarks.article --read FILE

The article compared eager decoding over a static cache with ``torch.compile``'s reduce-overhead,
took prefill as a sanity check, profiled twelve decode steps, and printed three tables. So does
this script, with runs interleaved, intervals over runs, and the compiled side profiled too.
`--read` prints the tables of a result that was taken before.
"""

import argparse
import signal
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from idlegap.core.bench.conclusion import speed_up
from idlegap.core.bench.driver import Driver
from idlegap.core.bench.plan import DEFAULT_RUNS, BenchPlan, arms_for, engine_settings
from idlegap.core.bench.runner import Bench, BenchOutcome, Progress
from idlegap.core.bench.schema import Arm, BenchResult
from idlegap.core.bench.stability import contention
from idlegap.core.bench.summary import ArmSummary, summarise
from idlegap.core.protocol.events import ProfileWindow, SensorEvent
from idlegap.core.protocol.modes import BASELINE, ModeName
from idlegap.core.protocol.settings import Settings
from idlegap.core.results.store import BENCH, ResultError, read, write
from idlegap.core.sensors.sampler import Sampler
from idlegap.core.sources.engine_log import EngineLog
from idlegap.core.sources.engine_process import EngineProcess
from idlegap.core.system.files import FileError
from idlegap.core.text.names import cpu_name, gpu_name
from idlegap.core.text.units import bandwidth, interval, ms, rate, tenths
from idlegap.tui.tables.layout import paragraph, table

STEPS = 12
WINDOW_STEPS = 4
"""Of the engine's profile windows: three accepted ones make the article's twelve steps."""

MODES: tuple[ModeName, ...] = ("eager", BASELINE, "compiled", "graph")
WIDTH = 100


def measure(settings: Settings, runs: int) -> BenchOutcome:
    """Take the benchmark; ctrl-c and SIGTERM end it early."""
    stopped: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda caught, frame: stopped.append(caught))
    heard: deque[SensorEvent] = deque()
    log = EngineLog()
    driver = Driver(
        EngineProcess(engine_settings(settings), log),
        sensors=Sampler(heard.append),
        sensor_events=heard,
        stopped=lambda: bool(stopped),
    )
    plan = BenchPlan(arms_for(MODES), runs=runs, windows=STEPS // WINDOW_STEPS)
    outcome = Bench(driver, plan, report=_report, spec_bandwidth=settings.spec_bandwidth).run()
    driver.close()
    if outcome.failed is not None:
        print(f"the engine failed: {outcome.failed.reason}\n  {log.place}", file=sys.stderr)
    return outcome


def tables(result: BenchResult) -> str:
    """The three tables, and what stands between them."""
    arms = {summary.mode: summary for summary in summarise(result)}
    eager, static, compiled = arms.get("eager"), arms.get(BASELINE), arms.get("compiled")
    lines = [*_machine(result, eager), ""]
    lines += [*_arms(static, compiled), ""]
    for mode in ("compiled", "graph"):
        lines += _gain(arms.get(mode), static, eager)
    lines += _prefill(static, compiled)
    lines += ["", *_device(result, arms)]
    beside = contention(result)
    if beside:
        lines += ["", *paragraph(f"CONTENDED: {beside}", WIDTH)]
    return "\n".join(lines) + "\n"


def _machine(result: BenchResult, eager: ArmSummary | None) -> list[str]:
    """Table 1: this machine, as the article lists its three."""
    spec = result.spec_bandwidth or (result.gpu.spec_bytes_per_s if result.gpu is not None else None)
    copied = result.bandwidth.copy_bytes_per_s if result.bandwidth is not None else None
    row = [
        gpu_name(result.engine.device_name),
        bandwidth(spec) if spec else "n/a",
        bandwidth(copied) if copied else "n/a",
        f"{rate(eager.tok_per_s)} tok/s" if eager is not None and eager.tok_per_s else "n/a",
        cpu_name(result.host.cpu_model if result.host is not None else None),
        tenths(eager.ceiling.mbu_spec) if eager is not None and eager.ceiling.mbu_spec is not None else "n/a",
    ]
    lines = table([["GPU", "bandwidth", "measured", "decode", "host CPU", "MBU"], row])
    if eager is not None and eager.ceiling.bound_ns is not None:
        bound = f"{ms(eager.ceiling.bound_ns)} ms/token, {rate(1e9 / eager.ceiling.bound_ns)} tok/s"
        lines += [f"weight-streaming bound at the measured bandwidth: {bound}"]
    return lines


def _arms(static: ArmSummary | None, compiled: ArmSummary | None) -> list[str]:
    """Table 2: the controlled comparison."""
    rows = [["arm", "decode", "ms/token", "MBU", "time beyond the bound"]]
    for name, arm in (("eager", static), ("compiled", compiled)):
        if arm is None or arm.tok_per_s is None or arm.median_ns is None:
            rows.append([name, *["n/a"] * 4])
            continue
        share = tenths(arm.ceiling.mbu_spec) if arm.ceiling.mbu_spec is not None else "n/a"
        beyond = f"{ms(arm.beyond_bound_ns)} ms" if arm.beyond_bound_ns is not None else "n/a"
        rows.append([name, f"{rate(arm.tok_per_s)} tok/s", ms(arm.median_ns), share, beyond])
    return table(rows)


def _gain(arm: ArmSummary | None, static: ArmSummary | None, eager: ArmSummary | None) -> list[str]:
    """Both ratios: against the same static cache, and against the dynamic cache."""
    found = [
        f"{interval(speed.ratio)} against {speed.against}"
        for against in (static, eager)
        if arm is not None and against is not None and (speed := speed_up(arm, against)) is not None
    ]
    return [f"{arm.label}: {', '.join(found)}"] if arm is not None and found else []


def _prefill(static: ArmSummary | None, compiled: ArmSummary | None) -> list[str]:
    if static is None or compiled is None or static.prefill_ns is None or compiled.prefill_ns is None:
        return []
    moved = compiled.prefill_ns / static.prefill_ns
    return [
        f"prefill: {ms(static.prefill_ns)} ms eager, {ms(compiled.prefill_ns)} ms compiled ({moved:.3f}x)"
    ]


def _device(result: BenchResult, arms: "dict[ModeName, ArmSummary]") -> list[str]:
    """Table 3: wall time beside device time, of both sides."""
    rows = [["arm", "steps", "wall ms", "device ms", "not device work", "kernels", "mean kernel"]]
    largest: list[str] = []
    for name, arm in ((arm.label, arm) for arm in result.arms):
        summary, windows = arms[arm.mode], _accepted(arm)
        if summary.median_ns is None or not windows:
            continue
        busy_ns = sum(window.busy_ns for window in windows) / len(windows)
        idle_ns = summary.median_ns - busy_ns
        last = windows[-1]
        rows.append(
            [
                name,
                str(sum(window.steps for window in windows)),
                ms(summary.median_ns),
                ms(busy_ns),
                f"{ms(idle_ns)} ms ({tenths(idle_ns / summary.median_ns)})",
                f"{last.kernels:,}",
                f"{last.busy_sum_ns / max(last.kernels, 1) / 1e3:.2f} us",
            ]
        )
        if last.top:
            top = last.top[0]
            what = f"{top.count:.0f} launches, {ms(top.total_ns)} ms a token: {top.name}"
            largest += paragraph(what, WIDTH, first=f"largest in {name}: ")[:1]
    return [*table(rows), *largest] if len(rows) > 1 else ["device time: not profiled"]


def _accepted(arm: Arm) -> Sequence[ProfileWindow]:
    return [window for window in arm.windows if window.accepted]


def _kept(path: Path) -> BenchResult:
    result = read(path)
    if not isinstance(result, BenchResult):
        raise ResultError(f"{path}: published figures have no samples")
    return result


def _report(progress: Progress) -> None:
    left = "" if progress.left_ns is None else f", {progress.left_ns / 1e9:.0f} s left"
    print(f"  {progress.done}/{progress.total}  {progress.text}{left}", file=sys.stderr)


def main() -> int:
    """0: measured; 2: an unusable result file; 3: no GPU here; 4: engine failed; 130: interrupted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", help="hub id, folder or synthetic:NAME (default: the 1.5B shape)")
    parser.add_argument("--runs", type=int, default=DEFAULT_RUNS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result with its raw samples")
    parser.add_argument("--read", type=Path, metavar="FILE", help="print a result instead of measuring")
    options = parser.parse_args()
    try:
        if options.read is not None:
            outcome = BenchOutcome(_kept(options.read))
        else:
            outcome = measure(Settings(model=options.model), options.runs)
            if outcome.result is not None and options.json is not None:
                write(options.json, BENCH, outcome.result)
    except FileError as error:
        print(error, file=sys.stderr)
        return 2
    if outcome.result is not None:
        print(tables(outcome.result), end="")
    if outcome.interrupted:
        return 130
    if outcome.result is None or outcome.failed is not None:
        return 4
    if outcome.result.engine.device == "cpu":
        print("the article's experiment needs an NVIDIA GPU", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
