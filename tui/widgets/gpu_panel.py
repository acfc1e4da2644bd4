"""The GPU: NVML's utilisation, which everyone looks at, beside device busy."""

from idlegap.core.protocol.events import GpuSample
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.text import units
from idlegap.core.text.names import gpu_name
from idlegap.core.text.sanitize import shorten
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets import readings
from idlegap.tui.widgets.line import LABEL_AT, Line, labelled, title, wrapped
from idlegap.tui.widgets.palette import BAD, DIM, STRONG, TEXT, WARN, WORK
from idlegap.tui.widgets.panel import Panel

_SHORT_REASON = 26
_GAUGE_AT = 20
_GAUGE_CELLS = 10


class GpuPanel(Panel):
    """Two rows where room is scarce, gauges and a row for each reading where it is not."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        if height > 2:
            return _tall(snap, width, height, self.level)
        return _short(snap, width)


def _short(snap: Snapshot, width: int) -> list[Line]:
    first = Line().add(" gpu", STRONG).to(LABEL_AT)
    gpu = snap.gpu
    if gpu is None:
        first.add(units.na(readings.gpu_absence(snap), width - LABEL_AT), TEXT)
        second = Line().to(LABEL_AT).add("device busy ", DIM)
        return [first, second.add(readings.busy(snap, width - second.cells).rjust(5))]
    stale = readings.staleness(gpu, snap)
    if stale:
        first.add(f"{stale}  ", BAD)
    first.add("NVML util ", DIM).add(
        units.reading(gpu.util_pct, readings.five_cells, gpu.missing, "util_pct", _SHORT_REASON)
    )
    first.add("  device busy ", DIM).add(readings.busy(snap, _SHORT_REASON).rjust(5), WORK)
    for name, value, field in (
        ("SM", gpu.gpm_sm_pct, "gpm_sm_pct"),
        ("DRAM", gpu.gpm_dram_pct, "gpm_dram_pct"),
    ):
        text = units.reading(value, readings.five_cells, gpu.missing, field, _SHORT_REASON)
        if first.cells + len(name) + len(text) + 3 <= width:
            first.add(f"  {name} ", DIM).add(text)
    clock, slowed = readings.sm_clock(gpu)
    second = Line().to(LABEL_AT).add(clock, WARN if slowed else TEXT)
    for text in (_power(snap), _memory(snap), _temperature(gpu)):
        if second.cells + len(text) + 3 <= width:
            second.add(" · ", DIM).add(text)
    return [first, second]


def _tall(snap: Snapshot, width: int, height: int, level: GlyphLevel) -> list[Line]:
    info, gpu = snap.gpu_info, snap.gpu
    about = f"{gpu_name(info.name)}, driver {info.driver or 'n/a'}" if info and info.name else ""
    lines = [title("gpu", about, width)]
    busy = readings.busy_share(snap)
    busy_line = _gauge(
        "device busy", busy and busy * 100, readings.busy(snap).rjust(5), "of a token's time", width
    )
    if gpu is None:
        reason = wrapped(units.na(readings.gpu_absence(snap)), width, 2, " ", TEXT)
        return [*lines, *reason, busy_line][:height]
    stale = readings.staleness(gpu, snap)
    if stale:
        lines.append(labelled("GPU readings", stale, width))
    missing = gpu.missing

    def gauge(name: str, value: float | None, field: str, meaning: str) -> Line:
        return _gauge(name, value, units.reading(value, readings.five_cells, missing, field), meaning, width)

    lines += [
        gauge("NVML util", gpu.util_pct, "util_pct", "time with any kernel"),
        busy_line,
        gauge("SM active", gpu.gpm_sm_pct, "gpm_sm_pct", "SMs with a warp"),
        gauge("DRAM", gpu.gpm_dram_pct, "gpm_dram_pct", "of its bandwidth"),
    ]
    clock, slowed = readings.sm_clock(gpu)
    lines.append(labelled("SM clock", clock + (" (!)" if slowed else ""), width))
    lines += [
        labelled("power", _power(snap), width),
        labelled("memory", _memory(snap), width),
        labelled("temperature", _temperature(gpu), width),
        labelled("NVML calls take", f"{units.ms(gpu.call_ns)} ms a round", width),
    ]
    return lines[:height]


def _gauge(name: str, pct: float | None, text: str, meaning: str, width: int) -> Line:
    line = Line().add(f" {name}", DIM).to(_GAUGE_AT - 7)
    if pct is None:
        return line.add(shorten(text, max(0, width - line.cells)))
    line.add(text, STRONG).to(_GAUGE_AT)
    line.gauge(pct / 100, _GAUGE_CELLS, WORK).add("  ")
    return line.add(meaning if line.cells + len(meaning) <= width else "", DIM)


def _power(snap: Snapshot) -> str:
    gpu, info = snap.gpu, snap.gpu_info
    if gpu is None or gpu.power_mw is None:
        return f"power {units.na(gpu.missing.get('power_mw') if gpu else None)}"
    limit = f"/{info.power_limit_mw / 1e3:.0f}" if info and info.power_limit_mw else ""
    return f"{gpu.power_mw / 1e3:3.0f}{limit} W"


def _memory(snap: Snapshot) -> str:
    gpu, info = snap.gpu, snap.gpu_info
    if gpu is None or gpu.memory_used_bytes is None:
        return f"memory {units.na(gpu.missing.get('memory_used_bytes') if gpu else None)}"
    total = f"/{units.gigabytes(info.memory_bytes)}" if info and info.memory_bytes else ""
    return f"{units.gigabytes(gpu.memory_used_bytes)}{total} GB"


def _temperature(gpu: GpuSample) -> str:
    return units.reading(gpu.temperature_c, "{} °C".format, gpu.missing, "temperature_c")
