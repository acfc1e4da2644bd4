"""The GPU: the number that everyone looks at, beside the true one."""

from idlegap.core.protocol.events import GpuSample
from idlegap.core.protocol.reasons import ReasonOrText
from idlegap.core.sensors.reasons import event_reason_names
from idlegap.core.session.snapshot import Snapshot
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets import units
from idlegap.tui.widgets.line import Line
from idlegap.tui.widgets.palette import BAD, DIM, STRONG, TEXT, WARN, WORK
from idlegap.tui.widgets.panel import Panel
from idlegap.tui.widgets.phrases import absence, gpu_words, true_busy, true_busy_reason
from idlegap.tui.widgets.readings import staleness
from idlegap.tui.widgets.rows import LABEL_AT, labelled, title, wrapped

_SHORT_REASON = 26
_GAUGE_AT = 19
_GAUGE_CELLS = 10
_GPU_IDLE = 0x1
"""The only event reason that takes nothing from running work."""


class GpuPanel(Panel):
    """Two rows where room is scarce, gauges and a row for each reading where it is not."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        if height > 2:
            return _tall(snap, width, height, self.level)
        return _short(snap, width)


def gpu_absence(snap: Snapshot) -> ReasonOrText:
    """Why there are no GPU readings."""
    if snap.gpu_info is not None and snap.gpu_info.name is None:
        return absence(snap.gpu_info.missing, "name", "no NVIDIA GPU found")
    return "no reading yet"


def busy_words(snap: Snapshot, width: int | None = None) -> str:
    """The device's true busy share of a token in the current mode."""
    share = true_busy(snap)
    return units.na(true_busy_reason(snap), width) if share is None else units.share(share)


def clock_words(gpu: GpuSample) -> tuple[str, bool]:
    """The SM clock with the reason why it is no higher, and whether that costs speed."""
    clock = units.reading(gpu.sm_mhz, units.megahertz, gpu.missing, "sm_mhz")
    if gpu.event_reasons is None:
        return f"{clock}, limits {units.na(gpu.missing.get('event_reasons'))}", False
    reasons = " + ".join(event_reason_names(gpu.event_reasons)) or "not limited"
    return f"{clock}, {reasons}", bool(gpu.event_reasons & ~_GPU_IDLE)


def _short(snap: Snapshot, width: int) -> list[Line]:
    first = Line().add(" gpu", STRONG).to(LABEL_AT)
    gpu = snap.gpu
    if gpu is None:
        first.add(units.na(gpu_absence(snap), width - LABEL_AT), TEXT)
        second = Line().to(LABEL_AT).add("truly busy ", DIM)
        return [first, second.add(busy_words(snap, width - second.cells))]
    stale = staleness(gpu, snap)
    if stale:
        first.add(f"{stale}  ", BAD)
    first.add("NVML util ", DIM).add(
        units.reading(gpu.util_pct, units.percent, gpu.missing, "util_pct", _SHORT_REASON)
    )
    first.add("  truly busy ", DIM).add(busy_words(snap, _SHORT_REASON), WORK)
    for name, value, field in (
        ("SM", gpu.gpm_sm_pct, "gpm_sm_pct"),
        ("DRAM", gpu.gpm_dram_pct, "gpm_dram_pct"),
    ):
        text = units.reading(value, units.percent, gpu.missing, field, _SHORT_REASON)
        if first.cells + len(name) + len(text) + 3 <= width:
            first.add(f"  {name} ", DIM).add(text)
    clock, slowed = clock_words(gpu)
    second = Line().to(LABEL_AT).add(clock, WARN if slowed else TEXT)
    for text in (_power(snap), _memory(snap), _temperature(gpu)):
        if second.cells + len(text) + 3 <= width:
            second.add(" · ", DIM).add(text)
    return [first, second]


def _tall(snap: Snapshot, width: int, height: int, level: GlyphLevel) -> list[Line]:
    info, gpu = snap.gpu_info, snap.gpu
    about = f"{gpu_words(info.name)}, driver {info.driver or 'n/a'}" if info and info.name else ""
    lines = [title("gpu", about, width)]
    busy = true_busy(snap)
    busy_line = _gauge("truly busy", busy and busy * 100, busy_words(snap), "of a token's time", width)
    if gpu is None:
        reason = wrapped(units.na(gpu_absence(snap)), width, 2, " ", TEXT)
        return [*lines, *reason, busy_line][:height]
    stale = staleness(gpu, snap)
    if stale:
        lines.append(labelled("GPU readings", stale, width))
    missing = gpu.missing

    def meter(name: str, value: float | None, field: str, meaning: str) -> Line:
        return _gauge(name, value, units.reading(value, units.percent, missing, field), meaning, width)

    lines += [
        meter("NVML util", gpu.util_pct, "util_pct", "time with any kernel"),
        busy_line,
        meter("SM active", gpu.gpm_sm_pct, "gpm_sm_pct", "SMs with a warp"),
        meter("DRAM", gpu.gpm_dram_pct, "gpm_dram_pct", "of its bandwidth"),
    ]
    clock, slowed = clock_words(gpu)
    lines.append(labelled("SM clock", clock + (" (!)" if slowed else ""), width))
    lines += [
        labelled("power", _power(snap), width),
        labelled("memory", _memory(snap), width),
        labelled("temperature", _temperature(gpu), width),
        labelled("NVML calls take", f"{units.ms(gpu.call_ns).strip()} ms a round", width),
    ]
    return lines[:height]


def _gauge(name: str, pct: float | None, text: str, meaning: str, width: int) -> Line:
    line = Line().add(f" {name}", DIM).to(_GAUGE_AT - 7)
    if pct is None:
        return line.add(units.shorten(text, max(0, width - line.cells)))
    line.add(text, STRONG).to(_GAUGE_AT)
    filled = min(_GAUGE_CELLS, round(pct / 100 * _GAUGE_CELLS))
    line.add("█" * filled, WORK).add("░" * (_GAUGE_CELLS - filled), DIM).add("  ")
    return line.add(meaning if line.cells + len(meaning) <= width else "", DIM)


def _power(snap: Snapshot) -> str:
    gpu, info = snap.gpu, snap.gpu_info
    if gpu is None or gpu.power_mw is None:
        return f"power {units.na(gpu.missing.get('power_mw') if gpu else None)}"
    limit = f"/{units.watts(info.power_limit_mw).strip()}" if info and info.power_limit_mw else ""
    return f"{units.watts(gpu.power_mw)}{limit} W"


def _memory(snap: Snapshot) -> str:
    gpu, info = snap.gpu, snap.gpu_info
    if gpu is None or gpu.memory_used_bytes is None:
        return f"memory {units.na(gpu.missing.get('memory_used_bytes') if gpu else None)}"
    total = f"/{units.gigabytes(info.memory_bytes)}" if info and info.memory_bytes else ""
    return f"{units.gigabytes(gpu.memory_used_bytes)}{total} GB"


def _temperature(gpu: GpuSample) -> str:
    return units.reading(gpu.temperature_c, units.celsius, gpu.missing, "temperature_c")
