"""Every result, measured or published, as one row that can be compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from idlegap.core.bench.conclusion import eager_limit, fastest_eager
from idlegap.core.bench.schema import BenchResult, PublishedFigures
from idlegap.core.bench.stability import contention, two_speeds
from idlegap.core.bench.summary import ArmSummary, first_of, summarise, usual_token
from idlegap.core.compare.workload import Workload
from idlegap.core.measure.limits import Judgement, judge_by_bandwidth, judge_by_idle_time
from idlegap.core.measure.roofline import mbu, specified_bandwidth, weight_stream_bound_ns
from idlegap.core.measure.typical_token import Typical
from idlegap.core.protocol.modes import BASELINE, REPLAYED, ModeName
from idlegap.core.protocol.settings import Wait
from idlegap.core.text.names import cpu_name, gpu_name

CONTENDED = "!"
"""Marks a machine whose result was taken under contention, in the table and in the plot."""

SAME_SIZE = 0.01
"""Publications round the size of a model."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One row.

    Attributes:
        source: who published the figures; "" for a measurement.
        tok_per_s: rate by mode, as far as it is known.
        run_means_ns: mean time of one step in each run (published: often one figure alone), by mode.
        eager_mode: the eager mode that stands for them in the table: the fastest one measured.
        profiled: what limits eager-static as far as its device time tells, measured or published.
        walls_ns, busy_ns: median token (published: the mean) and its device busy, by mode.
        device_uuid: which GPU it was; None for publications and the CPU.
        usual: what a token usually cost, by mode; empty for publications.
        two_speeds: which modes decoded at two speeds, in words.
        contended: what was seen of others who used the machine meanwhile; "" for nothing, and
            for publications, which do not say.
        wait: how the decode thread waited for a token; None for publications, which do not say.
        thread: the options that put or served the decode thread in an unusual way; "" for none.
    """

    source: str
    gpu: str
    cpu: str
    workload: Workload
    weight_bytes: int
    software: str
    spec_bytes_per_s: float | None
    copy_bytes_per_s: float | None
    tok_per_s: Mapping[ModeName, float] = field(default_factory=dict)
    run_means_ns: Mapping[ModeName, tuple[float, ...]] = field(default_factory=dict)
    eager_mode: ModeName | None = None
    profiled: Judgement | None = None
    walls_ns: Mapping[ModeName, int] = field(default_factory=dict)
    busy_ns: Mapping[ModeName, int] = field(default_factory=dict)
    dispatch_per_kernel_ns: float | None = None
    device_uuid: str | None = None
    usual: Mapping[ModeName, Typical] = field(default_factory=dict)
    two_speeds: Mapping[ModeName, str] = field(default_factory=dict)
    contended: str = ""
    wait: Wait | None = None
    thread: str = ""

    @property
    def eager_rate(self) -> float | None:
        return self.tok_per_s.get(self.eager_mode) if self.eager_mode is not None else None

    @property
    def graph_rate(self) -> float | None:
        return self.tok_per_s.get(REPLAYED)

    @property
    def idle_share(self) -> float | None:
        """Share of eager-static's token in which the device does nothing."""
        judgement = self.profiled
        if judgement is None or judgement.idle_ns is None:
            return None
        return judgement.idle_ns / judgement.wall_ns

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
    def limit(self) -> Judgement:
        """What limits eager decode: by eager-static's device time, else by the bandwidth in use."""
        if self.profiled is not None:
            return self.profiled
        rate = self.eager_rate
        return judge_by_bandwidth(round(self.workload.batch * 1e9 / rate) if rate else 0, self.mbu_spec)


def machine(result: BenchResult | PublishedFigures) -> Machine:
    """The row of `result`."""
    return _measured(result) if isinstance(result, BenchResult) else _published(result)


