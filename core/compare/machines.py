"""Every result, measured or published, as one row that can be compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from idlegap.core.bench.schema import Arm, BenchResult, PublishedFigures
from idlegap.core.bench.stability import contended, contention
from idlegap.core.bench.summary import ArmSummary, summarise
from idlegap.core.compare.same_gpu import usual_token
from idlegap.core.compare.workload import Workload
from idlegap.core.measure.roofline import mbu, specified_bandwidth
from idlegap.core.measure.statistics import median
from idlegap.core.measure.typical_token import Typical
from idlegap.core.protocol.modes import BASELINE, EAGER, MODE_NAMES, REPLAYED, ModeName
from idlegap.core.protocol.settings import Wait
from idlegap.core.text.names import cpu_name, gpu_name

HOST_IDLE = 0.50
"""The GPU idles for at least half of the token: `core.bench.conclusion` calls this dispatch-bound."""

GPU_IDLE = 0.20
"""It idles for less than a fifth."""

HOST_MBU = 0.30
"""With less of the bandwidth in use than this, bandwidth is not what sets the pace."""

GPU_MBU = 0.60
"""Well-tuned decoders reach 70 to 80 %: from 60 % on, bandwidth is the main cost."""

CONTENDED = "!"
"""Marks a machine whose result was taken under contention, in the table and in the plot."""

SAME_SIZE = 0.01
"""Publications round the size of a model."""

Limit = Literal["host", "GPU", "both", "unknown"]


@dataclass(frozen=True, slots=True)
class Machine:
    """One row.

    Attributes:
        source: who published the figures; "" for a measurement.
        rates: tok/s of single runs (published: often one figure alone) by mode, as far as they are
            known.
        eager_mode: the eager mode that stands for them in the table: the fastest one measured.
        idle_share: of eager-static's token, from its profile.
        device_uuid: which GPU it was; None for publications and the CPU.
        usual: what a token usually cost in the eager modes; empty for publications.
        contended: what was seen of others who used the machine meanwhile; "" for nothing, and
            for publications, which do not say.
        wait: how the decode thread waited for a token; None for publications, which do not say.
        thread: the options that put or served the decode thread in an unusual way; "" for none.
    """

    name: str
    source: str
    gpu: str
    cpu: str
    workload: Workload
    weight_bytes: int
    software: str
    spec_bytes_per_s: float | None
    copy_bytes_per_s: float | None
    rates: Mapping[ModeName, tuple[float, ...]] = field(default_factory=dict)
    eager_mode: ModeName | None = None
    idle_share: float | None = None
    dispatch_per_kernel_ns: float | None = None
    device_uuid: str | None = None
    usual: Mapping[ModeName, Typical] = field(default_factory=dict)
    contended: str = ""
    wait: Wait | None = None
    thread: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)

    def rate(self, mode: ModeName) -> float | None:
        """tok/s in `mode`."""
        runs = self.rates.get(mode)
        return median(runs) if runs else None

    @property
    def eager_rate(self) -> float | None:
        return self.rate(self.eager_mode) if self.eager_mode is not None else None

    @property
    def graph_rate(self) -> float | None:
        return self.rate(REPLAYED)

    @property
    def mbu_spec(self) -> float | None:
        """Share of the specified bandwidth that the weights took at the eager rate."""
        return self.mbu_at(self.eager_rate)

    def mbu_at(self, tok_per_s: float | None) -> float | None:
        """Share of the specified bandwidth that the weights take at this rate."""
        if tok_per_s is None or not self.spec_bytes_per_s:
            return None
        return mbu(self.weight_bytes, tok_per_s / self.workload.batch, self.spec_bytes_per_s)

    @property
    def limit(self) -> tuple[Limit, bool]:
        """What limits eager decode, and whether that was measured (a profile) or inferred
        (from the bandwidth in use alone)."""
        if self.idle_share is not None:
            if self.idle_share >= HOST_IDLE:
                return "host", True
            return ("GPU" if self.idle_share < GPU_IDLE else "both"), True
        if self.mbu_spec is None:
            return "unknown", False
        if self.mbu_spec < HOST_MBU:
            return "host", False
        return ("GPU" if self.mbu_spec >= GPU_MBU else "both"), False


def machine(name: str, result: BenchResult | PublishedFigures) -> Machine:
    """The row of `result`, called `name` where two must be told apart."""
    return _measured(name, result) if isinstance(result, BenchResult) else _published(name, result)


def _measured(name: str, result: BenchResult) -> Machine:
    engine, arms = result.engine, summarise(result)
    eager = min(
        (arm for arm in arms if arm.mode in EAGER and arm.median_ns is not None),
        key=lambda arm: arm.median_ns or 0,
        default=None,
    )
    static, graph = _arm(arms, BASELINE), _arm(arms, REPLAYED)
    of_modes = {mode: _rates(result, _arm(arms, mode)) for mode in MODE_NAMES}
    spec = specified_bandwidth(result.spec_bandwidth, result.gpu)[0] if engine.device != "cpu" else None
    idle_share = None
    if static is not None and static.idle_ns is not None and static.median_ns:
        idle_share = static.idle_ns / static.median_ns
    missing = {}
    for field_name, arm in (("eager", eager), ("graph", graph)):
        if arm is None or arm.median_ns is None:
            missing[field_name] = arm.missing.get("median_ns", "not measured") if arm else "not measured"
    return Machine(
        name=name,
        source="",
        gpu=gpu_name(engine.device_name),
        cpu=cpu_name(result.host.cpu_model if result.host is not None else None),
        workload=Workload(
            engine.shape,
            engine.dtype,
            engine.batch,
            engine.prompt_tokens,
            engine.new_tokens,
            engine.cache_len,
        ),
        weight_bytes=engine.weight_bytes,
        software=f"torch {engine.torch}, transformers {engine.transformers}",
        spec_bytes_per_s=spec,
        copy_bytes_per_s=result.bandwidth.copy_bytes_per_s if result.bandwidth is not None else None,
        rates={mode: runs for mode, runs in of_modes.items() if runs},
        eager_mode=eager.mode if eager is not None else None,
        idle_share=idle_share,
        dispatch_per_kernel_ns=static.dispatch_per_kernel_ns if static is not None else None,
        device_uuid=engine.device_uuid,
        usual=_usual(result),
        contended=contention(contended(result)),
        wait=engine.wait,
        thread=_thread(result),
        missing=missing,
    )


def _thread(result: BenchResult) -> str:
    """Options of the decode thread that are not the default, as far as the kernel granted them."""
    placed = result.environment
    options = (
        ("--wait block", result.engine.wait == "block"),
        (f"--pin {placed.pin_core}", placed.pin_core is not None),
        (f"--nice {placed.nice}", placed.nice is not None),
    )
    return ", ".join(option for option, used in options if used)


def _published(name: str, figures: PublishedFigures) -> Machine:
    eager_mode: ModeName = "eager" if "eager" in figures.modes else BASELINE
    static = figures.modes.get(BASELINE)
    idle_share = None
    if static is not None and static.busy_ns is not None:
        idle_share = 1 - static.busy_ns * static.tok_per_s / figures.batch / 1e9
    return Machine(
        name=name,
        source=figures.source,
        gpu=gpu_name(figures.gpu),
        cpu=cpu_name(figures.cpu_model),
        workload=Workload(
            figures.shape,
            figures.dtype,
            figures.batch,
            figures.prompt_tokens,
            figures.new_tokens,
            figures.cache_len,
        ),
        weight_bytes=figures.weight_bytes,
        software=", ".join(
            f"{name} {version}"
            for name, version in (("torch", figures.torch), ("transformers", figures.transformers))
            if version is not None
        ),
        spec_bytes_per_s=figures.spec_bytes_per_s,
        copy_bytes_per_s=figures.copy_bytes_per_s,
        rates={mode: found.runs_tok_per_s or (found.tok_per_s,) for mode, found in figures.modes.items()},
        eager_mode=eager_mode,
        idle_share=idle_share,
        missing={"graph": "not published", "eager": "not published"},
    )


def _rates(result: BenchResult, summary: ArmSummary | None) -> tuple[float, ...]:
    arm: Arm | None = result.arm(summary.label) if summary is not None else None
    if arm is None:
        return ()
    walls = [run.tokens.counted(run.tokens.wall_ns) for run in arm.counted]
    return tuple(result.engine.batch * len(run) * 1e9 / sum(run) for run in walls if run)


def _usual(result: BenchResult) -> dict[ModeName, Typical]:
    # Of two arms of one mode the first counts, as it does for the rates.
    found = {arm.mode: usual_token(arm.counted) for arm in reversed(result.arms) if arm.mode in EAGER}
    return {mode: usual for mode, usual in found.items() if usual is not None}


def _arm(arms: Sequence[ArmSummary], mode: ModeName) -> ArmSummary | None:
    return next((arm for arm in arms if arm.mode == mode), None)


def ceiling_slope(machines: Sequence[Machine]) -> float | None:
    """tok/s per GB/s if every byte of bandwidth streamed weights; None for unlike models."""
    smallest = min(machine.weight_bytes for machine in machines)
    largest = max(machine.weight_bytes for machine in machines)
    return 1e9 / largest if largest - smallest <= SAME_SIZE * largest else None
