"""Is the busy share right? Device-busy time against workloads whose duty cycle is known.

    python benchmarks/known_duty.py --json FILE [--windows 200]

A step is five kernels of about a millisecond that only spin, each submitted, waited for and
followed by a host pause, so that they fill 10, 50, 90 or 99 % of the time. The truth comes from
elsewhere than the measurement: the kernels' length from CUDA events around one long spin,
pauses from the host's clock. A second workload queues kernels in pairs: what CUDA events span
beyond the kernels' length is the truth for the device gap.

Then many windows of a captured decode step are taken in one process: how many are accepted,
with which kernel counts, and how much the process grows.
"""

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import torch

from idlegap.core.engine.available_modes import Lineup
from idlegap.core.engine.device import Device, choose_device
from idlegap.core.engine.model import load_model
from idlegap.core.engine.profile import Marker, Profiler
from idlegap.core.measure.device_time import GapReport, split_gaps
from idlegap.core.protocol.settings import Settings
from idlegap.core.text.reasons import words

SHARES = (0.10, 0.50, 0.90, 0.99)
KERNELS = 5
STEPS = 4
CYCLES = 1_600_000
"""About a millisecond at the clocks of current datacentre GPUs; calibrated below."""

clock = time.perf_counter_ns


class OpenProfiler(Profiler):
    """The profiler with its records in sight, and a marker that is not the spinning kernel."""

    def __init__(self, device: Device) -> None:
        scratch = torch.ones(256, device=device.torch)
        super().__init__(device, marker=Marker(lambda: torch.nextafter(scratch, scratch), "nextafter"))

    def gaps(self, step: Callable[[], Any], steps: int) -> GapReport:
        return split_gaps(*self._record(step, steps), steps)


def spin_ns(cycles: int) -> float:
    """Length of one spinning kernel, from CUDA events around a long run of the same."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    repeats = 100
    torch.cuda._sleep(cycles)
    torch.cuda.synchronize()
    begin.record()
    torch.cuda._sleep(cycles * repeats)
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) * 1e6 / repeats


def pause(ns: float) -> None:
    end = clock() + ns
    while clock() < end:
        pass


def duty(profiler: OpenProfiler, kernel_ns: float, share: float) -> dict[str, Any]:
    """One duty cycle: what the window says against what the clocks say."""
    wait_ns = kernel_ns * (1 - share) / share
    times: list[tuple[int, int, int]] = []

    def step() -> None:
        for _ in range(KERNELS):
            before = clock()
            torch.cuda._sleep(CYCLES)
            launched = clock()
            torch.cuda.synchronize()
            times.append((before, launched, clock()))
            pause(wait_ns)

    for _ in range(2):
        times.clear()
        report = profiler.gaps(step, STEPS)
    wall = times[-1][2] - times[0][0]
    submitted = sum(launched - before for before, launched, _ in times)
    paused = sum(after[0] - before[2] for before, after in pairwise(times))
    return {
        "duty": share,
        "kernels": report.kernels,
        "expected_kernels": KERNELS * STEPS,
        "busy_pct": 100 * report.busy_ns / report.window_ns,
        "true_busy_pct": 100 * KERNELS * STEPS * kernel_ns / wall,
        "busy_ms": report.busy_ns / 1e6,
        "true_busy_ms": KERNELS * STEPS * kernel_ns / 1e6,
        "host_gap_ms": report.host_gap_ns / 1e6,
        "true_host_gap_ms": (submitted + paused) / 1e6,
        "launch_latency_ms": report.launch_latency_ns / 1e6,
        "device_gap_ms": report.device_gap_ns / 1e6,
        "window_ms": report.window_ns / 1e6,
        "true_window_ms": wall / 1e6,
    }


def queued(profiler: OpenProfiler, kernel_ns: float, kernels: int = 50) -> dict[str, Any]:
    """Kernels queued far ahead: the gaps between them belong to the device."""
    spans: list[float] = []

    def step() -> None:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(CYCLES * 3)
        begin.record()
        for _ in range(kernels):
            torch.cuda._sleep(CYCLES // 20)
        end.record()
        torch.cuda.synchronize()
        spans.append(begin.elapsed_time(end) * 1e6)

    for _ in range(2):
        spans.clear()
        report = profiler.gaps(step, STEPS)
    short_ns = spin_ns(CYCLES // 20)
    return {
        "kernels": report.kernels,
        "device_gap_us_per_kernel": report.device_gap_ns / STEPS / kernels / 1e3,
        "true_gap_us_per_kernel": (sum(spans) / STEPS - kernels * short_ns) / kernels / 1e3,
        "host_gap_ms": report.host_gap_ns / 1e6,
    }


def many_windows(device: Device, windows: int) -> dict[str, Any]:
    """Windows of a captured decode step in one process."""
    loaded = load_model(None, device, lambda *_: None)
    lineup = Lineup.build(loaded, device, Settings(prompt_tokens=512, new_tokens=255))
    mode = lineup.modes["graph"]
    mode.enter()
    mode.prefill()
    mode.prepare()
    profiler = Profiler(device)
    process = psutil.Process(os.getpid())
    taken = []
    grown: list[int] = []
    for index in range(windows):
        if index % 50 == 0:
            mode.prefill()
        taken.append(profiler.take("graph", mode.step, 2))
        grown.append(process.memory_info().rss)
    accepted = [w for w in taken if w.accepted]
    right = Counter(w.kernels for w in taken).most_common(1)[0][0]
    busy = [w.busy_ns for w in accepted]
    return {
        "windows": windows,
        "accepted": len(accepted),
        "rejected": [words(w.reason) for w in taken if not w.accepted],
        "accepted_with_a_wrong_count": sum(w.kernels != right for w in accepted),
        "kernels": dict(Counter(w.kernels for w in taken)),
        "busy_ms_min_max": [min(busy) / 1e6, max(busy) / 1e6],
        "pause_ms_mean": sum(w.pause_ns for w in taken) / len(taken) / 1e6,
        "rss_growth_mb_after_first_10": (grown[-1] - grown[min(10, windows - 1)]) / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--windows", type=int, default=200)
    given = parser.parse_args()
    torch.set_grad_enabled(False)
    device = choose_device("cuda")
    profiler = OpenProfiler(device)
    kernel_ns = spin_ns(CYCLES)
    result: dict[str, Any] = {
        "device": device.name,
        "torch": str(torch.__version__),
        "kernel_ns": kernel_ns,
        "duty": [duty(profiler, kernel_ns, share) for share in SHARES],
        "queued": queued(profiler, kernel_ns),
    }
    for row in [*result["duty"], result["queued"]]:
        print(json.dumps(row), flush=True)
    given.json.write_text(json.dumps(result, indent=1))
    result["windows"] = many_windows(device, given.windows)
    print(json.dumps(result["windows"]), flush=True)
    given.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
