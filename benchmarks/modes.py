"""All modes in one process: what each costs, whether its tokens are right, what it gains.

    python benchmarks/modes.py --json FILE [--runs 5] [--device auto] [--skip-generate]

Runs are interleaved (A B C A B C); the first of each mode is warm-up and marked. Beside the
six modes it times transformers' own ``generate()`` with a static cache, and decoding without
synchronising after each token, which is what idlegap pays for timing every one.
"""

import argparse
import json
import time
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch

from idlegap.core.engine.available_modes import Lineup
from idlegap.core.engine.device import choose_device
from idlegap.core.engine.errors import ModeError
from idlegap.core.engine.microbenchmarks import measure_bandwidth
from idlegap.core.engine.model import load_model
from idlegap.core.engine.modes import Mode
from idlegap.core.engine.profile import Profiler
from idlegap.core.engine.tokens import WARM_UP_TOKENS
from idlegap.core.engine.verify import Verifier
from idlegap.core.engine.worker import prepare_environment
from idlegap.core.measure.device_time import split_token
from idlegap.core.measure.roofline import mbu, weight_stream_bound_ns
from idlegap.core.measure.statistics import quantile
from idlegap.core.protocol.modes import BASELINE
from idlegap.core.protocol.settings import Settings
from idlegap.core.system.locations import cache_dir
from idlegap.core.text.reasons import logit_diff_words

clock = time.perf_counter_ns


def prepare(mode: Mode) -> str | None:
    try:
        mode.enter()
        mode.prefill()
        mode.prepare()
    except ModeError as error:
        return str(error)
    return None


def run(mode: Mode, tokens: int) -> dict[str, Any]:
    """One prefill and its decode, each token synchronised."""
    device = mode.workload.device
    mode.enter()
    device.synchronize()
    start = clock()
    mode.prefill()
    device.synchronize()
    prefill_ns = clock() - start
    walls, dispatches = [], []
    for _ in range(tokens):
        start = clock()
        mode.step()
        dispatched = clock()
        device.synchronize()
        walls.append(clock() - start)
        dispatches.append(dispatched - start)
    return {"prefill_ns": prefill_ns, "wall_ns": walls, "dispatch_ns": dispatches}


def unsynchronised_ns(mode: Mode, tokens: int) -> float:
    """Mean time of a token when the host waits only at the end of the round."""
    device = mode.workload.device
    mode.enter()
    mode.prefill()
    device.synchronize()
    start = clock()
    for _ in range(tokens):
        mode.step()
    device.synchronize()
    return (clock() - start) / tokens


def generate_ns(lineup: Lineup, tokens: int, repeats: int) -> list[float]:
    """Mean time per token of ``generate()`` with a static cache, its prefill included."""
    work = lineup.workload
    times = []
    for _ in range(repeats + 1):
        work.device.synchronize()
        start = clock()
        out = work.model.generate(
            work.prompt,
            attention_mask=torch.ones_like(work.prompt),
            max_new_tokens=tokens,
            min_new_tokens=tokens,
            do_sample=False,
            cache_implementation="static",
        )
        work.device.synchronize()
        times.append((clock() - start) / (out.shape[1] - work.prompt.shape[1]))
    return times[1:]


