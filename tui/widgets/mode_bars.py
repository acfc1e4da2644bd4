"""Where one token goes, as a bar for each mode on one scale: the point of the whole screen."""

from dataclasses import dataclass

from rich.style import Style

from idlegap.core.protocol.modes import BASELINE, REPLAYED
from idlegap.core.session.snapshot import ModeView, Snapshot
from idlegap.core.text import units
from idlegap.core.text.sanitize import shorten
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.line import Line
from idlegap.tui.widgets.palette import BAD, BOUND, DIM, GAP, HOST, KEY, STRONG, TEXT, WARN, WORK
from idlegap.tui.widgets.panel import Panel

_BAR_AT = 24
_AFTER_SPLIT, _AFTER_PLAIN = 18, 22
"""Cells behind the bars for the idle share or for the longer dispatch share, and the speed-up."""
_LEAST_BAR = 8
_STEADY = 0.94
"""The common scale stays while the longest bar fills this share of it, so that a median which
wobbles moves one bar and not all of them."""


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of time: how it is drawn and what it is called."""

    glyph: str
    name: str
    style: Style


SPLIT_PARTS: tuple[Part, ...] = (
    Part("█", "bound", BOUND),
    Part("▓", "other kernels", WORK),
    Part("░", "launch+device gap", GAP),
    Part("·", "host", HOST),
)
PLAIN_PARTS: tuple[Part, ...] = (
    Part("/", "dispatch (the host submits)", HOST),
    Part("=", "wait (for the device)", WORK),
)
CHANGED = "*"
"""Marks modes that were visited while the host had different speeds."""
FIRST_ROUND = "first"
"""Stands for the speed-up of a mode that has only met new cache lengths so far."""
_UNCOUNTED = Part(FIRST_ROUND, "round, does not count", WARN)
_MARK = Part(CHANGED, "host changed speed", WARN)
_ON_CPU = ("dispatch (the CPU computes)", "wait")
"""Without a device, submitting a token is computing it."""

_BRIEF = {
    "█": "bound",
    "▓": "other",
    "░": "launch+gap",
    "·": "host",
    "/": "dispatch",
    "=": "wait",
    CHANGED: "host changed",
    FIRST_ROUND: "round",
}
"""Shorter names, for narrow screens and while some modes have been measured and others not."""


class ModeBars(Panel):
    """A legend and one row for each mode; modes not visited yet say how to get there."""

    def __init__(self, level: GlyphLevel, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(level, id=id)
        self._scale_ns = 0

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        longest_ns = max((m.wall_ns for m in snap.modes if m.wall_ns is not None), default=0)
        if not _STEADY * self._scale_ns <= longest_ns <= self._scale_ns:
            self._scale_ns = round(longest_ns / (1 + _STEADY) * 2)
        rows = shown_rows(snap.modes, height - 1)
        after = _AFTER_PLAIN if any(row.visited and row.split is None for row in rows) else _AFTER_SPLIT
        on_cpu = snap.engine is not None and snap.engine.device == "cpu"
        lines = [_row(row, self._scale_ns, width, after, live=snap.playback is None) for row in rows]
        # The slower one alone: marked at the baseline, it would put all ratios in doubt.
        concerned = {change.modes[0] for change in snap.host_changes}
        changed = concerned & {row.name for row in rows if row.speedup}
        for line, row in zip(lines, rows, strict=True):
            if row.name in changed:
                line.add(CHANGED, WARN)
        return [_legend(rows, width, on_cpu=on_cpu, changed=bool(changed)), *lines]


def shown_rows(modes: tuple[ModeView, ...], room: int) -> list[ModeView]:
    """The rows that fit into `room`, in key order: visited modes first, then those that could
    be, then those that cannot run here."""
    by_need = sorted(modes, key=lambda m: (not m.current, not m.visited, m.reason is not None, m.key))
    kept = {m.name for m in by_need[: max(0, room)]}
    return [m for m in modes if m.name in kept]


def split_cells(parts_ns: list[int], scale_ns: int, cells: int) -> list[int]:
    """Cells of each part of a bar of `cells` for `scale_ns`; rounding errors do not add up."""
    ends = []
    total = 0
    for part in parts_ns:
        total += part
        ends.append(min(cells, round(total / scale_ns * cells)) if scale_ns > 0 else 0)
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def _legend(rows: list[ModeView], width: int, *, on_cpu: bool, changed: bool) -> Line:
    line = Line().add(" where a token goes  ", STRONG)
    split = any(row.split for row in rows)
    plain = any(row.visited and row.split is None for row in rows)
    parts = [*(SPLIT_PARTS if split or not plain else ()), *(PLAIN_PARTS if plain else ())]
    names = list(_ON_CPU) if plain and on_cpu else [part.name for part in parts]
    for part, shown in ((_MARK, changed), (_UNCOUNTED, any(row.first_round for row in rows))):
        if shown:
            parts.append(part)
            names.append(part.name)
    room = sum(len(part.glyph) + len(name) + 3 for part, name in zip(parts, names, strict=True)) - 2
    if _BAR_AT + room > width:
        names = [_BRIEF[part.glyph] for part in parts]
    else:
        line.to(_BAR_AT)
    for part, name in zip(parts, names, strict=True):
        if line.cells + len(part.glyph) + len(name) + 1 > width:
            break
        line.add(f"{part.glyph} ", part.style).add(f"{name}  ", DIM)
    return line


def _row(row: ModeView, scale_ns: int, width: int, after: int, *, live: bool) -> Line:
    line = Line().add(" ▸ " if row.current else "   ", KEY)
    line.add(f"{row.key} ", KEY if row.reason is None else DIM)
    line.add(f"{row.name:<13}", STRONG if row.current else TEXT if row.reason is None else DIM)
    if row.wall_ns is None:
        return line.to(_BAR_AT).add(shorten(_invitation(row, live=live), width - _BAR_AT), DIM)
    line.add(f"{units.ms(row.wall_ns, 4)} ", STRONG if row.current else TEXT).to(_BAR_AT)
    cells = width - _BAR_AT - after
    if cells >= _LEAST_BAR:
        _bar(line, row, scale_ns, cells)
    line.to(width - after + 1).add(_share(row), TEXT)
    if row.verified is not None and row.verified.flagged:
        line.add(" WRONG", BAD)
    elif row.first_round:
        line.add(f"{FIRST_ROUND:>6}", WARN)
    elif row.speedup is not None and row.name != BASELINE:
        line.add(f"{units.times(row.speedup):>6}", DIM)
    elif row.name == BASELINE:
        line.add("  base", DIM)
    return line


def _bar(line: Line, row: ModeView, scale_ns: int, cells: int) -> None:
    if row.split is not None:
        split = row.split
        gaps_ns = split.launch_latency_ns + split.device_gap_ns
        parts_ns = [split.bound_ns or 0, split.other_ns, gaps_ns, split.host_gap_ns]
        parts = SPLIT_PARTS
    else:
        parts_ns = [row.dispatch_ns or 0, row.wait_ns or 0]
        parts = PLAIN_PARTS
    for part, n in zip(parts, split_cells(parts_ns, scale_ns, cells), strict=True):
        line.add(part.glyph * n, part.style)


def _share(row: ModeView) -> str:
    wall_ns = row.wall_ns or 1
    if row.split is not None:
        return f"{units.percent(row.split.idle_ns / wall_ns):>5} idle"
    if row.dispatch_ns is not None:
        return f"{units.percent(row.dispatch_ns / wall_ns):>5} dispatch"
    return ""


def _invitation(row: ModeView, *, live: bool) -> str:
    if row.reason is not None:
        return units.na(row.reason)
    if row.current:
        return f"no token yet: {row.summary}"
    if not live:
        return f"not visited yet: {row.summary}"
    keys = f"press {row.key}" + (" or space" if row.name in (BASELINE, REPLAYED) else "")
    return f"{keys}: {row.summary}"
