"""Snapshots as a session would draw them, with the figures of a real H200."""

import random
from dataclasses import replace

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
    Verified,
)
from idlegap.core.protocol.modes import BASELINE, EAGER, MODES, ModeName
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.session.snapshot import (
    STRIP_BUCKET_NS,
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
)
from idlegap.core.slow_tokens.causes import Cause, CauseTotal, RecentTokens, SlowView
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


def split(busy_ms: float, launch_ms: float, device_ms: float, host_ms: float) -> Split:
    """The parts of a token in ms; the bound is the H200's."""
    return Split(
        BOUND_NS,
        round(busy_ms * MS) - BOUND_NS,
        round(launch_ms * MS),
        round(device_ms * MS),
        round(host_ms * MS),
    )


def profile(name: ModeName, busy_ms: float, kernels: int) -> ProfileWindow:
    """An accepted window with the largest kernels of the model."""
    return ProfileWindow(
        NOW_NS,
        mode=name,
        steps=4,
        accepted=True,
        busy_ns=round(busy_ms * MS),
        busy_sum_ns=round(busy_ms * MS * 1.01),
        kernels=kernels,
        copies=2,
        fills=1,
        copy_ns=8_000,
        pause_ns=310 * MS,
        top=TOP,
    )


FIGURES: dict[ModeName, tuple[float, float, Split, int]] = {
    "eager": (21.6, 21.4, split(3.61, 3.2, 0.2, 14.59), 1403),
    "eager-static": (22.9, 22.8, split(3.64, 3.3, 0.2, 15.76), 1431),
    "graph": (4.18, 0.03, split(3.74, 0.02, 0.40, 0.02), 1431),
    "fused": (11.2, 11.1, split(2.29, 1.1, 0.2, 7.61), 593),
    "compiled": (3.36, 1.14, split(2.30, 0.1, 0.2, 0.76), 594),
    "fused-graph": (2.51, 0.2, split(2.16, 0.05, 0.2, 0.1), 483),
}
"""Wall and dispatch in ms, the split, and kernels per token."""


def mode_views(
    visited: tuple[ModeName, ...],
    current: ModeName | None,
    refused: dict[ModeName, Reason] | None = None,
    *,
    splits: bool = True,
    slowness: float = 1.0,
) -> tuple[ModeView, ...]:
    """All modes; the `visited` ones with figures, `slowness` times those of the H200."""
    views = []
    base_ms = FIGURES[BASELINE][0]
    for spec in MODES:
        view = ModeView(spec.key, spec.name, spec.summary, (refused or {}).get(spec.name))
        if spec.name in visited:
            wall_ms, dispatch_ms, parts, kernels = FIGURES[spec.name]
            wall_ns, dispatch_ns = round(wall_ms * MS * slowness), round(dispatch_ms * MS * slowness)
            view = replace(
                view,
                tokens=512,
                wall_ns=wall_ns,
                p99_ns=round(wall_ns * 1.02),
                dispatch_ns=dispatch_ns,
                wait_ns=wall_ns - dispatch_ns,
                prefill_ns=round(31.4 * MS * slowness),
                speedup=base_ms / wall_ms if BASELINE in visited else None,
                split=parts if splits else None,
                split_reason="" if splits else because("no-window-yet"),
                profile=profile(spec.name, parts.busy_ns / MS, kernels) if splits else None,
            )
        views.append(replace(view, current=spec.name == current))
    return tuple(views)


