"""The host: is the decode thread's core its own, and who else wants it?"""

from idlegap.core.phrasing.contention import contention_words
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.text.names import cpu_name
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets import readings
from idlegap.tui.widgets.cores import core_line, cores_per_bar, marker_column
from idlegap.tui.widgets.line import LABEL_AT, Line, joined, labelled, title
from idlegap.tui.widgets.palette import BAD, DIM, HOST, STRONG
from idlegap.tui.widgets.panel import Panel

SHORT_CORES = 32


class HostPanel(Panel):
    """Two rows where room is scarce, a row for each reading where it is not."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        if height > 2:
            return _tall(snap, width, height, self.level)
        return _short(snap, width, self.level)


def _short(snap: Snapshot, width: int, level: GlyphLevel) -> list[Line]:
    first = Line().add(" host", STRONG).to(LABEL_AT)
    cpu = snap.cpu
    stale = readings.staleness(cpu, snap)
    if stale:
        first.add(f"{stale}  ", BAD)
    elif cpu is not None and cpu.core_pct:
        first.extend(core_line(cpu.core_pct, cpu.decode_core, SHORT_CORES, level)).add("  ")
    place = [("decode on core", readings.decode_core(cpu)), ("run delay", readings.run_delay(snap))]
    machine = [
        *([("", contention_words(snap.contention))] if snap.contention is not None else []),
        *([("CPU time", readings.cpu_work(snap))] if snap.cpu_work and snap.cpu_work.slow else []),
        *([("", readings.own_neighbours(snap.neighbours))] if snap.neighbours else []),
        ("others", readings.others(cpu)),
        ("steal", readings.steal(cpu)),
        ("pressure", readings.pressure(snap.cgroup)),
        ("", readings.quota(snap.cgroup)),
    ]
    return [joined(first, place, width), joined(Line().to(LABEL_AT), machine, width)]


def _tall(snap: Snapshot, width: int, height: int, level: GlyphLevel) -> list[Line]:
    cpu, host = snap.cpu, snap.host
    lines = [title("host", cpu_name(host.cpu_model, "CPU") if host else "", width)]
    if cpu is not None:
        cells = width - 2
        lines.append(Line().to(1).extend(core_line(cpu.core_pct, cpu.decode_core, cells, level)))
        group = cores_per_bar(len(cpu.core_pct), cells)
        at = marker_column(cpu.core_pct, cpu.decode_core, cells)
        note = f"decode on core {readings.decode_core(cpu)}" + (f", {group} cores a bar" if group > 1 else "")
        marker = Line()
        if at is None:
            marker.add(f" {note}", DIM)
        elif at + 4 + len(note) <= width:
            marker.to(1 + at).add("▲ ", HOST).add(note, DIM)
        else:
            marker.to(max(0, at - len(note))).add(note, DIM).add(" ▲", HOST)
        lines.append(marker)
    rows = [
        ("run delay", readings.run_delay(snap)),
        ("CPU time of a token", readings.cpu_work(snap) if snap.cpu_work is not None else ""),
        (
            "CPU of others",
            f"{readings.others(cpu)} of one core"
            if cpu and cpu.others_pct is not None
            else readings.others(cpu),
        ),
        ("steal", readings.steal(cpu)),
        ("CPU quota", readings.quota(snap.cgroup).removeprefix("quota ")),
        ("pressure", readings.pressure(snap.cgroup)),
        ("cores", _cores(snap)),
        ("where it runs", _place(snap)),
        ("this screen costs", "" if _unrecorded(snap) else readings.own_cost(snap)),
    ]
    rows = [
        ("CPU readings", readings.staleness(cpu, snap)),
        ("CONTENDED", contention_words(snap.contention)),
        ("beside it", readings.own_neighbours(snap.neighbours) if snap.neighbours else ""),
        *rows,
    ]
    lines += [labelled(label, value, width) for label, value in rows if value]
    return lines[:height]


def _unrecorded(snap: Snapshot) -> bool:
    """Whether this is a replay of a run without a screen, whose cost would be that of nothing."""
    return snap.playback is not None and snap.monitor is None


def _cores(snap: Snapshot) -> str:
    host, cpu = snap.host, snap.cpu
    if host is None:
        return ""
    text = f"{host.usable_cores:g} usable of {host.cores}"
    if cpu is not None and cpu.core_mhz is not None:
        text += f", {cpu.core_mhz:,.0f} MHz"
    if cpu is not None and cpu.load_1m is not None:
        text += f", load {cpu.load_1m:.1f}"
    return text


def _place(snap: Snapshot) -> str:
    host = snap.host
    if host is None:
        return ""
    places = [p for p in (host.virtualization, host.container) if p]
    return ", ".join(places) or "bare metal, no container seen"
