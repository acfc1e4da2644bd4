"""Snapshots as a session would draw them, with the figures of a real H200."""

import random
from collections.abc import Collection
from dataclasses import replace

import msgspec

from idlegap.core.measure.cpu_time import CpuWork
from idlegap.core.measure.device_time import Split
from idlegap.core.measure.roofline import Ceiling
from idlegap.core.protocol.events import (
    Bandwidth,
    CgroupSample,
    CpuSample,
    EngineFailed,
    EngineReady,
    GpuInfo,
    GpuSample,
    HostInfo,
    KernelTotal,
    ModeStatus,
    MonitorSample,
    ProfileWindow,
    Token,
    Verified,
)
from idlegap.core.protocol.modes import BASELINE, EAGER, MODES, ModeName
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.session.snapshot import (
    STRIP_BUCKET_NS,
    FromApp,
    HostChange,
    ModeView,
    Playback,
    Rate,
    RecordingView,
    Snapshot,
    StageView,
    Strip,
    StripColumn,
    StripMark,
    TokenPlace,
)
from idlegap.core.slow_tokens.causes import Cause, CauseTotal, Contention, RecentTokens
from idlegap.core.slow_tokens.explain import Share, SlowToken
from tests.ready import engine_ready

NOW_NS = 10_000 * STRIP_BUCKET_NS
MS = 1_000_000
BOUND_NS = 720_000
WEIGHT_BYTES = 3_087_428_608
TOP = (
    KernelTotal("ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn", 112, 1_480_000),
    KernelTotal("gemvNSP_kernel<__half, float, 128, 4>", 85, 902_000),
    KernelTotal("vectorized_elementwise_kernel<4, MulFunctor<c10::Half>>", 286, 401_000),
    KernelTotal("reduce_kernel<512, 1, MeanOps<float>>", 57, 188_000),
    KernelTotal("fmha_cutlassF_f16_aligned_64x128_rf_sm80", 28, 171_000),
    KernelTotal("CatArrayBatchedCopy_aligned16_contig", 56, 96_000),
    KernelTotal("direct_copy_kernel_cuda", 230, 301_000),
    KernelTotal("elementwise_kernel<128, 4, neg_kernel>", 56, 74_000),
)


FIGURES: dict[ModeName, tuple[float, float, float, float, float, int]] = {
    "eager": (21.6, 21.4, 3.61, 3.2, 0.2, 1403),
    "eager-static": (22.9, 22.8, 3.64, 3.3, 0.2, 1431),
    "graph": (4.18, 0.03, 3.74, 0.02, 0.40, 1431),
    "fused": (11.2, 11.1, 2.29, 1.1, 0.2, 593),
    "compiled": (3.36, 1.14, 2.30, 0.1, 0.2, 594),
    "fused-graph": (2.51, 0.2, 2.16, 0.05, 0.2, 483),
}
"""Wall, dispatch, device busy, launch latency and device gap in ms, and kernels per token. What is left of
the wall time is the host gap."""

THREE: tuple[ModeName, ...] = ("eager", "eager-static", "graph")


def wall_ns(mode: ModeName, slowness: float = 1.0) -> int:
    """A token of `mode`."""
    return round(FIGURES[mode][0] * MS * slowness)


def busy_ns(mode: ModeName) -> int:
    """Device busy of a token of `mode`, which a slow host does not change."""
    return round(FIGURES[mode][2] * MS)


