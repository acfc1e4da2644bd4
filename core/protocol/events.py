"""The vocabulary: everything that the engine and the sensors say, as typed events.

The same structs cross the pipe (MessagePack), make up a recording (JSON lines), feed the
analysis and reach the screen. Every event carries ``t_ns``, CLOCK_MONOTONIC nanoseconds
(``time.perf_counter_ns`` on Linux), so that events of both processes share one time axis.

A reading that could not be taken is None, and its reason (`core.protocol.reasons`) stands in the
event's ``missing`` under the field's name; it is never 0.
"""

from typing import Literal

import msgspec

from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.quantities import (
    Amount,
    BytesPerSecond,
    Celsius,
    Count,
    Distance,
    Ns,
    Positive,
    Share,
)
from idlegap.core.protocol.reasons import Missing, ReasonOrText
from idlegap.core.protocol.settings import Wait

SCHEMA_VERSION = 2
"""2: reasons are codes with fields; they were words in 1, which is still read."""

Stage = Literal[
    "starting",
    "importing",
    "downloading",
    "building",
    "bandwidth",
    "warming up",
    "capturing",
    "compiling",
    "decoding",
    "profiling",
    "verifying",
    "paused",
    "stopped",
    "failed",
]

Exclusion = Literal["warm-up", "profile", "new-length"]
"""Why a token does not count: it belongs to a warm-up, was decoded under the profiler, or was the
first of its thread at its length of a dynamic cache (`core.engine.tokens`). The last kind is shown
while it lasts, and no statistics hold it."""


class Event(msgspec.Struct, frozen=True, tag_field="type", forbid_unknown_fields=True, omit_defaults=True):
    """Base of all events; `t_ns` is when it was said."""

    t_ns: Ns


# --- engine -----------------------------------------------------------------


class EngineStage(Event, frozen=True, tag="stage"):
    """What the engine is doing now; `fraction` (0..1) where progress is known."""

    stage: Stage
    detail: str = ""
    fraction: Share | None = None


class ModeStatus(msgspec.Struct, frozen=True, array_like=True):
    """Whether a mode can run here, and if not, why."""

    name: ModeName
    reason: ReasonOrText | None = None

    @property
    def available(self) -> bool:
        return self.reason is None


class EngineReady(Event, frozen=True, tag="ready"):
    """The model is loaded: what runs, on what, with which software.

    `weight_bytes` counts the storages resident on the device, tied weights once.
    `tid` is the decode thread's kernel id. `device_uuid` is torch's (no ``GPU-`` prefix).
    `wait` is how the decode thread waits for a token. `missing` also has ``pin_core`` and ``nice``
    where the kernel refused them.
    """

    pid: Count
    tid: Count
    model: str
    shape: str
    random_weights: bool
    dtype: str
    attention: str
    device: str
    device_name: str
    device_uuid: str | None
    weight_bytes: Count
    parameters: Count
    prompt_tokens: Count
    new_tokens: Count
    cache_len: Count
    batch: Positive
    modes: tuple[ModeStatus, ...]
    torch: str
    transformers: str
    python: str
    cuda: str | None = None
    wait: Wait = "spin"
    missing: Missing = {}


class ModeEntered(Event, frozen=True, tag="mode"):
    """Decoding goes on in `mode`; `setup_ns` was spent on capture or compilation just now."""

    mode: ModeName
    setup_ns: Ns = 0


class ModeRefused(Event, frozen=True, tag="mode-refused"):
    """`mode` cannot run here or failed to start; decoding goes on in the previous one."""

    mode: ModeName
    reason: ReasonOrText


class RoundStarted(Event, frozen=True, tag="round"):
    """One prefill has run; its decode follows. `prefill_ns` is synchronised wall time."""

    round: Count
    mode: ModeName
    prefill_ns: Ns
    position: Count


class RoundFinished(Event, frozen=True, tag="round-finished"):
    """All tokens of a round were decoded; `mode` is the one that it ended in.

    `peak_memory_bytes` is the most device memory that was allocated at one time within the
    round, its prefill included and what only the verification holds left out. It counts what
    PyTorch's allocator gave out, so neither its cache nor the CUDA context.
    """

    round: Count
    mode: ModeName
    tokens: Count
    peak_memory_bytes: Count | None = None
    missing: Missing = {}


