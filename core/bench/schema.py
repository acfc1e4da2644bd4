"""A benchmark's result: every raw sample, and all that is needed to judge and repeat it.

Figures derived from these samples (medians, gaps, speed-ups) are not stored: they are computed
by `core.bench.summary` whenever a result is shown, so a better method can be applied to old files.
Times are integer nanoseconds. A value that could not be had is None, and its reason stands in
the nearest ``missing`` under the field's name.
"""

from collections.abc import Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from idlegap.core.protocol import events
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.quantities import Amount, BytesPerSecond, Celsius, Count, Ns, Positive
from idlegap.core.protocol.reasons import Missing, ReasonOrText

Counts = tuple[Count, ...]
Times = tuple[Positive, ...]
Clocks = tuple[Count, Count, Count]
Rate = Annotated[float, Meta(gt=0, lt=2.0**63)]
T = TypeVar("T")


class Columns(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The tokens of one run, one entry per token in each column.

    Attributes:
        start_ns: start of the token since the end of the prefill.
        wall_ns, dispatch_ns: as `core.protocol.events.Token` defines them.
        cpu_ns, run_delay_ns, preempted, blocked: the decode thread's counters within the token;
            None where the engine could not read them.
        excluded: indices of the tokens that enter no figure (the first ones after a change of
            mode, those of a profile window and those at new cache lengths).
    """

    start_ns: Counts
    wall_ns: Times
    dispatch_ns: Counts
    cpu_ns: Counts | None = None
    run_delay_ns: Counts | None = None
    preempted: Counts | None = None
    blocked: Counts | None = None
    excluded: Counts = ()

    def __post_init__(self) -> None:
        """Refuse columns that cannot be one table (msgspec reports this with its path)."""
        tokens = len(self.wall_ns)
        for name in ("start_ns", "dispatch_ns", "cpu_ns", "run_delay_ns", "preempted", "blocked"):
            column = getattr(self, name)
            if column is not None and len(column) != tokens:
                raise ValueError(f"{name} has {len(column)} entries, wall_ns {tokens}")
        if any(index >= tokens for index in self.excluded):
            raise ValueError("excluded points outside the tokens")

    def counted(self, column: Sequence[T]) -> list[T]:
        """The entries of `column` whose tokens count."""
        out = frozenset(self.excluded)
        return [value for index, value in enumerate(column) if index not in out]


class Conditions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the sensors saw while one run decoded.

    Attributes:
        others_cores: cores kept busy by processes other than ours, on average.
        steal_pct: share of the machine's time that its hypervisor gave to others.
        throttled_ns: time that a CPU quota stopped this group.
        pressure: share (0..1) of the time in which some task of the group, or else of the
            machine, waited for a CPU.
        sm_mhz: lowest, median and highest SM clock.
        event_reasons: every clock event reason that was set at least once (NVML's bits);
            hardware slowdown only if it was set half of the time.
    """

    others_cores: Amount | None = None
    steal_pct: Amount | None = None
    throttled_ns: Ns | None = None
    pressure: Amount | None = None
    sm_mhz: Clocks | None = None
    memory_mhz: Count | None = None
    event_reasons: Count | None = None
    util_pct: Amount | None = None
    power_mw: Count | None = None
    temperature_c: Celsius | None = None
    missing: Missing = {}


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One prefill and its decode, in one mode.

    `turn` counts the rounds of the interleaving: run n of every arm was taken within turn n.
    Turn 0 is the warm-up. `started_ns` is the end of the prefill, since the first run's.
    `complete` is False for a run that an interruption cut short.
    """

    turn: Count
    warm_up: bool
    started_ns: Ns
    prefill_ns: Ns
    tokens: Columns
    conditions: Conditions
    complete: bool = True
    peak_memory_bytes: Count | None = None
    missing: Missing = {}

    @property
    def counts(self) -> bool:
        """Whether its samples enter the figures."""
        return self.complete and not self.warm_up

    @property
    def span_ns(self) -> int:
        """From the start of the prefill to the end of the last token."""
        tokens = self.tokens
        return self.prefill_ns + (tokens.start_ns[-1] + tokens.wall_ns[-1] if tokens.wall_ns else 0)


class Arm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One side of the comparison: a mode under a name of its own.

    The same mode may stand under two names, which shows how much two equal arms differ.
    `refused` says why it could not run; then it has no runs.
    """

    label: str
    mode: ModeName
    setup_ns: Ns = 0
    refused: ReasonOrText | None = None
    windows: tuple[events.ProfileWindow, ...] = ()
    verified: events.Verified | None = None
    verify_reason: ReasonOrText = ""
    runs: tuple[Run, ...] = ()

    @property
    def counted(self) -> tuple[Run, ...]:
        """The runs that enter the figures."""
        return tuple(run for run in self.runs if run.counts)

    @property
    def window(self) -> events.ProfileWindow | None:
        """The last accepted profile window."""
        return next((window for window in reversed(self.windows) if window.accepted), None)


class Environment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What else may matter for repeating the measurement; the rest is in host, gpu and engine.

    `pin_core` and `nice` are those of the decode thread: None where the kernel decided, or where
    it refused what was asked (then with the reason).
    """

    idlegap: str | None = None
    revision: str | None = None
    governor: str | None = None
    cpu_max_mhz: Amount | None = None
    load_before: Amount | None = None
    load_after: Amount | None = None
    pin_core: Count | None = None
    nice: int | None = None
    missing: Missing = {}


class BenchResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Everything that one benchmark measured.

    Attributes:
        created: start, UTC, ISO 8601.
        complete: every planned run was taken; `reason` says why not.
        spec_bandwidth: the user's figure for the specified bandwidth in bytes/s, if any.
        dropped: engine events lost because nobody read them; more than 0 means lost tokens.
        idle_gpu_pct, idle_gpu_bytes: NVML utilisation and memory in use before the engine used
            the GPU: what others do with it. None where no reading was early enough.
    """

    created: str
    complete: bool
    reason: str
    engine: events.EngineReady
    host: events.HostInfo | None
    gpu: events.GpuInfo | None
    bandwidth: events.Bandwidth | None
    environment: Environment
    arms: tuple[Arm, ...]
    probe: events.DispatchProbe | None = None
    spec_bandwidth: BytesPerSecond | None = None
    dropped: Count = 0
    idle_gpu_pct: Amount | None = None
    idle_gpu_bytes: Count | None = None

    def arm(self, label: str) -> Arm | None:
        """The arm called `label`."""
        return next((arm for arm in self.arms if arm.label == label), None)


class PublishedMode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a publication says about one mode; `runs_tok_per_s` where it gives single runs."""

    tok_per_s: Rate
    runs_tok_per_s: tuple[Rate, ...] = ()
    busy_ns: Ns | None = None
    kernels: Count | None = None
    prefill_ns: Ns | None = None


class PublishedFigures(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Figures that somebody published: no raw samples, so few of them have an interval.

    `source` names the publication. Whatever it does not say is None.
    """

    source: str
    gpu: str
    cpu_model: str
    spec_bytes_per_s: BytesPerSecond
    model: str
    shape: str
    dtype: str
    batch: Positive
    prompt_tokens: Count
    new_tokens: Count
    weight_bytes: Positive
    modes: dict[ModeName, PublishedMode]
    note: str = ""
    copy_bytes_per_s: BytesPerSecond | None = None
    usable_cores: Amount | None = None
    cache_len: Count | None = None
    torch: str | None = None
    transformers: str | None = None