def visited_view(view: ModeView, slowness: float, *, split: bool) -> ModeView:
    """`view` with the figures of its mode; a slower host makes the host gap longer."""
    wall, dispatch_ns = wall_ns(view.name, slowness), round(FIGURES[view.name][1] * MS * slowness)
    busy, kernels = busy_ns(view.name), FIGURES[view.name][5]
    launch_ns, device_ns = (round(ms * MS) for ms in FIGURES[view.name][3:5])
    view = replace(
        view,
        tokens=512,
        wall_ns=wall,
        p99_ns=round(wall * 1.02),
        dispatch_ns=dispatch_ns,
        wait_ns=wall - dispatch_ns,
        prefill_ns=round(31.4 * MS * slowness),
    )
    if not split:
        return replace(view, split_reason=because("no-window-yet"))
    host_ns = max(0, wall - busy - launch_ns - device_ns)
    return replace(
        view,
        split=Split(BOUND_NS, busy - BOUND_NS, launch_ns, device_ns, host_ns),
        profile=ProfileWindow(
            NOW_NS,
            mode=view.name,
            steps=4,
            accepted=True,
            busy_ns=busy,
            busy_sum_ns=round(busy * 1.01),
            kernels=kernels,
            copies=2,
            fills=1,
            copy_ns=8_000,
            pause_ns=310 * MS,
            top=TOP,
        ),
    )


def mode_views(
    visited: Collection[ModeName],
    current: ModeName | None,
    refused: dict[ModeName, Reason] | None = None,
    *,
    splits: bool = True,
    slowness: float = 1.0,
    slowed: Collection[ModeName] = tuple(FIGURES),
) -> tuple[ModeView, ...]:
    """All modes; the `visited` ones with figures, those of `slowed` modes `slowness` times the H200's."""
    views = []
    for spec in MODES:
        view = ModeView(
            spec.key, spec.name, spec.summary, (refused or {}).get(spec.name), current=spec.name == current
        )
        if spec.name in visited:
            view = visited_view(view, slowness if spec.name in slowed else 1.0, split=splits)
        views.append(view)
    base = next((view.wall_ns for view in views if view.name == BASELINE), None)
    return tuple(
        replace(view, speedup=base / view.wall_ns) if base is not None and view.wall_ns is not None else view
        for view in views
    )


