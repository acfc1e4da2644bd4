"""Where does dispatch stop mattering? eager-static and graph over batch sizes and prompt lengths.

    python -m benchmarks.batch_sweep --json FILE [--batches 1,2,4,8,16,32,64] [--prompts 512,2048,8192,30000]
                                     [--tokens 48] [--runs 3] [--device auto]

Batch sizes are taken at the first prompt length, prompt lengths at batch 1, all in one process;
each shape has its own cache and graph, and the two modes take turns. The first run of each is a
warm-up. Profile windows are taken of each shape when all runs are over.
"""

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.modes import prepare, run
from idlegap.core.engine.available_modes import Lineup
from idlegap.core.engine.device import Device, choose_device
from idlegap.core.engine.errors import UnsupportedError
from idlegap.core.engine.model import LoadedModel, load_model
from idlegap.core.engine.modes import Mode
from idlegap.core.engine.profile import Profiler
from idlegap.core.engine.tokens import WARM_UP_TOKENS
from idlegap.core.engine.worker import prepare_environment
from idlegap.core.protocol.modes import BASELINE, REPLAYED
from idlegap.core.protocol.settings import Settings
from idlegap.core.system.locations import cache_dir
from idlegap.core.text.reasons import words


def prepared(
    loaded: LoadedModel, device: Device, settings: Settings
) -> tuple[dict[str, Mode], dict[str, str]]:
    """The modes that run in this shape, and why others do not."""
    try:
        lineup = Lineup.build(loaded, device, settings)
    except UnsupportedError as error:
        return {}, {"all": str(error)}
    refused: dict[str, str] = {name: why for name, mode in lineup.modes.items() if (why := prepare(mode))}
    return {name: mode for name, mode in lineup.modes.items() if name not in refused}, refused


def time_shape(modes: dict[str, Mode], tokens: int, runs: int) -> dict[str, Any]:
    """Medians in ms of each mode's tokens, wall and dispatch, over `runs` counted runs in turns."""
    taken: dict[str, list[dict[str, Any]]] = {name: [] for name in modes}
    for _ in range(runs + 1):
        for name, mode in modes.items():
            taken[name].append(run(mode, tokens))
    return {
        name: {"wall_ms": typical_ms(mine, "wall_ns"), "dispatch_ms": typical_ms(mine, "dispatch_ns")}
        for name, mine in taken.items()
    }


def typical_ms(runs: list[dict[str, Any]], name: str) -> float:
    """Median of the counted tokens of all runs but the first."""
    taken: list[int] = [ns for counted in runs[1:] for ns in counted[name][WARM_UP_TOKENS:]]
    return median(taken) / 1e6


def profile(device: Device, modes: dict[str, Mode]) -> dict[str, Any]:
    """Device busy in ms and kernels per token of each mode, from the second window; or why not."""
    profiler, found = Profiler(device), {}
    for name, mode in modes.items():
        mode.enter()
        mode.prefill()
        window = [profiler.take(mode.name, mode.step) for _ in range(2)][-1]
        found[name] = (
            {"busy_ms": window.busy_ns / 1e6, "kernels": window.kernels}
            if window.accepted
            else {"rejected": words(window.reason)}
        )
    return found


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--batches", type=numbers, default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--prompts", type=numbers, default=[512, 2048, 8192, 30_000])
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    prepare_environment(cache_dir())
    torch.set_grad_enabled(False)
    device = choose_device(given.device)
    loaded = load_model(None, device, lambda *_: None)
    first, *longer = given.prompts
    shapes = [(batch, first) for batch in given.batches] + [(1, prompt) for prompt in longer]
    result: dict[str, Any] = {"device": device.name, "torch": torch.__version__, "shapes": []}
    kept: list[dict[str, Mode]] = []
    for batch, prompt in shapes:
        settings = Settings(modes=(BASELINE, REPLAYED), batch=batch, prompt_tokens=prompt)
        modes, refused = prepared(loaded, device, settings)
        shape = {"batch": batch, "prompt_tokens": prompt, "cache_len": settings.cache_len, "refused": refused}
        result["shapes"].append(shape | {"modes": time_shape(modes, given.tokens, given.runs)})
        kept.append(modes)
        given.json.write_text(json.dumps(result, indent=1))
    for measured, modes in zip(result["shapes"], kept, strict=True):
        if device.is_cuda:
            for name, figures in profile(device, modes).items():
                measured["modes"][name] |= figures
        print(json.dumps(measured), flush=True)
        given.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
