"""What does the first time at each cache length cost, and who takes it? Rounds of eager, per setting.

    python -m benchmarks.new_lengths --json FILE [--tokens 64] [--rounds 3] [--device auto]

Each arm is a fresh process that decodes the same round of `eager` several times: in the first one
every length of the dynamic cache is new, in the others none. The arms differ in what torch may do
for attention, by its own environment variables: as it is; with cuDNN behind the other kernels;
with cuDNN told to plan once for all lengths. The attention kernel is read from a profile window.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from idlegap.core.sources.engine_log import TAIL_LINES
from idlegap.core.text.reasons import words

ARMS: dict[str, dict[str, str]] = {
    "as torch has it": {},
    "cuDNN last": {"TORCH_CUDNN_SDPA_DEPRIORITIZED": "1"},
    "cuDNN plans once": {"TORCH_CUDNN_SDPA_AVOID_RECOMPILE": "1"},
}
LIMIT_S = 45
ATTENTION = ("sdpa", "flash", "fmha", "attention")


def measure(device_name: str, tokens: int, rounds: int) -> dict[str, Any]:
    """One arm, in this process: medians per round in ms, and the attention kernels."""
    import torch

    from idlegap.core.engine.available_modes import Lineup
    from idlegap.core.engine.device import choose_device
    from idlegap.core.engine.model import load_model
    from idlegap.core.engine.profile import Profiler
    from idlegap.core.engine.tokens import timed_step
    from idlegap.core.protocol.settings import Settings
    from idlegap.core.sensors.thread import ThreadCounters

    torch.set_grad_enabled(False)
    device = choose_device(device_name)
    settings = Settings(prompt_tokens=512, new_tokens=tokens)
    mode = Lineup.build(load_model(None, device, lambda *_: None), device, settings).modes["eager"]
    mode.enter()
    step = partial(timed_step, clock=time.perf_counter_ns, counters=ThreadCounters())
    found: dict[str, Any] = {"device": device.name, "torch": torch.__version__, "rounds": []}
    for _ in range(rounds):
        mode.prefill()
        timed = [step(mode) for _ in range(tokens)]
        found["rounds"].append(
            {
                "wall_ms": median(t.wall_ns for t in timed) / 1e6,
                "cpu_ms": median(t.cpu_ns for t in timed if t.cpu_ns is not None) / 1e6,
            }
        )
    if device.is_cuda:
        mode.prefill()
        profiler = Profiler(device)
        window = [profiler.take(mode.name, lambda: step(mode)) for _ in range(2)][-1]
        if not window.accepted:
            return found | {"attention": words(window.reason)}
        named = (kernel for kernel in window.top if any(word in kernel.name.lower() for word in ATTENTION))
        found["busy_ms"] = window.busy_ns / 1e6
        found["attention"] = [(k.name, k.count, k.total_ns / 1e6) for k in named]
    return found


def main() -> None:
    """All arms in turn, or with `--arm` one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--arm", choices=ARMS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.arm is not None:
        print(json.dumps(measure(given.device, given.tokens, given.rounds)))
        return
    results: dict[str, Any] = {}
    for arm, environment in ARMS.items():
        command = [sys.executable, "-m", "benchmarks.new_lengths", *sys.argv[1:], "--arm", arm]
        results[arm] = run(command, os.environ | environment)
        given.json.write_text(json.dumps(results, indent=1))
        print(arm, json.dumps(results[arm]), flush=True)


def run(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """What an arm has found, or how it failed."""
    try:
        ran = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {LIMIT_S} s"}
    if ran.returncode:
        return {"failed": ran.stderr.splitlines()[-TAIL_LINES:]}
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