def summarise(
    mode: Mode, runs: list[dict[str, Any]], measured: dict[str, Any], weight_bytes: int
) -> dict[str, Any]:
    walls = [w for r in runs[1:] for w in r["wall_ns"][WARM_UP_TOKENS:]]
    dispatches = [d for r in runs[1:] for d in r["dispatch_ns"][WARM_UP_TOKENS:]]
    wall = median(walls)
    profile, copy, spec = measured["profiles"].get(mode.name), measured["copy"], measured["spec"]
    row: dict[str, Any] = {
        "mode": mode.name,
        "wall_ms": wall / 1e6,
        "p99_ms": quantile(walls, 0.99) / 1e6,
        "dispatch_ms": median(dispatches) / 1e6,
        "tok_per_s": 1e9 / wall,
        "run_medians_ms": [median(r["wall_ns"]) / 1e6 for r in runs],
        "prefill_ms": [r["prefill_ns"] / 1e6 for r in runs],
        "mbu_measured": mbu(weight_bytes, 1e9 / wall, copy) if copy else None,
        "mbu_spec": mbu(weight_bytes, 1e9 / wall, spec) if spec else None,
    }
    if profile is not None and profile.accepted:
        bound = weight_stream_bound_ns(weight_bytes, copy) if copy else None
        parts = split_token(round(wall), profile, bound)
        row |= {
            "kernels": profile.kernels,
            "busy_ms": profile.busy_ns / 1e6,
            "launch_latency_ms": parts.launch_latency_ns / 1e6,
            "device_gap_ms": parts.device_gap_ns / 1e6,
            "host_gap_ms": parts.host_gap_ns / 1e6,
            "top": [[k.name, k.count, k.total_ns] for k in profile.top],
        }
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--prompt-tokens", type=int, default=512)
    parser.add_argument("--new-tokens", type=int, default=255)
    parser.add_argument("--spec-bandwidth", type=float, help="GB/s")
    parser.add_argument("--skip-generate", action="store_true")
    given = parser.parse_args()
    prepare_environment(cache_dir())
    torch.set_grad_enabled(False)
    device = choose_device(given.device)
    loaded = load_model(None, device, lambda *_: None)
    settings = Settings(prompt_tokens=given.prompt_tokens, new_tokens=given.new_tokens, device=given.device)
    lineup = Lineup.build(loaded, device, settings)
    bandwidth = measure_bandwidth(device)
    result: dict[str, Any] = {
        "device": device.name,
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "weight_bytes": loaded.weight_bytes,
        "cache_len": settings.cache_len,
        "copy_bytes_per_s": bandwidth.copy_bytes_per_s,
        "read_bytes_per_s": bandwidth.read_bytes_per_s,
        "refused": dict(lineup.refused),
        "prepare_s": {},
    }

    def save() -> None:
        given.json.write_text(json.dumps(result, indent=1))

    for name in list(lineup.modes):
        start = time.monotonic()
        refused = prepare(lineup.modes[name])
        result["prepare_s"][name] = time.monotonic() - start
        if refused:
            result["refused"][name] = refused
            del lineup.modes[name]
        print(f"prepared {name} in {result['prepare_s'][name]:.1f} s {refused or ''}", flush=True)
        save()
    modes = lineup.modes
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in modes}
    for _ in range(given.runs + 1):
        for name, mode in modes.items():
            runs[name].append(run(mode, given.new_tokens))
    result["runs"] = runs
    profiles: dict[str, Any] = {}
    if device.is_cuda:
        profiler = Profiler(device)
        for name, mode in modes.items():
            mode.enter()
            mode.prefill()
            profiles[name] = [profiler.take(name, mode.step) for _ in range(3)][-1]
    spec = given.spec_bandwidth * 1e9 if given.spec_bandwidth else None
    measured = {"profiles": profiles, "copy": bandwidth.copy_bytes_per_s, "spec": spec}
    result["modes"] = [
        summarise(mode, runs[name], measured, loaded.weight_bytes) for name, mode in modes.items()
    ]
    save()
    verifier = Verifier(modes[BASELINE], given.new_tokens)
    for row in result["modes"]:
        row["unsynchronised_ms"] = unsynchronised_ns(modes[row["mode"]], given.new_tokens) / 1e6
        verified = verifier.verify(modes[row["mode"]])
        row["verified"] = {
            name: getattr(verified, name) for name in verified.__struct_fields__ if name != "t_ns"
        }
        print(
            f"{row['mode']:>13} wall {row['wall_ms']:7.3f} ms {row['tok_per_s']:6.1f} tok/s "
            f"dispatch {row['dispatch_ms']:7.3f} busy {row.get('busy_ms', float('nan')):6.3f} "
            f"kernels {row.get('kernels', 0)} unsync {row['unsynchronised_ms']:.3f} "
            f"agree {verified.agree}/{verified.steps} diff {logit_diff_words(verified)} "
            f"prefill {fmean(row['prefill_ms'][1:]):.1f}",
            flush=True,
        )
        save()
    if not given.skip_generate and device.is_cuda:
        modes[BASELINE].enter()
        times = generate_ns(lineup, given.new_tokens, 3)
        result["generate_static_ms"] = [t / 1e6 for t in times]
        print("generate(static):", [f"{t / 1e6:.3f} ms" for t in times], flush=True)
    save()


if __name__ == "__main__":
    main()
