"""The card's lines about the GPU, and about how fast it decodes here."""

from collections.abc import Iterator, Sequence
from statistics import median

from idlegap.core.bench.schema import BenchResult
from idlegap.core.bench.summary import ArmSummary, first_of
from idlegap.core.check.card import CardLine, Grade, Scale, seen, unknown, why_unseen, worst
from idlegap.core.measure.limits import HOST_SHARE
from idlegap.core.measure.roofline import specified_bandwidth
from idlegap.core.protocol.modes import BASELINE, REPLAYED
from idlegap.core.slow_tokens.context import SLOWING_REASONS
from idlegap.core.text.reasons import words
from idlegap.core.text.units import US, bandwidth, gigabytes, ms, percent, rate, us

COPY = Scale(
    0.85, 0.70, "good from 85 %, fair from 70 %: sound cards copy 85 to 93 % of their specification", True
)
CLOCK = Scale(
    0.90,
    0.75,
    "good from 90 %, fair from 75 %: decode is too light a load to need less; slowdowns are faults",
    True,
)
KERNEL_US = Scale(10.0, 20.0, f"good up to 10 {US}, fair up to 20: at 10 these kernels allow {{}} tok/s")
LAUNCH_US = Scale(
    5.0,
    10.0,
    f"good up to 5 and 10 {US}, fair up to 10 and 20: the driver's part and PyTorch's, without a model",
)
OPERATOR_US = Scale(10.0, 20.0, "")
LEAST_PCIE = (3, 8)
"""Generation and lanes."""

BUSY_BEFORE_PCT, USED_BEFORE_BYTES = 5.0, 1e9
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
    text = f"{bandwidth(copied)} copied of {bandwidth(spec)} ({percent(copied / spec)})"
    return COPY.line(name, text, copied / spec)


def _link(result: BenchResult) -> CardLine:
    gpu = result.gpu
    if gpu is None or gpu.pcie_generation is None or gpu.pcie_width is None:
        reason = gpu.missing.get("pcie_generation") or gpu.missing.get("pcie_width") if gpu else None
        return unknown("PCIe link", reason or "no NVML reading")
    enough = gpu.pcie_generation >= LEAST_PCIE[0] and gpu.pcie_width >= LEAST_PCIE[1]
    return CardLine(
        "PCIe link",
        f"generation {gpu.pcie_generation}, {gpu.pcie_width} lanes",
        "good" if enough else "warn",
        "good from generation 3 with 8 lanes: decode sends little over it, loading a model much",
    )


def _clock(result: BenchResult) -> CardLine:
    name, clocks = "SM clock in use", seen(result, "sm_mhz")
    if not clocks or result.gpu is None or not result.gpu.max_sm_mhz:
        return unknown(name, why_unseen(result, "sm_mhz", "no NVML reading"))
    usual, top = median([middle for _, middle, _ in clocks]), result.gpu.max_sm_mhz
    masks = seen(result, "event_reasons")
    held = {bit: text for bit, text in SLOWING_REASONS.items() if any(mask & bit for mask in masks)}
    text = f"{usual:,.0f} of {top:,} MHz, {' and '.join(held.values()) or 'nothing holds it back'}"
    # A power cap is how a loaded card behaves; heat and brakes are faults.
    fault: Grade = "good" if not held else "warn" if set(held) == {POWER_CAP} else "bad"
    return CardLine(name, text, worst(CLOCK.grade(usual / top), fault), CLOCK.words)


def _others(result: BenchResult) -> CardLine:
    name, busy, used = "GPU before the start", result.idle_gpu_pct, result.idle_gpu_bytes
    if busy is None and used is None:
        return unknown(name, "NVML gave no reading before the engine began")
    known = [
        f"{busy:.0f} % busy" if busy is not None else "",
        f"{gigabytes(used)} GB in use" if used is not None else "",
    ]
    grade: Grade = "good" if (used or 0) <= USED_BEFORE_BYTES else "warn"
    return CardLine(
        name,
        ", ".join(filter(None, known)),
        grade if (busy or 0.0) <= BUSY_BEFORE_PCT else "bad",
        "good up to 5 % and 1 GB: whatever else runs on the card takes its time and memory",
    )


def _speed(name: str, arm: ArmSummary | None) -> CardLine:
    if arm is None or arm.tok_per_s is None or arm.median_ns is None:
        return unknown(name, arm.missing.get("median_ns", "not measured") if arm else "not measured")
    mbu = arm.ceiling.mbu_spec
    share = f", {percent(mbu)} of the specified bandwidth" if mbu is not None else ""
    mean = f"mean {ms(arm.mean_ns or 0)} ms: {rate(arm.tok_per_s)} tok/s"
    return CardLine(name, f"median {ms(arm.median_ns)} ms, {mean}{share}")


def _idle(eager: ArmSummary | None) -> CardLine:
    name = "GPU idle in eager"
    if eager is None or eager.split is None or not eager.median_ns:
        return unknown(name, _no_profile(eager))
    idle_ns, judgement = eager.split.idle_ns, eager.judgement
    return CardLine(
        name,
        f"{percent(idle_ns / eager.median_ns)} of the median token, {ms(idle_ns)} ms; "
        f"{ms(judgement.late_ns or 0)} of it for the host",
        "warn" if judgement.limit == "host" else "good",
        f"good while it waits for the host in less than {percent(HOST_SHARE)}, never bad: graphs take most "
        "of it away, whatever the host",
    )


def _per_kernel(eager: ArmSummary | None) -> CardLine:
    name = "dispatch per kernel"
    cost = eager.dispatch_per_kernel_ns if eager is not None else None
    if eager is None or cost is None or eager.window is None:
        return unknown(name, _no_profile(eager))
    kernels = eager.window.kernels
    text = f"{us(cost)} {US} in the median token, {kernels:,} kernels a token"
    return CardLine(name, text, KERNEL_US.grade(cost / 1e3), KERNEL_US.words.format(f"{1e5 / kernels:.0f}"))


def _probe(result: BenchResult) -> CardLine:
    name, probe = "empty kernel", result.probe
    if probe is None or probe.launch_ns is None or probe.operator_ns is None:
        return unknown(name, probe.missing.get("launch_ns", "not measured") if probe else "not measured")
    text = f"{us(probe.launch_ns)} {US} to launch, {us(probe.operator_ns)} {US} as an operator"
    grade = worst(LAUNCH_US.grade(probe.launch_ns / 1e3), OPERATOR_US.grade(probe.operator_ns / 1e3))
    return CardLine(name, text, grade, LAUNCH_US.words)


def _no_profile(arm: ArmSummary | None) -> str:
    if arm is None or arm.median_ns is None:
        return "eager-static was not measured"
    return arm.missing.get("split", "no profile window")