def _measured(result: BenchResult) -> Machine:
    engine, arms = result.engine, summarise(result)
    eager, static = fastest_eager(arms), first_of(arms, BASELINE)
    of_modes = {arm.mode: arm for arm in reversed(arms) if arm.tok_per_s is not None}
    limit = eager_limit(result, arms)
    spec = specified_bandwidth(result.spec_bandwidth, result.gpu)[0] if engine.device != "cpu" else None
    return Machine(
        source="",
        gpu=gpu_name(engine.device_name),
        cpu=cpu_name(result.host.cpu_model if result.host is not None else None),
        workload=Workload.of(engine),
        weight_bytes=engine.weight_bytes,
        software=f"torch {engine.torch}, transformers {engine.transformers}",
        spec_bytes_per_s=spec,
        copy_bytes_per_s=result.bandwidth.copy_bytes_per_s if result.bandwidth is not None else None,
        tok_per_s={mode: arm.tok_per_s for mode, arm in of_modes.items() if arm.tok_per_s is not None},
        run_means_ns={mode: _run_means_ns(result, arm) for mode, arm in of_modes.items()},
        eager_mode=eager.mode if eager is not None else None,
        profiled=limit if limit.limit != "unknown" else None,
        walls_ns={mode: arm.median_ns for mode, arm in of_modes.items() if arm.median_ns is not None},
        busy_ns={mode: arm.split.busy_ns for mode, arm in of_modes.items() if arm.split is not None},
        dispatch_per_kernel_ns=static.dispatch_per_kernel_ns if static is not None else None,
        device_uuid=engine.device_uuid,
        usual=_usual(result),
        two_speeds={arm.mode: told for arm in reversed(result.arms) if (told := two_speeds(arm))},
        contended=contention(result),
        wait=engine.wait,
        thread=_thread(result),
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


def _published(figures: PublishedFigures) -> Machine:
    eager_mode: ModeName = "eager" if "eager" in figures.modes else BASELINE
    static = figures.modes.get(BASELINE)
    bound_ns = None
    if figures.copy_bytes_per_s is not None:
        bound_ns = weight_stream_bound_ns(figures.weight_bytes, figures.copy_bytes_per_s)
    step_ns = figures.batch * 1e9
    run_means_ns = {
        mode: tuple(step_ns / rate for rate in found.runs_tok_per_s or (found.tok_per_s,))
        for mode, found in figures.modes.items()
    }
    profiled = None
    if static is not None and static.busy_ns is not None:
        wall_ns = round(step_ns / static.tok_per_s)
        profiled = judge_by_idle_time(wall_ns, static.busy_ns, bound_ns)
    return Machine(
        source=figures.source,
        gpu=gpu_name(figures.gpu),
        cpu=cpu_name(figures.cpu_model),
        workload=Workload.of(figures),
        weight_bytes=figures.weight_bytes,
        software=", ".join(
            f"{name} {version}"
            for name, version in (("torch", figures.torch), ("transformers", figures.transformers))
            if version is not None
        ),
        spec_bytes_per_s=figures.spec_bytes_per_s,
        copy_bytes_per_s=figures.copy_bytes_per_s,
        tok_per_s={mode: found.tok_per_s for mode, found in figures.modes.items()},
        run_means_ns=run_means_ns,
        eager_mode=eager_mode,
        profiled=profiled,
        walls_ns={mode: round(step_ns / found.tok_per_s) for mode, found in figures.modes.items()},
        busy_ns={mode: found.busy_ns for mode, found in figures.modes.items() if found.busy_ns is not None},
    )


def _run_means_ns(result: BenchResult, summary: ArmSummary) -> tuple[float, ...]:
    arm = result.arm(summary.label)
    walls = [run.tokens.counted(run.tokens.wall_ns) for run in arm.counted] if arm is not None else []
    return tuple(fmean(run) for run in walls if run)


def _usual(result: BenchResult) -> dict[ModeName, Typical]:
    # Of two arms of one mode the first counts, as it does for the rates.
    found = {arm.mode: usual_token(arm.counted) for arm in reversed(result.arms)}
    return {mode: usual for mode, usual in found.items() if usual is not None}


def ceiling_slope(machines: Sequence[Machine]) -> float | None:
    """tok/s per GB/s if every byte of bandwidth streamed weights; None for unlike models."""
    smallest = min(machine.weight_bytes for machine in machines)
    largest = max(machine.weight_bytes for machine in machines)
    return 1e9 / largest if largest - smallest <= SAME_SIZE * largest else None