def strip(phases: list[tuple[ModeName, int]], *, slowness: float = 1.0, seed: int = 7) -> Strip:
    """`phases` of a mode and its number of buckets, the last one ending now."""
    draw = random.Random(seed)
    bucket = NOW_NS // STRIP_BUCKET_NS - sum(n for _, n in phases)
    columns, marks = [], []
    for i, (name, n) in enumerate(phases):
        if i:
            marks.append(StripMark(bucket, name))
        for _ in range(n):
            wall_ns = FIGURES[name][0] * MS * slowness
            median_ns = round(wall_ns * draw.uniform(0.94, 1.08 if wall_ns > 8 * MS else 1.0))
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
GPU_GRAPH = GpuSample(
    NOW_NS,
    util_pct=99.0,
    memory_used_bytes=3_300_000_000,
    power_mw=212_000,
    sm_mhz=1980,
    memory_mhz=3201,
    temperature_c=41,
    event_reasons=0,
    gpm_graphics_pct=96.2,
    gpm_sm_pct=24.9,
    gpm_dram_pct=15.7,
    call_ns=400_000,
)
MONITOR = MonitorSample(NOW_NS, cpu_pct=1.3, frame_ns=3_100_000, bytes_per_s=2_340.0, frames_per_s=4.0)
BANDWIDTH = Bandwidth(NOW_NS, copy_bytes_per_s=4.29e12, read_bytes_per_s=4.1e12, buffer_bytes=4 << 30)
NO_NVML = GpuInfo(NOW_NS, name=None, uuid=None, missing={"nvml": because("no-driver")})
NEEDS_CUDA = because("needs-cuda")


def ceiling(mode: ModeName) -> Ceiling:
    """What `mode` reaches of the H200's bandwidth."""
    per_s = WEIGHT_BYTES / (FIGURES[mode][0] * 1e-3)
    return Ceiling(BOUND_NS, 4.814e12, "NVML", per_s / 4.814e12, per_s / 4.29e12, BANDWIDTH)


def rate(mode: ModeName, slowness: float = 1.0) -> Rate:
    """The speed of `mode`."""
    wall_ns = round(FIGURES[mode][0] * MS * slowness)
    return Rate(1e9 / wall_ns, wall_ns, wall_ns, round(wall_ns * 1.012), 96)


