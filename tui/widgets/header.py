"""The first row: what runs on what, and whether it is live."""

from rich.style import Style

from core.snapshot import Snapshot
from tui.line import Line
from tui.palette import BAD, DIM, GOOD, RULE, STRONG, TEXT, WARN
from tui.units import elapsed
from tui.widgets.panel import Panel
from tui.widgets.readings import own_cost
from tui.words import cpu_words, gpu_words, model_words


class Header(Panel):
    """Name, device, model, host on the left; the screen's own cost and the state on the right."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        state, style = state_words(snap)
        line = Line().add(" idlegap ", STRONG)
        room = width - len(state) - 2
        for i, part in enumerate(_parts(snap)):
            separator = "  " if i == 0 else " · "
            if line.cells + len(separator) + len(part) > room:
                break
            line.add(separator, RULE).add(part, TEXT if i < 2 else DIM)
        cost = f"screen {own_cost(snap).replace(' CPU,', '')}" if snap.monitor is not None else ""
        if cost and line.cells + len(cost) + 2 <= room:
            line.to(room - len(cost)).add(cost, DIM)
        return [line.right(f"{state} ", width, style)]


def state_words(snap: Snapshot) -> tuple[str, Style]:
    """The state in capitals and its colour."""
    suffix = " in-process (includes UI)" if snap.in_process else ""
    if snap.failed is not None:
        return "ENGINE LOST", BAD
    if snap.paused:
        return f"PAUSED{suffix}", WARN
    if snap.stage.stage == "decoding":
        return f"LIVE{suffix}", GOOD
    since = elapsed(snap.t_ns - snap.stage.since_ns).strip()
    return f"{snap.stage.stage.upper()} {since}{suffix}", WARN


def _parts(snap: Snapshot) -> list[str]:
    parts = []
    engine = snap.engine
    host = snap.host
    if engine is not None:
        parts = [gpu_words(engine.device_name) if engine.device != "cpu" else "CPU", model_words(engine)]
        if engine.batch != 1:
            parts.append(f"batch {engine.batch}")
    if host is not None:
        parts.append(f"{cpu_words(host.cpu_model)}, {host.cores} cores")
    return parts
