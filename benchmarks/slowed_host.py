"""Does the predictions' model hold? An eager token slowed by a known amount per operator must move as
`core.check.predictions` predicts.

    python -m benchmarks.slowed_host [--device auto] [--waits 0,2,5,10] [--rounds 5] [--json FILE]

A dispatch hook spins for some microseconds before every operator of an eager-static step. The
token with a spin of 0 gives the model (the hook's own cost is in all of them alike); the others
are predicted from it, with the time that was really spun away. Spins are interleaved.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from idlegap.core.check.predictions import TokenModel
from idlegap.core.engine.available_modes import Lineup
from idlegap.core.engine.device import Device, choose_device
from idlegap.core.engine.model import load_model
from idlegap.core.engine.modes import Mode
from idlegap.core.engine.profile import WINDOW_STEPS, Profiler
from idlegap.core.protocol.modes import BASELINE
from idlegap.core.protocol.settings import Settings
from idlegap.core.text.reasons import words

clock = time.perf_counter_ns
TOKENS = 48
LEAD_IN = 3


class Spin(TorchDispatchMode):
    """Spins before every operator and adds up for how long."""

    def __init__(self, wait_ns: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.wait_ns = wait_ns
        self.spun_ns = 0
        self.operators = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        started = now = clock()
        while now - started < self.wait_ns:
            now = clock()
        self.spun_ns += now - started
        self.operators += 1
        return func(*args, **(kwargs or {}))


class Spun(NamedTuple):
    """Medians over the tokens of one round, in ns; `spun_ns` is per token."""

    wall_ns: float
    dispatch_ns: float
    spun_ns: float
    operators: int


def decode(mode: Mode, device: Device, wait_ns: int) -> Spun:
    """One round under the hook."""
    mode.enter()
    mode.prefill()
    device.synchronize()
    walls, dispatches, spun, operators = [], [], [], 0
    for _ in range(TOKENS):
        with Spin(wait_ns) as hook:
            started = clock()
            mode.step()
            dispatched = clock()
        device.synchronize()
        walls.append(clock() - started)
        dispatches.append(dispatched - started)
        spun.append(hook.spun_ns)
        operators = hook.operators
    wall_ns, dispatch_ns, spun_ns = (median(column[LEAD_IN:]) for column in (walls, dispatches, spun))
    return Spun(wall_ns, dispatch_ns, spun_ns, operators)


def profiled(mode: Mode, device: Device) -> tuple[int, int]:
    """Device busy time in ns and kernels of a step without the hook; nothing on the CPU."""
    if not device.is_cuda:
        return 0, 1
    profiler = Profiler(device)
    mode.enter()
    mode.prefill()
    profiler.take(BASELINE, mode.step)
    window = profiler.take(BASELINE, mode.step, WINDOW_STEPS)
    if not window.accepted:
        raise SystemExit(f"profile window rejected: {words(window.reason)}")
    return window.busy_ns, window.kernels


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--waits", default="0,2,5,10", help="microseconds before each operator")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    waits_ns = [round(float(text) * 1000) for text in options.waits.split(",")]
    if 0 not in waits_ns:
        parser.error("--waits must hold 0, which the others are predicted from")
    torch.set_grad_enabled(False)
    device = choose_device(options.device)
    loaded = load_model(None, device, lambda *_: None)
    settings = Settings(new_tokens=TOKENS)
    mode = Lineup.build(loaded, device, settings).modes[BASELINE]
    busy_ns, kernels = profiled(mode, device)
    rounds: dict[int, list[Spun]] = {wait: [] for wait in waits_ns}
    for turn in range(options.rounds + 1):
        for wait_ns in waits_ns if turn % 2 == 0 else reversed(waits_ns):
            found = decode(mode, device, wait_ns)
            if turn:
                rounds[wait_ns].append(found)
    still = [median(column) for column in zip(*rounds[0], strict=True)]
    model = TokenModel(still[1], busy_ns, kernels, 0)
    model = TokenModel(still[1], busy_ns, kernels, 0, max(still[0] - model.token_ns, 0))
    rows = []
    print(f"{device.name}: {still[3]:.0f} operators, {kernels:,} kernels, busy {busy_ns / 1e6:.2f} ms")
    print("spin us  spun ms  measured ms  predicted ms   error")
    for wait_ns in waits_ns:
        wall_ns, _, spun_ns, _ = (median(column) for column in zip(*rounds[wait_ns], strict=True))
        predicted_ns = replace(model, host_ns=model.host_ns + spun_ns - still[2]).token_ns
        error = predicted_ns / wall_ns - 1
        rows.append(
            {"wait_ns": wait_ns, "spun_ns": spun_ns, "wall_ns": wall_ns, "predicted_ns": predicted_ns}
        )
        figures = f"{spun_ns / 1e6:8.2f} {wall_ns / 1e6:12.2f} {predicted_ns / 1e6:13.2f}"
        print(f"{wait_ns / 1e3:7.1f} {figures} {100 * error:6.1f} %")
    if options.json is not None:
        report = {"device": device.name, "busy_ns": busy_ns, "kernels": kernels, "rows": rows}
        options.json.write_text(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
