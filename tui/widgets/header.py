"""The first row: what runs on what, and whether it is live, recorded, or a replay."""

from rich.style import Style

from idlegap.core.session.snapshot import Snapshot
from idlegap.core.text.names import cpu_name, gpu_name, model_name
from idlegap.core.text.sanitize import shorten
from idlegap.core.text.units import elapsed, size
from idlegap.tui.widgets.line import Line
from idlegap.tui.widgets.palette import BAD, BADGE, DIM, GOOD, RULE, STRONG, TEXT, WARN
from idlegap.tui.widgets.panel import Panel
from idlegap.tui.widgets.playback_bar import playback_words
from idlegap.tui.widgets.readings import own_cost

_MODEL = 1
"""The part that is shortened rather than left out: it says whether the weights are real."""

_LEAST_PART = 8


class Header(Panel):
    """Name, device, model, host on the left; the screen's own cost, badges and the state on the
    right."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        right = _right(snap)
        line = Line().add(" idlegap ", STRONG)
        room = width - right.cells - 1
        for i, part in enumerate(_parts(snap)):
            separator = "  " if i == 0 else " · "
            if line.cells + len(separator) + len(part) > room:
                part = shorten(part, room - line.cells - len(separator)) if i == _MODEL else ""
                if len(part) < _LEAST_PART:
                    break
            line.add(separator, RULE).add(part, TEXT if i < 2 else DIM)
        cost = ""
        if snap.monitor is not None and snap.playback is None:
            cost = f"screen {own_cost(snap).replace(' CPU,', '')}"
        if cost and line.cells + len(cost) + 2 <= room:
            line.to(room - len(cost)).add(cost, DIM)
        return [line.to(width - right.cells).extend(right)]


def state_words(snap: Snapshot) -> tuple[str, Style]:
    """The state in capitals and its colour."""
    if snap.playback is not None:
        return f"REPLAY {playback_words(snap.playback)}", GOOD if snap.playback.playing else WARN
    suffix = " in-process (includes UI)" if snap.in_process else ""
    if snap.failed is not None:
        return "ENGINE LOST", BAD
    if snap.paused:
        return f"PAUSED{suffix}", WARN
    if snap.stage.stage == "decoding":
        return f"LIVE{suffix}", GOOD
    since = elapsed(snap.t_ns - snap.stage.since_ns).strip()
    return f"{snap.stage.stage.upper()} {since}{suffix}", WARN


def _right(snap: Snapshot) -> Line:
    line = Line()
    if snap.contention is not None:
        line.add("CONTENDED", BADGE).add("  ")
    recording = snap.recording
    if recording is not None and recording.problem:
        line.add("REC ENDED  ", BAD)
    elif recording is not None:
        line.add(f"REC {size(recording.size_bytes)}  ", BAD)
    state, style = state_words(snap)
    return line.add(f"{state} ", style)


def _parts(snap: Snapshot) -> list[str]:
    parts = []
    engine = snap.engine
    host = snap.host
    if engine is not None:
        parts = [gpu_name(engine.device_name) if engine.device != "cpu" else "CPU", model_name(engine)]
        if engine.batch != 1:
            parts.append(f"batch {engine.batch}")
    if host is not None:
        parts.append(f"{cpu_name(host.cpu_model, 'CPU')}, {host.cores} cores")
    return parts