def recent(mode: ModeName, run_delay_ns: int) -> RecentTokens:
    """The last two seconds of `mode`."""
    wall_ns = round(FIGURES[mode][0] * MS)
    return RecentTokens(2_000 * MS // wall_ns, wall_ns, run_delay_ns)


def cpu_work(mode: ModeName) -> CpuWork | None:
    """CPU time of the decode thread in `mode`, where it submits all the time."""
    wall_ns = round(FIGURES[mode][0] * MS)
    return CpuWork(wall_ns - 30_000, wall_ns - 400_000, slow=False) if mode in EAGER else None


def _live(mode: ModeName) -> Snapshot:
    return Snapshot(
        NOW_NS,
        StageView("decoding", "", None, NOW_NS - 30_000 * MS),
        engine=engine(),
        mode=mode,
        rate=rate(mode),
        recent=recent(mode, 21_000),
        cpu_work=cpu_work(mode),
        cpu_work_reason="" if mode in EAGER else because("waits-for-gpu"),
        host=HOST,
        cpu=CPU,
        cgroup=CGROUP,
        gpu_info=GPU_INFO,
        gpu=GPU_GRAPH if mode == "graph" else GPU_EAGER,
        monitor=MONITOR,
    )


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
    return replace(
        _live("eager-static"),
        modes=mode_views(("eager-static",), "eager-static", splits=False),
        strip=strip([("eager-static", 34)]),
        sentence="The host needs 22.8 of each 22.9 ms to submit a token: the GPU waits for the CPU, "
        "and a faster GPU would not help.",
    )


def eager_and_graph() -> Snapshot:
    """The scene of the design's sketch: three modes visited, the graph decodes."""
    picture = strip([("eager", 10), ("eager-static", 46), ("graph", 38)])
    return replace(
        _live("graph"),
        modes=mode_views(("eager", "eager-static", "graph"), "graph"),
        strip=replace(picture, busy_ns=3_740_000, bound_ns=BOUND_NS),
        ceiling=ceiling("graph"),
        sentence="The host submits once per token; what is left is 0.5 µs between 1,431 kernels. "
        "The GPU computes 3.74 of each 4.18 ms.",
    )


def six_modes() -> Snapshot:
    """Every mode visited, tokens compared, real weights with text."""
    snap = eager_and_graph()
    verified = Verified(NOW_NS, "graph", 255, 255, 0.0144, 255, 0.0134, flagged=False)
    views = mode_views(tuple(FIGURES), "fused-graph")
    views = tuple(replace(v, verified=verified) if v.name == "graph" else v for v in views)
    picture = strip([("graph", 40), ("compiled", 40), ("fused-graph", 30)])
    return replace(
        snap,
        engine=engine(model="Qwen/Qwen2.5-1.5B", random_weights=False),
        mode="fused-graph",
        modes=views,
        rate=rate("fused-graph"),
        strip=replace(picture, busy_ns=2_160_000, bound_ns=BOUND_NS),
        ceiling=ceiling("fused-graph"),
        sentence="Inductor's kernels in one graph: 483 kernels, 2.16 of each 2.51 ms computing.",
        text="The lighthouse keeper had counted ships for thirty years, and on the last evening of "
        "the season he counted one more than had ever left the harbour. He wrote it down, as he always "
        "did, and put the pencil back into its tin. Then he climbed the stairs to look again, because a "
        "number that cannot be explained is the beginning of a story",
    )


NO_COMPILER = "InductorError: RuntimeError: Failed to find C compiler. Please specify via CC"


def unavailable_modes() -> Snapshot:
    """A GPU on which nothing can be compiled."""
    refused: dict[ModeName, Reason] = dict.fromkeys(
        ("fused", "compiled", "fused-graph"), because("compilation-failed", detail=NO_COMPILER)
    )
    snap = eager_and_graph()
    return replace(
        snap,
        modes=mode_views(("eager-static", "graph"), "graph", refused),
        notice=f"compiled: compilation failed: {NO_COMPILER}",
    )


def no_gpu() -> Snapshot:
    """A laptop: the tiny model on the CPU, GPU panels say why they are empty."""
    refused: dict[ModeName, Reason] = dict.fromkeys(("graph", "fused", "compiled", "fused-graph"), NEEDS_CUDA)
    views = mode_views(("eager", "eager-static"), "eager-static", refused, splits=False, slowness=0.09)
    views = tuple(replace(v, split_reason=NEEDS_CUDA) if v.visited else v for v in views)
    cpu = CpuSample(
        NOW_NS,
        core_pct=(31.0, 97.0),
        others_pct=22.0,
        decode_core=1,
        missing={"steal_pct": because("first-reading")},
    )
    return replace(
        _live("eager-static"),
        engine=engine(
            model="synthetic:tiny",
            device="cpu",
            device_name="CPU",
            dtype="float32",
            device_uuid=None,
            cuda=None,
        ),
        modes=views,
        rate=rate("eager-static", 0.09),
        cpu_work=None,
        cpu_work_reason=because("cpu-computes"),
        strip=strip([("eager", 20), ("eager-static", 30)], slowness=0.09),
        host=replace_host(cores=2, usable_cores=1.5, cpu_model="AMD Ryzen 7 7840U", virtualization=None),
        cpu=cpu,
        cgroup=CgroupSample(NOW_NS, quota_cores=1.5, throttled=2, throttled_ns=31 * MS, interval_ns=250 * MS,
                            missing={"system_pressure_us": because("no-psi")}),
        gpu_info=NO_NVML,
        gpu=None,
        sentence="No GPU here: the CPU decodes a tiny model, 2.06 ms a token, and its two cores are shared.",
    )  # fmt: skip


def failed() -> Snapshot:
    """The engine was killed in the middle of graph decoding."""
    snap = eager_and_graph()
    tail = (
        "loading synthetic:qwen2.5-1.5b on cuda:0",
        "captured graph in 0.11 s",
        "terminate called after throwing an instance of 'c10::AcceleratorError'",
        "  what():  CUDA error: device-side assert triggered",
    )
    return replace(
        snap,
        stage=StageView("failed", "", None, NOW_NS - 2_000 * MS),
        recent=None,
        cpu_work_reason="",
        halted=True,
        failed=EngineFailed(
            NOW_NS,
            "the engine process ended by itself: signal 6 (SIGABRT)",
            hint="its log: ~/.local/state/idlegap/log/engine-4242.log",
            log_tail=tail,
        ),
        sentence="",
    )


SLOW = (
    SlowView(1204, 3, "eager-static", 41_300_000, 18_900_000, "neighbour",
             "token 3/1,204: 41.3 ms, +18.9 ms: the decode thread waited 17.6 ms for a CPU; core 3 was 97 % "
             "busy, others used 3.0 cores", NOW_NS - 1_200 * MS),
    SlowView(1187, 3, "eager-static", 33_000_000, 10_100_000, "more cpu",
             "token 3/1,187: 33.0 ms, +10.1 ms: the same work took 9.8 ms more CPU time; others used 3.0 "
             "cores meanwhile", NOW_NS - 3_000 * MS),
    SlowView(41, 3, "graph", 6_200_000, 2_000_000, "unexplained",
             "token 3/41: 6.2 ms, +2.0 ms: unexplained: no reading accounts for it", NOW_NS - 61_000 * MS),
)  # fmt: skip
SHARES = (
    CauseTotal("neighbour", 912 * MS, 51),
    CauseTotal("more cpu", 210 * MS, 12),
    CauseTotal("unexplained", 9 * MS, 1),
)


def contended() -> Snapshot:
    """Three neighbours of our own making slow eager decoding down, while it is being recorded."""
    snap = eager_and_graph()
    picture = strip([("graph", 30), ("eager-static", 24), ("eager-static", 20)])
    causes: tuple[Cause, ...] = ("neighbour", "more cpu", "quota", "blocked")
    columns = list(picture.columns)
    last = len(columns) - 1
    for cause, at in zip(causes, range(last - 18, last, 5), strict=False):
        columns[at] = replace(columns[at], slow=2, max_ns=29_300_000, cause=cause)
    marks = (picture.marks[0], StripMark(columns[last - 19].bucket, "+3 neighbours"))
    return replace(
        snap,
        mode="eager-static",
        modes=mode_views(("eager", "eager-static", "graph"), "eager-static"),
        rate=rate("eager-static"),
        strip=replace(picture, columns=tuple(columns), marks=marks, busy_ns=3_640_000, bound_ns=BOUND_NS),
        recent=recent("eager-static", 9_850_000),
        cpu_work=cpu_work("eager-static"),
        cpu_work_reason="",
        sentence="Other programs use 3.0 cores: 9.8 of each 22.9 ms token go to waiting for a CPU; "
        "decode is on core 3.",
        slow=SLOW,
        slow_shares=SHARES,
        threshold_ns=25_200_000,
        contended="neighbour: waits 43 % for a CPU",
        advice="3 neighbours are of our own making: remove them to compare.",
        neighbours=3,
        recording=RecordingView("idlegap-20261129-221503.jsonl.gz", 1_240_000),
    )


def compiling() -> Snapshot:
    """The graph has decoded; now a mode is compiled, and nothing decodes."""
    return replace(
        eager_and_graph(),
        stage=StageView("compiling", "inductor kernels, launched one by one", None, NOW_NS - 15_000 * MS),
        gpu=replace_gpu(GPU_GRAPH, util_pct=0.0, gpm_graphics_pct=0.0, gpm_sm_pct=0.0, gpm_dram_pct=0.0),
        recent=None,
        cpu_work_reason="",
        halted=True,
        sentence="Compiling: 15 s so far.",
    )


def slow_host() -> Snapshot:
    """Eager-static decodes on a host that has become twice as slow under it; no counter says why."""
    before, after = strip([("eager-static", 34)]), strip([("eager-static", 20)], slowness=2.0)
    columns = [replace(column, bucket=column.bucket - 20) for column in before.columns] + list(after.columns)
    views = mode_views(("eager-static",), "eager-static", slowness=2.0)
    parts = split(3.64, 3.3, 0.2, 38.66)
    return replace(
        _live("eager-static"),
        modes=tuple(replace(view, split=parts) if view.visited else view for view in views),
        rate=rate("eager-static", 2.0),
        recent=RecentTokens(43, 45_800_000, 0),
        strip=replace(after, columns=tuple(columns), busy_ns=3_640_000, bound_ns=BOUND_NS),
        ceiling=ceiling("eager-static"),
        cpu_work=CpuWork(45_700_000, 22_500_000, slow=True),
        sentence="The host is slow now: 45.7 ms of CPU time a token, 22.5 at best; the GPU computes 3.6 ms "
        "of it.",
    )


def host_changed() -> Snapshot:
    """Eager decodes on a host that has become three times slower since eager-static was seen."""
    text = (
        "To submit a kernel the host took 45.8 µs in eager, 15.9 in eager-static, without waiting for a CPU: "
        "it changed speed; visit both again to compare."
    )
    slow = next(view for view in mode_views(("eager",), "eager", slowness=3.0) if view.visited)
    slow = replace(slow, speedup=22.9 / 64.8, split=split(3.61, 3.2, 0.2, 57.79))
    views = mode_views(("eager", "eager-static", "graph"), "eager")
    picture = strip([("eager", 60)], slowness=3.0)
    return replace(
        _live("eager"),
        modes=tuple(slow if view.name == "eager" else view for view in views),
        rate=rate("eager", 3.0),
        strip=replace(picture, busy_ns=3_610_000, bound_ns=BOUND_NS),
        ceiling=ceiling("eager"),
        sentence=text,
        host_changes=(HostChange(("eager", "eager-static"), NOW_NS - 6_000 * MS, NOW_NS - 4_000 * MS, text),),
    )


def first_round() -> Snapshot:
    """Eager meets its cache lengths for the first time, after eager-static and the graph."""
    new = next(view for view in mode_views(("eager",), "eager", slowness=3.6) if view.visited)
    new = replace(new, tokens=0, first_round=True, split=split(3.61, 3.2, 0.2, 70.75))
    views = mode_views(("eager-static", "graph"), "eager")
    picture = strip([("eager", 60)], slowness=3.6)
    return replace(
        _live("eager"),
        modes=tuple(new if view.name == "eager" else view for view in views),
        rate=rate("eager", 3.6),
        recent=RecentTokens(25, 77_760_000, 0),
        cpu_work=None,
        cpu_work_reason=because("new-lengths"),
        strip=replace(picture, busy_ns=3_610_000, bound_ns=BOUND_NS),
        ceiling=ceiling("eager"),
        at_new_length=True,
        sentence="eager meets each cache length for the first time, and the host may have to plan for it: "
        "77.8 ms a token. The next round counts.",
    )


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
            token="token 1,204 of round 3: 4.18 ms",
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
        replace(last, mode="eager-static", rate=rate("eager-static"), gpu=GPU_EAGER, sentence="Short."),
        replace(last, modes=mode_views(("eager", "graph"), "graph", slowness=0.98), notice="A notice."),
        failed(),
        replace(last, paused=True, cpu=None, cgroup=None, gpu=None, monitor=None),
        replace(last, text="Some text, for a while only."),
        last,
    ]


def replace_gpu(gpu: GpuSample, **changes: object) -> GpuSample:
    """A sample with some fields changed."""
    return GpuSample(**{f: changes.get(f, getattr(gpu, f)) for f in gpu.__struct_fields__})


def replace_host(**changes: object) -> HostInfo:
    """The host with some fields changed."""
    return HostInfo(**{f: changes.get(f, getattr(HOST, f)) for f in HOST.__struct_fields__})


SCENES = {
    "loading": loading,
    "eager-only": eager_only,
    "eager-and-graph": eager_and_graph,
    "six-modes": six_modes,
    "unavailable-modes": unavailable_modes,
    "no-gpu": no_gpu,
    "compiling": compiling,
    "failed": failed,
    "contended": contended,
    "replayed": replayed,
    "host-changed": host_changed,
    "first-round": first_round,
    "slow-host": slow_host,
}
