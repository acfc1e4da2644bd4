"""The page's tables as rows of text. Nothing here is marked up: the template escapes it all."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from idlegap.core.protocol.events import EngineReady, GpuInfo, GpuSample, HostInfo
from idlegap.core.report.gather import Report
from idlegap.core.report.host_speed import speed_remarks
from idlegap.core.report.modes import ModeRow
from idlegap.core.slow_tokens.explain import SlowToken, total_shares
from idlegap.core.text.names import cpu_name
from idlegap.core.text.reasons import logit_diff_words, words
from idlegap.core.text.units import bandwidth, count, gigabytes, ms, na, percent, shown, times

Rows = list[tuple[str, ...]]
MOST_SLOW = 20
"""Slow tokens that are listed; the totals cover all."""


def machine(facts: Report) -> Rows:
    """What was measured, and how it was recorded."""
    header = facts.header
    where = f" on {header.host}" if header.host else ""
    return [
        *(_gpu_rows(facts.gpu) if facts.gpu is not None else []),
        *(_host_rows(facts.host) if facts.host is not None else []),
        *(_engine_rows(facts.setup.engine) if facts.setup.engine is not None else []),
        *_ceiling_rows(facts),
        ("recorded", f"{header.created}{where}, {facts.length_ns / 1e9:,.0f} s"),
        ("with", f"idlegap {header.idlegap}"),
    ]


def remarks(facts: Report) -> list[str]:
    """What a reader must know before believing the figures."""
    found = []
    if facts.header.in_process:
        found.append("The engine shared the screen's process, so all times include the screen's disturbance.")
    if facts.ending.text:
        found.append(f"{facts.ending.text[:1].upper()}{facts.ending.text[1:]}.")
    found += [
        f"The engine failed {_at(facts, f.t_ns)} into the recording: {f.reason}" for f in facts.failures
    ]
    for other in facts.others:
        shape = f"batch {other.engine.batch}, prompt {other.engine.prompt_tokens}, " if other.engine else ""
        name = other.engine.model if other.engine else "a model that is not known"
        tokens = len(other.log.walls_ns) if other.log is not None else 0
        found.append(f"Not shown: {tokens:,} tokens of another setup ({shape}{name}).")
    found += speed_remarks(facts.setup, facts.header.started_ns)
    excluded = ", ".join(f"{count:,} {why}" for why, count in sorted(facts.setup.excluded.items()))
    if excluded:
        found.append(f"Tokens that do not count: {excluded}.")
    return found


def modes(facts: Report) -> Rows:
    """One row for each mode: times, split and speed-up."""
    return [
        (
            mode.name,
            f"{mode.took.tokens:,}",
            ms(mode.took.wall_ns),
            ms(mode.took.p99_ns),
            ms(mode.took.dispatch_ns),
            shown(mode.split, lambda split: ms(split.busy_ns)),
            shown(mode.split, lambda split: ms(split.launch_latency_ns + split.device_gap_ns)),
            shown(mode.split, lambda split: ms(split.host_gap_ns)),
            shown(mode.kernels, count),
            shown(mode.prefill_ns, ms),
            shown(mode.run_delay_ns, ms),
            shown(mode.speedup, times),
        )
        for mode in facts.modes
    ]


def meters(facts: Report) -> Rows:
    """One row for each mode: what each meter says about how busy the GPU was."""
    return [
        _meter_row(mode, samples)
        for mode in facts.modes
        if (samples := facts.samples.get(mode.name, [])) or mode.split is not None
    ]


def verified(facts: Report) -> Rows:
    """One row for each mode that was compared with eager-static, token by token."""
    return [
        (
            found.mode,
            f"{found.agree:,} of {found.steps:,}",
            f"{found.noise_agree:,} of {found.steps:,}",
            logit_diff_words(found),
            f"{found.noise_diff:.4f}",
            "differs by more than ten times that" if found.flagged else "within eager's own noise",
        )
        for kept in facts.setup.modes.values()
        if (found := kept.verified) is not None
    ]


def dose_response(facts: Report) -> Rows:
    """One row for each mode and number of neighbours of our own making."""
    return [
        (
            dose.mode,
            str(dose.neighbours),
            f"{dose.took.tokens:,}",
            ms(dose.took.wall_ns),
            ms(dose.took.p99_ns),
            shown(dose.run_delay_ns, ms),
        )
        for dose in facts.doses
    ]


def slowest(facts: Report) -> Rows:
    """The slow tokens that cost the most, most costly first."""
    chosen = sorted(facts.slow, key=lambda token: -token.excess_ns)[:MOST_SLOW]
    return [
        (
            _at(facts, token.done_ns),
            token.mode,
            f"{token.round:,}/{token.index:,}",
            ms(token.wall_ns),
            f"+{ms(token.excess_ns)}",
            token.cause,
            token.largest.evidence,
        )
        for token in chosen
    ]


def cause_totals(slow: Sequence[SlowToken]) -> list[tuple[str, int]]:
    """Excess time by cause in ns, largest first."""
    return sorted(total_shares(slow).items(), key=lambda entry: -entry[1])


def _meter_row(mode: ModeRow, samples: Sequence[GpuSample]) -> tuple[str, ...]:
    percentages = ("util_pct", "gpm_graphics_pct", "gpm_sm_pct", "gpm_dram_pct")
    return (
        mode.name,
        shown(mode.split, lambda split: percent(split.busy_ns / mode.wall_ns)),
        *(_mean(samples, name, 1, "%") for name in percentages),
        shown(mode.mbu_spec, percent),
        _mean(samples, "power_mw", 1e-3, "W"),
        _mean(samples, "sm_mhz", 1, "MHz"),
        f"{len(samples):,}",
    )


def _mean(samples: Sequence[GpuSample], name: str, factor: float, unit: str) -> str:
    values = [value for sample in samples if (value := getattr(sample, name)) is not None]
    if values:
        return f"{fmean(values) * factor:,.0f} {unit}"
    return na(next((sample.missing[name] for sample in samples if name in sample.missing), None))


def _gpu_rows(gpu: GpuInfo) -> Iterator[tuple[str, str]]:
    if gpu.name is None:
        yield "GPU", na(gpu.missing.get("name", "not read"))
        return
    parts = (
        gpu.name,
        f"{gigabytes(gpu.memory_bytes)} GB" if gpu.memory_bytes is not None else "",
        f"{gpu.power_limit_mw / 1000:,.0f} W limit" if gpu.power_limit_mw is not None else "",
        f"PCIe {gpu.pcie_generation} x{gpu.pcie_width}" if gpu.pcie_generation and gpu.pcie_width else "",
        f"driver {gpu.driver}" if gpu.driver is not None else "",
    )
    yield "GPU", ", ".join(filter(None, parts))


def _host_rows(host: HostInfo) -> Iterator[tuple[str, str]]:
    parts = (
        cpu_name(host.cpu_model),
        f"{host.cores} cores",
        f"{host.usable_cores:g} usable" if host.usable_cores < host.cores else "",
        host.virtualization,
        host.container,
        f"Linux {host.kernel}" if host.kernel else "",
    )
    yield "host", ", ".join(filter(None, parts))


def _engine_rows(engine: EngineReady) -> Iterator[tuple[str, str]]:
    weights = "random weights" if engine.random_weights else "real weights"
    yield "model", f"{engine.model}: {engine.shape}"
    yield (
        "",
        f"{gigabytes(engine.weight_bytes)} GB of {engine.dtype}, {weights}, {engine.attention} attention",
    )
    yield (
        "decode",
        f"batch {engine.batch}, prompt {engine.prompt_tokens:,}, {engine.new_tokens:,} new tokens, "
        f"cache {engine.cache_len:,}",
    )
    cuda = f", CUDA {engine.cuda}" if engine.cuda else ""
    software = f"torch {engine.torch}, transformers {engine.transformers}, Python {engine.python}{cuda}"
    yield "software", f"{engine.device_name}: {software}"


def _ceiling_rows(facts: Report) -> Iterator[tuple[str, str]]:
    limits = facts.ceiling
    if limits is None:
        return
    measured = limits.bandwidth.copy_bytes_per_s if limits.bandwidth is not None else None
    spec, copied = shown(limits.spec_bytes_per_s, bandwidth), shown(measured, bandwidth)
    yield "bandwidth", f"{copied} measured, {spec} specified ({words(limits.spec_source)})"
    if limits.bound_ns is not None:
        yield "bound", f"{ms(limits.bound_ns)} ms: reading all weights once at the measured bandwidth"


def _at(facts: Report, t_ns: int) -> str:
    """Seconds from the recording's start to `t_ns`."""
    return f"{(t_ns - facts.header.started_ns) / 1e9:,.2f} s"