class Token(msgspec.Struct, frozen=True, array_like=True):
    """One decode step, timed on the decode thread.

    Attributes:
        start_ns, dispatched_ns, done_ns: before the first submission, after the last one
            (forward and argmax), after the synchronisation.
        cpu_ns: CPU time of the decode thread within the token.
        run_delay_ns: time it was runnable but had no core (schedstat), within the token.
        preempted, blocked: involuntary and voluntary context switches within the token.
    """

    start_ns: Ns
    dispatched_ns: Ns
    done_ns: Ns
    cpu_ns: Ns | None = None
    run_delay_ns: Ns | None = None
    preempted: Count | None = None
    blocked: Count | None = None

    @property
    def wall_ns(self) -> int:
        return self.done_ns - self.start_ns

    @property
    def dispatch_ns(self) -> int:
        return self.dispatched_ns - self.start_ns

    @property
    def wait_ns(self) -> int:
        return self.done_ns - self.dispatched_ns


class TokenBatch(Event, frozen=True, tag="tokens"):
    """Consecutive tokens of one round and one mode; `first` is the index of the first one."""

    mode: ModeName
    round: Count
    first: Count
    tokens: tuple[Token, ...]
    excluded: Exclusion | None = None


class TextPiece(Event, frozen=True, tag="text"):
    """Decoded text of the last batch (real models only). `restart` begins a new round."""

    text: str
    restart: bool = False


class Dropped(Event, frozen=True, tag="dropped"):
    """Events that the engine had to drop because nobody read the pipe, since its start."""

    events: Count


class KernelTotal(msgspec.Struct, frozen=True, array_like=True):
    """One kernel name within a profile window: launches and device time per step."""

    name: str
    count: Amount
    total_ns: Ns


class ProfileWindow(Event, frozen=True, tag="profile"):
    """Device time of a few steps, from kernel records (definitions: docs/numbers.md).

    All times are per step. `busy_ns` is the union of device intervals, `busy_sum_ns` their
    plain sum. The three gaps split the window's own idle time; profiling slows the host, so
    only `launch_latency_ns` and `device_gap_ns` may be carried over to other tokens.
    """

    mode: ModeName
    steps: Count
    accepted: bool
    reason: ReasonOrText = ""
    busy_ns: Ns = 0
    busy_sum_ns: Ns = 0
    kernels: Count = 0
    copies: Count = 0
    fills: Count = 0
    copy_ns: Ns = 0
    host_gap_ns: Ns = 0
    launch_latency_ns: Ns = 0
    device_gap_ns: Ns = 0
    unmatched: Count = 0
    pause_ns: Ns = 0
    top: tuple[KernelTotal, ...] = ()

    @property
    def activities(self) -> int:
        """All that the device does in a step: within a graph a small copy may be a kernel's work."""
        return self.kernels + self.copies + self.fills


class Bandwidth(Event, frozen=True, tag="bandwidth"):
    """Measured device memory bandwidth in bytes/s; None with a reason in `missing`."""

    copy_bytes_per_s: BytesPerSecond | None
    read_bytes_per_s: BytesPerSecond | None
    buffer_bytes: Count = 0
    missing: Missing = {}


class Verified(Event, frozen=True, tag="verified"):
    """Teacher-forced comparison of `mode` with eager-static over `steps` tokens.

    `logit_diff` is the largest absolute difference; `noise_diff` is eager's own between two
    runs of the same history. `flagged` when it exceeds ten times that noise.
    """

    mode: ModeName
    steps: Count
    agree: Count
    logit_diff: Distance | None
    noise_agree: Count
    noise_diff: Distance
    flagged: bool
    missing: Missing = {}


class NotVerified(Event, frozen=True, tag="not-verified"):
    """A comparison of `mode` with eager-static was asked for and cannot be made."""

    mode: ModeName
    reason: ReasonOrText


class DispatchProbe(Event, frozen=True, tag="dispatch-probe"):
    """Host time to submit one empty kernel, median over batches of `launches`.

    `launch_ns` is the bare launch through one thin binding; `operator_ns` is the smallest
    PyTorch operator, which adds the framework's own dispatch to it.
    """

    launch_ns: Ns | None
    operator_ns: Ns | None
    launches: Count = 0
    missing: Missing = {}


class Notice(Event, frozen=True, tag="notice"):
    """Something that the user should read once; decoding goes on regardless."""

    text: str


class EngineFailed(Event, frozen=True, tag="engine-failed"):
    """The engine ended unexpectedly or could not start.

    `unsupported` marks a machine that cannot do what was asked (exit code 3) rather than a
    failure (exit code 4). `log_tail` holds the last lines of the engine's log.
    """

    reason: str
    unsupported: bool = False
    hint: str = ""
    log_tail: tuple[str, ...] = ()


