"""Do the meters agree? NVML, GPM and kernel records of the same decode, side by side.

    python benchmarks/meters.py --json FILE [--seconds 4] [--modes eager-static,graph]

The engine decodes in a process of its own while the sensors run, as in the live screen. In
graph mode the DRAM share that GPM counts in hardware should agree with arithmetic: the bytes
that a step must move (weights once; K and V written and read again by `repeat_kv`) over its
wall time, as a share of the specified bandwidth.
"""

import argparse
import json
import sys
import time
from collections import deque
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec

from idlegap.core.protocol.commands import SetMode, TakeProfile
from idlegap.core.protocol.events import (
    EngineFailed,
    EngineReady,
    GpuInfo,
    GpuSample,
    ModeEntered,
    ProfileWindow,
    TokenBatch,
)
from idlegap.core.protocol.settings import Settings
from idlegap.core.sensors.sampler import Sampler
from idlegap.core.session.session import Session
from idlegap.core.sources.engine_process import EngineProcess

FIELDS = (
    "util_pct",
    "util_samples_pct",
    "gpm_graphics_pct",
    "gpm_sm_pct",
    "gpm_dram_pct",
    "power_mw",
    "sm_mhz",
    "call_ns",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--modes", default="eager-static,graph")
    given = parser.parse_args()
    heard: deque[Any] = deque()
    events: list[Any] = []
    session = Session(
        EngineProcess(Settings(profile_every_ns=None)),
        sensors=Sampler(heard.append),
        sensor_events=heard,
        listeners=[events.append],
    )

    def wait(kind: type, seconds: float = 120, **wanted: Any) -> Any:
        deadline = time.monotonic() + seconds
        seen = 0
        while time.monotonic() < deadline:
            session.pump()
            for event in events[seen:]:
                if isinstance(event, EngineFailed):
                    sys.exit(f"the engine failed: {event.reason}")
                if isinstance(event, kind) and all(getattr(event, k) == v for k, v in wanted.items()):
                    return event
            seen = len(events)
            time.sleep(0.02)
        raise TimeoutError(kind.__name__)

    session.start()
    result: dict[str, Any] = {"modes": {}}
    try:
        ready: EngineReady = wait(EngineReady)
        for mode in given.modes.split(","):
            events.clear()
            session.send(SetMode(mode))
            wait(ModeEntered, mode=mode)
            events.clear()
            until = time.monotonic() + given.seconds
            while time.monotonic() < until:
                session.pump()
                time.sleep(0.05)
            half = events[len(events) // 2].t_ns
            samples = [e for e in events if isinstance(e, GpuSample) and e.t_ns > half]
            walls = [t.wall_ns for e in events if isinstance(e, TokenBatch) for t in e.tokens]
            session.send(TakeProfile())
            window = wait(ProfileWindow, mode=mode, accepted=True)
            info = next((e for e in reversed(events) if isinstance(e, GpuInfo)), None)
            result["modes"][mode] = {
                "wall_ms": median(walls) / 1e6,
                "busy_ms": window.busy_ns / 1e6,
                "busy_pct": 100 * window.busy_ns / median(walls),
                "samples": len(samples),
                "missing": samples[-1].missing if samples else None,
                **{
                    name: fmean(values)
                    if (values := [v for s in samples if (v := getattr(s, name)) is not None])
                    else None
                    for name in FIELDS
                },
            }
            print(mode, json.dumps(result["modes"][mode]), flush=True)
        snapshot = session.snapshot(time.perf_counter_ns())
        info = snapshot.gpu_info
        result["gpu"] = msgspec.to_builtins(info)
        spec = info.spec_bytes_per_s if info else None
        graph = result["modes"].get("graph")
        if spec and graph:
            repeated = 172_032 * ready.cache_len
            moved = ready.weight_bytes + repeated
            graph["arithmetic_dram_pct"] = 100 * moved / (graph["wall_ms"] / 1e3) / spec
            graph["arithmetic_weights_only_pct"] = 100 * ready.weight_bytes / (graph["wall_ms"] / 1e3) / spec
            print("graph", json.dumps(graph), flush=True)
    finally:
        session.close()
        given.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