def strip(phases: list[tuple[ModeName, int]], *, slowness: float = 1.0, seed: int = 7) -> Strip:
    """`phases` of a mode and its number of buckets, the last one ending now."""
    draw = random.Random(seed)
    bucket = NOW_NS // STRIP_BUCKET_NS - sum(n for _, n in phases)
    columns, marks = [], []
    for i, (name, n) in enumerate(phases):
        if i:
            marks.append(StripMark(bucket, name))
        typical_ns = wall_ns(name, slowness)
        for _ in range(n):
            median_ns = round(typical_ns * draw.uniform(0.94, 1.08 if typical_ns > 8 * MS else 1.0))
            slow = draw.random() < 0.03
            longest_ns = round(median_ns * (1.25 if slow else draw.uniform(1.0, 1.1)))
            columns.append(StripColumn(bucket, name, median_ns, longest_ns, 11, int(slow)))
            bucket += 1
    return Strip(NOW_NS // STRIP_BUCKET_NS, tuple(columns), tuple(marks))


def engine(**changes: object) -> EngineReady:
    """The default model on an H200."""
    ours = {
        "t_ns": NOW_NS - 60_000 * MS,
        "pid": 4242,
        "tid": 4243,
        "device_uuid": "6a0e0c1a-0000-0000-0000-000000000000",
        "weight_bytes": WEIGHT_BYTES,
        "modes": tuple(ModeStatus(spec.name) for spec in MODES),
        "torch": "2.13.0+cu130",
        "transformers": "5.24.0",
    }
    return engine_ready(**(ours | changes))


HOST = HostInfo(
    NOW_NS,
    cpu_model="Intel(R) Xeon(R) Platinum 8468",
    cores=16,
    affinity=tuple(range(16)),
    usable_cores=16.0,
    memory_bytes=256 * 10**9,
    virtualization="kvm",
    kernel="6.8.0",
)
CPU = CpuSample(
    NOW_NS,
    core_pct=(4.0, 2.0, 12.0, 98.0, 1.0, 3.0, 2.0, 1.0, 22.0, 4.0, 2.0, 1.0, 3.0, 2.0, 1.0, 5.0),
    engine_pct=99.0,
    monitor_pct=3.1,
    others_pct=12.4,
    steal_pct=0.0,
    decode_core=3,
    load_1m=1.4,
    core_mhz=3_800.0,
)
CGROUP = CgroupSample(
    NOW_NS,
    cgroup_pressure_us=700,
    system_pressure_us=900,
    throttled=None,
    throttled_ns=None,
    interval_ns=250 * MS,
    missing={"quota_cores": because("no-quota")},
)
GPU_INFO = GpuInfo(
    NOW_NS,
    name="NVIDIA H200",
    uuid="GPU-6a0e0c1a-0000-0000-0000-000000000000",
    driver="580.159",
    memory_bytes=141 * 10**9,
    bus_width_bits=6016,
    max_memory_mhz=3201,
    max_sm_mhz=1980,
    power_limit_mw=700_000,
)
GPU_EAGER = GpuSample(
    NOW_NS,
    util_pct=17.0,
    memory_used_bytes=3_300_000_000,
    power_mw=141_000,
    sm_mhz=1980,
    memory_mhz=3201,
    temperature_c=37,
    event_reasons=0,
    gpm_graphics_pct=19.0,
    gpm_sm_pct=3.9,
    gpm_dram_pct=2.4,
    call_ns=400_000,
)
GPU_GRAPH = msgspec.structs.replace(
    GPU_EAGER, util_pct=99.0, power_mw=212_000, temperature_c=41, gpm_graphics_pct=96.2, gpm_sm_pct=24.9,
    gpm_dram_pct=15.7,
)  # fmt: skip
MONITOR = MonitorSample(NOW_NS, cpu_pct=1.3, frame_ns=3_100_000, bytes_per_s=2_340.0, frames_per_s=4.0)
BANDWIDTH = Bandwidth(NOW_NS, copy_bytes_per_s=4.29e12, read_bytes_per_s=4.1e12, buffer_bytes=4 << 30)
NO_NVML = GpuInfo(NOW_NS, name=None, uuid=None, missing={"nvml": because("no-driver")})
NEEDS_CUDA = because("needs-cuda")
ON_CPU = {"device": "cpu", "device_name": "CPU", "device_uuid": None}


def ceiling(mode: ModeName) -> Ceiling:
    """What `mode` reaches of the H200's bandwidth."""
    per_s = WEIGHT_BYTES * 1e9 / wall_ns(mode)
    return Ceiling(BOUND_NS, 4.814e12, "NVML", per_s / 4.814e12, per_s / 4.29e12, BANDWIDTH)


def rate(mode: ModeName, slowness: float = 1.0) -> Rate:
    """The speed of `mode`."""
    token_ns = wall_ns(mode, slowness)
    return Rate(1e9 / token_ns, token_ns, token_ns, round(token_ns * 1.012), 96)


def recent(mode: ModeName, run_delay_ns: int, slowness: float = 1.0) -> RecentTokens:
    """The last two seconds of `mode`."""
    token_ns = wall_ns(mode, slowness)
    return RecentTokens(2_000 * MS // token_ns, token_ns, run_delay_ns)


def decoding(
    mode: ModeName,
    visited: Collection[ModeName],
    phases: list[tuple[ModeName, int]],
    *,
    slowness: float = 1.0,
    slowed: Collection[ModeName] = tuple(FIGURES),
    refused: dict[ModeName, Reason] | None = None,
    splits: bool = True,
    **facts: object,
) -> Snapshot:
    """`mode` decodes on an H200 after the `phases` of `strip`; `facts` replace what follows from that.

    The host of `slowed` modes was `slowness` times slower. Without `splits` nothing is profiled yet.
    """
    history = strip(phases, slowness=slowness)
    if splits:
        history = replace(history, busy_ns=busy_ns(mode), bound_ns=BOUND_NS)
    spins = mode in EAGER  # CPU time says something where the thread submits all the time
    snap = Snapshot(
        NOW_NS,
        StageView("decoding", "", None, NOW_NS - 30_000 * MS),
        engine=engine(),
        mode=mode,
        modes=mode_views(visited, mode, refused, splits=splits, slowness=slowness, slowed=slowed),
        rate=rate(mode, slowness),
        strip=history,
        ceiling=ceiling(mode) if splits else None,
        recent=recent(mode, 21_000, slowness),
        cpu_work=CpuWork(wall_ns(mode) - 30_000, wall_ns(mode) - 400_000, slow=False) if spins else None,
        cpu_work_reason="" if spins else because("waits-for-gpu"),
        host=HOST,
        cpu=CPU,
        cgroup=CGROUP,
        gpu_info=GPU_INFO,
        gpu=GPU_EAGER if spins else GPU_GRAPH,
        monitor=MONITOR,
    )
    return replace(snap, **facts)  # type: ignore[arg-type]


def loading() -> Snapshot:
    """The model is being downloaded, a third is here."""
    return Snapshot(
        NOW_NS,
        StageView(
            "downloading", "Qwen/Qwen2.5-1.5B: model.safetensors, 1.0 of 3.1 GB", 0.33, NOW_NS - 12_400 * MS
        ),
        host=HOST,
        cpu=CPU,
        cgroup=CGROUP,
        gpu_info=GPU_INFO,
        gpu=GPU_EAGER,
    )


def eager_only() -> Snapshot:
    """The first tokens of eager-static, nothing profiled yet."""
    return decoding(
        "eager-static",
        ("eager-static",),
        [("eager-static", 34)],
        splits=False,
    )


def eager_and_graph() -> Snapshot:
    """The scene of the design's sketch: three modes visited, the graph decodes."""
    return decoding(
        "graph",
        THREE,
        [("eager", 10), ("eager-static", 46), ("graph", 38)],
    )


def six_modes() -> Snapshot:
    """Every mode visited, tokens compared, real weights with text."""
    verified = Verified(NOW_NS, "graph", 255, 255, 0.0144, 255, 0.0134, flagged=False)
    snap = decoding(
        "fused-graph",
        FIGURES,
        [("graph", 40), ("compiled", 40), ("fused-graph", 30)],
        engine=engine(model="Qwen/Qwen2.5-1.5B", random_weights=False),
        text="The lighthouse keeper had counted ships for thirty years, and on the last evening of "
        "the season he counted one more than had ever left the harbour. He wrote it down, as he always "
        "did, and put the pencil back into its tin. Then he climbed the stairs to look again, because a "
        "number that cannot be explained is the beginning of a story",
    )
    return with_view(snap, "graph", verified=verified)


def with_view(snap: Snapshot, mode: ModeName, **changes: object) -> Snapshot:
    """`snap` with `changes` to the row of `mode`."""
    views = (replace(v, **changes) if v.name == mode else v for v in snap.modes)  # type: ignore[arg-type]
    return replace(snap, modes=tuple(views))


NO_COMPILER = "InductorError: RuntimeError: Failed to find C compiler. Please specify via CC"


def unavailable_modes() -> Snapshot:
    """A GPU on which nothing can be compiled."""
    refused: dict[ModeName, Reason] = dict.fromkeys(
        ("fused", "compiled", "fused-graph"), because("compilation-failed", detail=NO_COMPILER)
    )
    return replace(
        eager_and_graph(),
        modes=mode_views(("eager-static", "graph"), "graph", refused),
        notice=f"compiled: compilation failed: {NO_COMPILER}",
    )


def no_gpu() -> Snapshot:
    """A laptop: the tiny model on the CPU, GPU panels say why they are empty."""
    refused: dict[ModeName, Reason] = dict.fromkeys(("graph", "fused", "compiled", "fused-graph"), NEEDS_CUDA)
    laptop = {"cores": 2, "usable_cores": 1.5, "cpu_model": "AMD Ryzen 7 7840U", "virtualization": None}
    snap = decoding(
        "eager-static",
        ("eager", "eager-static"),
        [("eager", 20), ("eager-static", 30)],
        slowness=0.09,
        refused=refused,
        splits=False,
        engine=engine(model="synthetic:tiny", dtype="float32", cuda=None, **ON_CPU),
        cpu_work=None,
        cpu_work_reason=because("cpu-computes"),
        host=msgspec.structs.replace(HOST, **laptop),
        cpu=CpuSample(
            NOW_NS,
            core_pct=(31.0, 97.0),
            others_pct=22.0,
            decode_core=1,
            missing={"steal_pct": because("first-reading")},
        ),
        cgroup=CgroupSample(
            NOW_NS,
            quota_cores=1.5,
            throttled=2,
            throttled_ns=31 * MS,
            interval_ns=250 * MS,
            missing={"system_pressure_us": because("no-psi")},
        ),
        gpu_info=NO_NVML,
        gpu=None,
    )
    views = (replace(v, split_reason=NEEDS_CUDA) if v.visited else v for v in snap.modes)
    return replace(snap, modes=tuple(views))


def halted(stage: StageView, **facts: object) -> Snapshot:
    """The graph has decoded; now nothing does."""
    return replace(  # type: ignore[arg-type]
        eager_and_graph(), stage=stage, recent=None, cpu_work_reason="", halted=True, **facts
    )


def failed() -> Snapshot:
    """The engine was killed in the middle of graph decoding."""
    tail = (
        "loading synthetic:qwen2.5-1.5b on cuda:0",
        "captured graph in 0.11 s",
        "terminate called after throwing an instance of 'c10::AcceleratorError'",
        "  what():  CUDA error: device-side assert triggered",
    )
    return halted(
        StageView("failed", "", None, NOW_NS - 2_000 * MS),
        failed=EngineFailed(
            NOW_NS,
            "the engine process ended by itself: signal 6 (SIGABRT)",
            hint="its log: ~/.local/state/idlegap/log/engine-4242.log",
            log_tail=tail,
        ),
    )


def compiling() -> Snapshot:
    """The graph has decoded; now a mode is compiled, and nothing decodes."""
    idle = dict.fromkeys(("util_pct", "gpm_graphics_pct", "gpm_sm_pct", "gpm_dram_pct"), 0.0)
    return halted(
        StageView("compiling", "inductor kernels, launched one by one", None, NOW_NS - 15_000 * MS),
        gpu=msgspec.structs.replace(GPU_GRAPH, **idle),
    )


SLOW = tuple(
    SlowToken(mode, 3, token, NOW_NS - ago_ms * MS, wall_ns, excess_ns, (Share(cause, excess_ns, evidence),))
    for mode, token, ago_ms, wall_ns, excess_ns, cause, evidence in (
        ("eager-static", 1204, 1_200, 41_300_000, 18_900_000, "neighbour",
         "the decode thread waited 17.6 ms for a CPU; core 3 was 97 % busy, others used 3.0 cores"),
        ("eager-static", 1187, 3_000, 33_000_000, 10_100_000, "more cpu",
         "the same work took 9.8 ms more CPU time; others used 3.0 cores meanwhile"),
        ("graph", 41, 61_000, 6_200_000, 2_000_000, "unexplained",
         "unexplained: no reading accounts for it"),
    )
)  # fmt: skip
SHARES = (
    CauseTotal("neighbour", 912 * MS, 51),
    CauseTotal("more cpu", 210 * MS, 12),
    CauseTotal("unexplained", 9 * MS, 1),
)


def contended() -> Snapshot:
    """Three neighbours of our own making slow eager decoding down, while it is being recorded."""
    snap = decoding(
        "eager-static",
        THREE,
        [("graph", 30), ("eager-static", 24), ("eager-static", 20)],
        recent=recent("eager-static", 9_850_000),
        slow=SLOW,
        slow_shares=SHARES,
        threshold_ns=25_200_000,
        contention=Contention("neighbour", share=0.43, cores=3.0),
        neighbours=3,
        app=FromApp(recording=RecordingView("idlegap-20261129-221503.jsonl.gz", 1_240_000)),
    )
    causes: tuple[Cause, ...] = ("neighbour", "more cpu", "quota", "blocked")
    columns = list(snap.strip.columns)
    last = len(columns) - 1
    for cause, at in zip(causes, range(last - 18, last, 5), strict=False):
        columns[at] = replace(columns[at], slow=2, max_ns=29_300_000, cause=cause)
    marks = (snap.strip.marks[0], StripMark(columns[last - 19].bucket, "+3 neighbours"))
    return replace(snap, strip=replace(snap.strip, columns=tuple(columns), marks=marks))


def slow_host() -> Snapshot:
    """Eager-static decodes on a host that has become twice as slow under it; no counter says why."""
    snap = decoding(
        "eager-static",
        ("eager-static",),
        [("eager-static", 20)],
        slowness=2.0,
        recent=recent("eager-static", 0, 2.0),
        cpu_work=CpuWork(45_700_000, 22_500_000, slow=True),
    )
    before = strip([("eager-static", 34)]).columns
    columns = [replace(column, bucket=column.bucket - 20) for column in before]
    return replace(snap, strip=replace(snap.strip, columns=(*columns, *snap.strip.columns)))


def host_changed() -> Snapshot:
    """Eager decodes on a host that has become three times slower since eager-static was seen."""
    text = (
        "To submit a kernel the host took 45.8 µs in eager, 15.9 in eager-static, without waiting for a "
        "CPU: it changed speed; visit both again to compare."
    )
    change = HostChange(("eager", "eager-static"), NOW_NS - 6_000 * MS, NOW_NS - 4_000 * MS, text)
    return decoding(
        "eager",
        THREE,
        [("eager", 60)],
        slowness=3.0,
        slowed=("eager",),
        host_changes=(change,),
    )


def first_round() -> Snapshot:
    """Eager meets its cache lengths for the first time, after eager-static and the graph."""
    snap = decoding(
        "eager",
        THREE,
        [("eager", 60)],
        slowness=3.6,
        slowed=("eager",),
        recent=recent("eager", 0, 3.6),
        cpu_work=None,
        cpu_work_reason=because("new-lengths"),
        at_new_length=True,
    )
    return with_view(snap, "eager", tokens=0, first_round=True, speedup=None)


def replayed() -> Snapshot:
    """The scene of the sketch, replayed, at a token that was stepped to."""
    return replace(
        eager_and_graph(),
        playback=Playback(
            position_ns=65_000 * MS,
            length_ns=150_000 * MS,
            speed=4.0,
            playing=False,
            switches_ns=(20_000 * MS, 61_000 * MS, 110_000 * MS),
            token=TokenPlace("eager-static", 3, 1_204, Token(0, 0, 4_180_000), None, 0),
        ),
    )


def unsupported() -> Snapshot:
    """A CUDA device was asked for and there is none."""
    return Snapshot(
        NOW_NS,
        StageView("failed", "", None, NOW_NS),
        failed=EngineFailed(
            NOW_NS,
            "--device cuda: torch finds no CUDA device",
            unsupported=True,
            hint="looked for: driver libcuda.so.1 (absent); --device cpu would run a small model",
        ),
    )


def slideshow() -> list[Snapshot]:
    """Scenes that follow each other from one frame to the next and end as `eager_and_graph`."""
    last = eager_and_graph()
    return [
        loading(),
        last,
        replace(last, mode="eager-static", rate=rate("eager-static"), gpu=GPU_EAGER),
        replace(last, modes=mode_views(("eager", "graph"), "graph", slowness=0.98), notice="A notice."),
        failed(),
        replace(last, paused=True, cpu=None, cgroup=None, gpu=None, monitor=None),
        replace(last, text="Some text, for a while only."),
        last,
    ]


SCENES = {
    scene.__name__.replace("_", "-"): scene
    for scene in (
        loading, eager_only, eager_and_graph, six_modes, unavailable_modes, no_gpu, compiling, failed,
        contended, replayed, host_changed, first_round, slow_host,
    )
}  # fmt: skip
