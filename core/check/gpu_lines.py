"""The card's lines about the GPU, and about how fast it decodes here."""

from collections.abc import Iterator, Sequence
from statistics import median

from idlegap.core.bench.schema import BenchResult
from idlegap.core.bench.summary import ArmSummary, first_of
from idlegap.core.check.card import CardLine, at_least, at_most, counted_runs, seen, unknown, worst
from idlegap.core.measure.limits import HOST_SHARE
from idlegap.core.measure.roofline import specified_bandwidth
from idlegap.core.protocol.modes import BASELINE, REPLAYED
from idlegap.core.slow_tokens.context import SLOWING_REASONS
from idlegap.core.text.reasons import words
from idlegap.core.text.units import US, bandwidth, gigabytes, ms, percent, rate, us

COPY_SHARES = (0.85, 0.70)
CLOCK_SHARES = (0.90, 0.75)
PCIE_GENERATION, PCIE_WIDTH = 3, 8
BUSY_BEFORE_PCT, USED_BEFORE_BYTES = 5.0, 1e9
KERNEL_US = (10.0, 20.0)
LAUNCH_US = (5.0, 10.0)
OPERATOR_US = (10.0, 20.0)

POWER_CAP = 0x04


def gpu_lines(result: BenchResult) -> Iterator[CardLine]:
    """What the GPU is, and whether it does what its specification promises."""
    if result.engine.device == "cpu":
        yield CardLine("GPU", "none: the CPU decodes")
        return
    yield _gpu(result)
    yield _copy(result)
    yield _link(result)
    yield _clock(result)
    yield _others(result)


def speed_lines(result: BenchResult, arms: Sequence[ArmSummary]) -> Iterator[CardLine]:
    """Decode speed, the idle share, and the price of one launch."""
    eager, graph = first_of(arms, BASELINE), first_of(arms, REPLAYED)
    yield _speed("eager decode", eager)
    yield _speed("graph decode", graph)
    if result.engine.device != "cpu":
        yield _idle(eager)
        yield _per_kernel(eager)
        yield _probe(result)


def _gpu(result: BenchResult) -> CardLine:
    gpu = result.gpu
    memory = f", {gigabytes(gpu.memory_bytes)} GB" if gpu is not None and gpu.memory_bytes else ""
    driver = f", driver {gpu.driver}" if gpu is not None and gpu.driver else ""
    return CardLine("GPU", f"{result.engine.device_name}{memory}{driver}")


def _copy(result: BenchResult) -> CardLine:
    name = "memory bandwidth"
    if result.bandwidth is None or not result.bandwidth.copy_bytes_per_s:
        reason = result.bandwidth.missing.get("copy_bytes_per_s", "") if result.bandwidth else ""
        return unknown(name, reason or "not measured")
    copied = result.bandwidth.copy_bytes_per_s
    spec, source = specified_bandwidth(result.spec_bandwidth, result.gpu)
    if spec is None:
        return CardLine(name, f"{bandwidth(copied)} copied; specification n/a: {words(source)}")
    return CardLine(
        name,
        f"{bandwidth(copied)} copied of {bandwidth(spec)} ({percent(copied / spec)})",
        at_least(copied / spec, *COPY_SHARES),
        "good from 85 %, fair from 70 %: sound cards copy 85 to 93 % of their specification",
    )


def _link(result: BenchResult) -> CardLine:
    gpu = result.gpu
    if gpu is None or gpu.pcie_generation is None or gpu.pcie_width is None:
        reason = gpu.missing.get("pcie_generation") or gpu.missing.get("pcie_width") if gpu else None
        return unknown("PCIe link", reason or "no NVML reading")
    enough = gpu.pcie_generation >= PCIE_GENERATION and gpu.pcie_width >= PCIE_WIDTH
    return CardLine(
        "PCIe link",
        f"generation {gpu.pcie_generation}, {gpu.pcie_width} lanes",
        "good" if enough else "warn",
        "good from generation 3 with 8 lanes: decode sends little over it, loading a model much",
    )