# --- sensors ----------------------------------------------------------------


class HostInfo(Event, frozen=True, tag="host"):
    """The host, read once. `usable_cores` is the smaller of affinity and quota."""

    cpu_model: str | None
    cores: Count
    affinity: tuple[Count, ...]
    usable_cores: Amount
    memory_bytes: Count | None
    virtualization: str | None = None
    container: str | None = None
    kernel: str = ""
    missing: Missing = {}


class CpuSample(Event, frozen=True, tag="cpu"):
    """Host CPU since the previous sample. Percentages are 0..100 of one core.

    `engine_pct` and `monitor_pct` may exceed 100 (several threads). `others_pct` is the busy
    time of all cores outside our own processes, in percent of one core.
    """

    core_pct: tuple[Amount, ...]
    engine_pct: Amount | None = None
    monitor_pct: Amount | None = None
    others_pct: Amount | None = None
    steal_pct: Amount | None = None
    decode_core: Count | None = None
    load_1m: Amount | None = None
    core_mhz: Amount | None = None
    missing: Missing = {}


class CgroupSample(Event, frozen=True, tag="cgroup"):
    """Quota and pressure. Counters are differences since the previous sample.

    `quota_cores` is the smallest CPU quota on the path to the root; None with the reason
    ``no-quota`` where none is set. `pressure_us` is the PSI "some" total.
    """

    quota_cores: Amount | None = None
    throttled: Count | None = None
    throttled_ns: Ns | None = None
    cgroup_pressure_us: Count | None = None
    system_pressure_us: Count | None = None
    interval_ns: Ns = 0
    missing: Missing = {}


class GpuInfo(Event, frozen=True, tag="gpu"):
    """The GPU as NVML describes it, read once. `missing` is the capability table."""

    name: str | None
    uuid: str | None
    driver: str | None = None
    memory_bytes: Count | None = None
    bus_width_bits: Count | None = None
    max_memory_mhz: Count | None = None
    max_sm_mhz: Count | None = None
    power_limit_mw: Count | None = None
    pcie_generation: Count | None = None
    pcie_width: Count | None = None
    ecc: bool | None = None
    missing: Missing = {}

    @property
    def spec_bytes_per_s(self) -> float | None:
        """Bus width x memory clock x 2 (both edges) / 8: the vendor's own arithmetic."""
        if self.bus_width_bits is None or self.max_memory_mhz is None:
            return None
        return self.bus_width_bits * self.max_memory_mhz * 1e6 * 2 / 8


class GpuSample(Event, frozen=True, tag="gpu-sample"):
    """One round of NVML readings; fields of slower tiers repeat their last value.

    `util_pct` is NVML's: the share of its window in which any kernel was resident;
    `util_samples_pct` is the mean of NVML's own finer samples of the last second.
    `event_reasons` is the bit mask that says why clocks are below their maximum.
    `call_ns` is the time that this round of calls took.
    """

    util_pct: Amount | None = None
    memory_used_bytes: Count | None = None
    power_mw: Count | None = None
    sm_mhz: Count | None = None
    memory_mhz: Count | None = None
    temperature_c: Celsius | None = None
    event_reasons: Count | None = None
    gpm_graphics_pct: Amount | None = None
    gpm_sm_pct: Amount | None = None
    gpm_dram_pct: Amount | None = None
    call_ns: Ns = 0
    util_samples_pct: Amount | None = None
    missing: Missing = {}


# --- the monitor itself -------------------------------------------------------


class MonitorSample(Event, frozen=True, tag="monitor"):
    """What watching costs: UI CPU, frame time and bytes written to the terminal."""

    cpu_pct: Amount
    frame_ns: Ns
    bytes_per_s: Amount | None
    frames_per_s: Amount


class Neighbours(Event, frozen=True, tag="neighbours"):
    """How many noisy neighbours of our own making run from now on (`core.system.neighbours`).

    `cores` are those that some of them are pinned to; empty where all may run anywhere.
    """

    count: Count
    cores: tuple[Count, ...] = ()


EngineEvent = (
    EngineStage
    | EngineReady
    | ModeEntered
    | ModeRefused
    | RoundStarted
    | RoundFinished
    | TokenBatch
    | TextPiece
    | Dropped
    | ProfileWindow
    | Bandwidth
    | Verified
    | NotVerified
    | DispatchProbe
    | Notice
    | EngineFailed
)
SensorEvent = HostInfo | CpuSample | CgroupSample | GpuInfo | GpuSample
AnyEvent = EngineEvent | SensorEvent | MonitorSample | Neighbours
