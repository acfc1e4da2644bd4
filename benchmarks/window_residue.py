"""Does a profile window leave something behind? Graph replays before and after, per remedy.

    python benchmarks/window_residue.py --json FILE [--tokens 200] [--repeats 2] [--windows 20]

Each arm is a fresh process: it captures the decode step, times replays, takes two profile
windows, and times replays again, then after a rest once more, then with the step captured anew.
Last it takes more windows, of graph and eager-static in turns, and says how many were accepted.
The arms differ in how the profiler's library (CUPTI) leaves the driver after a session: as torch
has it (attached), by kineto's own teardown (``TEARDOWN_CUPTI=1``, what the engine asks for where
nothing is set), or by a direct ``cuptiFinalize``.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

ARMS: dict[str, dict[str, str]] = {
    "as torch has it": {"TEARDOWN_CUPTI": "0"},
    "kineto tears down": {"TEARDOWN_CUPTI": "1"},
    "finalized by hand": {"TEARDOWN_CUPTI": "0"},
}
REST_S = 2.0
DETACH_S = 0.02


def detached_by_kineto() -> str:
    """Kineto detaches within the calls that follow a session, from a thread of its own."""
    import torch

    end = time.monotonic() + DETACH_S
    while time.monotonic() < end:
        torch.cuda.synchronize()
        time.sleep(0.001)
    return ""


def finalized() -> str:
    """Calls cuptiFinalize of the library that torch has loaded."""
    maps = Path("/proc/self/maps").read_text().split()
    paths = {word for word in maps if "libcupti.so" in word}
    if not paths:
        return "no libcupti.so is loaded"
    return f"cuptiFinalize returned {ctypes.CDLL(paths.pop()).cuptiFinalize()}"


AFTER: dict[str, Callable[[], str]] = {
    "as torch has it": lambda: "",
    "kineto tears down": detached_by_kineto,
    "finalized by hand": finalized,
}


def measure(arm: str, tokens: int, more_windows: int) -> dict[str, Any]:
    """One arm, in this process; each finding is printed at once, since the next may crash."""
    import torch

    from idlegap.core.engine.available_modes import Lineup
    from idlegap.core.engine.device import choose_device
    from idlegap.core.engine.model import load_model
    from idlegap.core.engine.modes import Mode
    from idlegap.core.engine.profile import Profiler
    from idlegap.core.engine.tokens import timed_step
    from idlegap.core.protocol.settings import Settings
    from idlegap.core.sensors.thread import ThreadCounters
    from idlegap.core.text.reasons import words

    torch.set_grad_enabled(False)
    device = choose_device("cuda")
    settings = Settings(prompt_tokens=512, new_tokens=max(tokens, 16))
    lineup = Lineup.build(load_model(None, device, lambda *_: None), device, settings)
    graph, eager = lineup.modes["graph"], lineup.modes["eager-static"]
    graph.enter()
    graph.prefill()
    graph.prepare()
    counters = ThreadCounters()
    result: dict[str, Any] = {}

    def note(name: str, value: Any) -> None:
        result[name] = value
        print(json.dumps(result), flush=True)

    def steps(mode: Mode, count: int) -> dict[str, float]:
        mode.enter()
        mode.prefill()
        timed = [timed_step(mode, time.perf_counter_ns, counters) for _ in range(count)][8:]
        return {
            "wall_ms": median(t.wall_ns for t in timed) / 1e6,
            "dispatch_ms": median(t.dispatch_ns for t in timed) / 1e6,
        }

    note("before", steps(graph, tokens))
    note("eager before", steps(eager, tokens // 4))
    graph.enter()
    graph.prefill()
    profiler = Profiler(device)

    def window(mode: Mode) -> Any:
        taken = profiler.take(mode.name, mode.step)
        said = AFTER[arm]()
        return {
            "accepted": taken.accepted,
            "reason": words(taken.reason),
            "kernels": taken.kernels,
            "busy_ms": taken.busy_ns / 1e6,
            "pause_ms": taken.pause_ns / 1e6,
            "said": said,
        }

    note("windows", [window(graph) for _ in range(2)])
    note("after", steps(graph, tokens))
    time.sleep(REST_S)
    note("rested", steps(graph, tokens))
    note("eager after", steps(eager, tokens // 4))
    graph.release()
    graph.prefill()
    graph.prepare()
    note("captured anew", steps(graph, tokens))
    more: dict[str, Any] = {"accepted": 0, "rejected": [], "pause_ms": []}
    for turn in range(more_windows):
        mode = (graph, eager)[turn % 2]
        mode.enter()
        mode.prefill()
        taken = window(mode)
        more["accepted"] += taken["accepted"]
        more["pause_ms"].append(round(taken["pause_ms"], 1))
        if not taken["accepted"]:
            more["rejected"].append(taken["reason"])
    note("more windows", more)
    note("last", steps(graph, tokens))
    return result


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        measure(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--windows", type=int, default=20)
    given = parser.parse_args()
    results: dict[str, list[Any]] = {name: [] for name in ARMS}
    for _ in range(given.repeats):
        for name, extra in ARMS.items():
            child = subprocess.run(
                [sys.executable, __file__, "--child", name, str(given.tokens), str(given.windows)],
                env={**os.environ, **extra},
                capture_output=True,
                text=True,
                timeout=90,
                check=False,
            )
            line = child.stdout.strip().splitlines()[-1:] or ["null"]
            results[name].append({"exit_code": child.returncode, "result": json.loads(line[0])})
            print(
                name, child.returncode, line[0], child.stderr[-300:] if child.returncode else "", flush=True
            )
            given.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
