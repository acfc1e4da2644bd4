"""Does a profile window leave something behind? Graph replays before and after, per environment.

    python benchmarks/window_residue.py --json FILE [--tokens 200] [--repeats 3]

Each arm is a fresh process: it captures the decode step, times replays, takes two profile
windows, and times replays again, then after ten seconds of rest once more. The arms differ in
``TEARDOWN_CUPTI``, which asks torch's profiler to detach from the driver after a session.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

ARMS: dict[str, dict[str, str]] = {
    "as torch has it": {},
    "TEARDOWN_CUPTI=1": {"TEARDOWN_CUPTI": "1"},
    "TEARDOWN_CUPTI=0": {"TEARDOWN_CUPTI": "0"},
}
REST_S = 10.0


def measure(tokens: int) -> dict[str, Any]:
    """One arm, in this process."""
    import torch

    from core.engine.device import choose_device
    from core.engine.lineup import Lineup
    from core.engine.model import load_model
    from core.engine.profile import Profiler
    from core.engine.timing import StepTimer
    from core.settings import Settings

    torch.set_grad_enabled(False)
    device = choose_device("cuda")
    settings = Settings(prompt_tokens=512, new_tokens=max(tokens, 16))
    lineup = Lineup.build(load_model(None, device, lambda *_: None), device, settings)
    mode = lineup.modes["graph"]
    mode.enter()
    mode.prefill()
    mode.prepare()
    timer = StepTimer(time.perf_counter_ns, None)

    def replays() -> dict[str, float]:
        mode.prefill()
        timed = [timer.step(mode) for _ in range(tokens)][8:]
        return {
            "wall_ms": median(t.wall_ns for t in timed) / 1e6,
            "dispatch_ms": median(t.dispatch_ns for t in timed) / 1e6,
        }

    result: dict[str, Any] = {"before": replays()}
    mode.prefill()
    profiler = Profiler(device)
    windows = [profiler.take("graph", mode.step) for _ in range(2)]
    result["window"] = {"reason": windows[-1].reason, "kernels": windows[-1].kernels}
    result["after"] = replays()
    time.sleep(REST_S)
    result["rested"] = replays()
    return result


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(measure(int(sys.argv[2]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    results: dict[str, list[Any]] = {name: [] for name in ARMS}
    for _ in range(given.repeats):
        for name, extra in ARMS.items():
            child = subprocess.run(
                [sys.executable, __file__, "--child", str(given.tokens)],
                env={**os.environ, **extra},
                capture_output=True,
                text=True,
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
