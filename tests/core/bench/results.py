"""Results made to measure: exactly the samples that a test needs."""

from collections.abc import Sequence

import msgspec

from idlegap.core.bench.schema import Arm, BenchResult, Columns, Conditions, Environment, Run
from idlegap.core.protocol.events import Bandwidth, GpuInfo, HostInfo, ProfileWindow, Verified
from idlegap.core.protocol.modes import ModeName
from tests.core.bench.fake_engine import H200, READY

MS = 1_000_000
RUN_TOKENS = 20

HOST = HostInfo(
    0, "Intel(R) Xeon(R) Platinum 8480+", 16, tuple(range(16)), 16.0, 137_000_000_000, virtualization="VM"
)
GPU = GpuInfo(
    0, "NVIDIA H200", "GPU-1", "580.159", 141_000_000_000, 6016, 3201, 1980, 700_000, 5, 16, ecc=True
)


def columns(
    walls_ms: Sequence[float],
    dispatch_ms: float | None = None,
    delays_ms: Sequence[float] | None = None,
    excluded: tuple[int, ...] = (),
) -> Columns:
    """Tokens one after the other; without `dispatch_ms` dispatch is the whole token."""
    walls = [round(wall * MS) for wall in walls_ms]
    starts = [sum(walls[:index]) for index in range(len(walls))]
    dispatch = [min(wall, round((wall / MS if dispatch_ms is None else dispatch_ms) * MS)) for wall in walls]
    delays = None if delays_ms is None else tuple(round(delay * MS) for delay in delays_ms)
    return Columns(tuple(starts), tuple(walls), tuple(dispatch), run_delay_ns=delays, excluded=excluded)


def run(turn: int, tokens: Columns, *, prefill_ms: float = 30.0, **changes: object) -> Run:
    """A complete run; turn 0 is the warm-up."""
    made = Run(
        turn=turn,
        warm_up=turn == 0,
        started_ns=turn * 1000 * MS,
        prefill_ns=round(prefill_ms * MS),
        tokens=tokens,
        conditions=Conditions(),
        peak_memory_bytes=3_210_000_000,
    )
    return msgspec.structs.replace(made, **changes)


def window(mode: ModeName, **changes: object) -> ProfileWindow:
    """An accepted window with the figures of a real H200."""
    cost = H200[mode]
    made = ProfileWindow(
        0,
        mode,
        4,
        accepted=True,
        busy_ns=round(cost.busy * MS),
        kernels=cost.kernels,
        launch_latency_ns=round(cost.latency * MS),
        device_gap_ns=round(cost.gap * MS),
    )
    return msgspec.structs.replace(made, **changes)


def arm(mode: ModeName, medians_ms: Sequence[float] | None = None, **changes: object) -> Arm:
    """An arm whose counted runs have these token times, all equal within a run."""
    cost = H200[mode]
    levels = [cost.wall] * 5 if medians_ms is None else medians_ms
    runs = [
        run(turn, columns([level] * RUN_TOKENS, level * cost.dispatch / cost.wall))
        for turn, level in enumerate([levels[0] * 2, *levels])
    ]
    made = Arm(
        mode,
        mode,
        windows=(window(mode),),
        verified=Verified(0, mode, 255, 255, 0.0142, 255, 0.0134, flagged=False),
        runs=tuple(runs),
    )
    return msgspec.structs.replace(made, **changes)


def bench(*arms: Arm, **changes: object) -> BenchResult:
    """A complete result of these arms (default: eager-static and graph) on an H200."""
    made = BenchResult(
        created="2026-11-29T12:00:00+00:00",
        complete=True,
        reason="",
        engine=READY,
        host=HOST,
        gpu=GPU,
        bandwidth=Bandwidth(0, 4.272e12, 3.9e12),
        environment=Environment(idlegap="0.1.0", revision="abc", load_before=0.5, load_after=0.6),
        arms=arms or (arm("eager-static"), arm("graph")),
    )
    return msgspec.structs.replace(made, **changes)