def _clock(result: BenchResult) -> CardLine:
    name = "SM clock in use"
    clocks = seen(result, lambda conditions: conditions.sm_mhz)
    if not clocks or result.gpu is None or not result.gpu.max_sm_mhz:
        reasons = [run.conditions.missing.get("sm_mhz") for run in counted_runs(result)]
        return unknown(name, next((reason for reason in reasons if reason), "no NVML reading"))
    usual, top = median([middle for _, middle, _ in clocks]), result.gpu.max_sm_mhz
    mask = 0
    for bits in seen(result, lambda conditions: conditions.event_reasons):
        mask |= bits
    held = {bit: text for bit, text in SLOWING_REASONS.items() if mask & bit}
    grade = at_least(usual / top, *CLOCK_SHARES)
    if held:
        # A power cap is how a loaded card behaves; heat and brakes are faults.
        grade = worst(grade, "warn" if set(held) == {POWER_CAP} else "bad")
    return CardLine(
        name,
        f"{usual:,.0f} of {top:,} MHz, {' and '.join(held.values()) or 'nothing holds it back'}",
        grade,
        "good from 90 %, fair from 75 %: decode is too light a load to need less; slowdowns are faults",
    )


def _others(result: BenchResult) -> CardLine:
    name = "GPU before the start"
    if result.idle_gpu_pct is None and result.idle_gpu_bytes is None:
        return unknown(name, "NVML gave no reading before the engine began")
    busy, used = result.idle_gpu_pct or 0.0, result.idle_gpu_bytes or 0
    known = [
        f"{busy:.0f} % busy" if result.idle_gpu_pct is not None else "",
        f"{gigabytes(used)} GB in use" if result.idle_gpu_bytes is not None else "",
    ]
    grade = at_most(busy, BUSY_BEFORE_PCT, BUSY_BEFORE_PCT)
    return CardLine(
        name,
        ", ".join(filter(None, known)),
        worst(grade, "good" if used <= USED_BEFORE_BYTES else "warn"),
        "good up to 5 % and 1 GB: whatever else runs on the card takes its time and memory",
    )


def _speed(name: str, arm: ArmSummary | None) -> CardLine:
    if arm is None or arm.tok_per_s is None or arm.median_ns is None:
        return unknown(name, arm.missing.get("median_ns", "not measured") if arm else "not measured")
    share = f", {percent(arm.mbu_spec)} of the specified bandwidth" if arm.mbu_spec is not None else ""
    mean = f"mean {ms(arm.mean_ns or 0)} ms: {rate(arm.tok_per_s)} tok/s"
    return CardLine(name, f"median {ms(arm.median_ns)} ms, {mean}{share}")


def _idle(eager: ArmSummary | None) -> CardLine:
    if eager is None or eager.idle_ns is None or not eager.median_ns:
        return unknown("GPU idle in eager", _no_profile(eager))
    judgement = eager.judgement
    return CardLine(
        "GPU idle in eager",
        f"{percent(eager.idle_ns / eager.median_ns)} of the median token, {ms(eager.idle_ns)} ms; "
        f"{ms(judgement.late_ns or 0)} of it for the host",
        "warn" if judgement.limit == "host" else "good",
        f"good while it waits for the host in less than {percent(HOST_SHARE)}, never bad: graphs take most "
        "of it away, whatever the host",
    )


def _per_kernel(eager: ArmSummary | None) -> CardLine:
    cost = eager.dispatch_per_kernel_ns if eager is not None else None
    if eager is None or cost is None or eager.window is None:
        return unknown("dispatch per kernel", _no_profile(eager))
    kernels = eager.window.kernels
    return CardLine(
        "dispatch per kernel",
        f"{us(cost)} {US} in the median token, {kernels:,} kernels a token",
        at_most(cost / 1e3, *KERNEL_US),
        f"good up to 10 {US}, fair up to 20: at 10 these kernels allow {1e5 / kernels:.0f} tok/s",
    )


def _probe(result: BenchResult) -> CardLine:
    name = "empty kernel"
    probe = result.probe
    if probe is None or probe.launch_ns is None or probe.operator_ns is None:
        reason = probe.missing.get("launch_ns", "not measured") if probe is not None else "not measured"
        return unknown(name, reason)
    return CardLine(
        name,
        f"{us(probe.launch_ns)} {US} to launch, {us(probe.operator_ns)} {US} as an operator",
        worst(at_most(probe.launch_ns / 1e3, *LAUNCH_US), at_most(probe.operator_ns / 1e3, *OPERATOR_US)),
        f"good up to 5 and 10 {US}, fair up to 10 and 20: the driver's part and PyTorch's, without a model",
    )


def _no_profile(arm: ArmSummary | None) -> str:
    if arm is None or arm.median_ns is None:
        return "eager-static was not measured"
    return arm.missing.get("split", "no profile window")
