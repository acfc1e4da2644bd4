"""What the engine is doing before the first token, and for how long."""

from idlegap.core.session.snapshot import Snapshot, StageView
from idlegap.core.text.phrases import STAGES
from idlegap.core.text.sanitize import shorten
from idlegap.core.text.units import elapsed, percent
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.line import Line, wrapped
from idlegap.tui.widgets.palette import DIM, GOOD, KEY, STRONG, TEXT, WORK
from idlegap.tui.widgets.panel import Panel

_GAUGE_CELLS = 30
_DETAIL_AT = 40
_INTRODUCTION = (
    "A language model will decode here, one token at a time, on this machine. For each token you "
    "will see how long the GPU computes and how long it idles because the host has not given it work "
    "yet. Press space then to replay the same kernels from a CUDA graph, and watch the idle "
    "time close."
)


class Loading(Panel):
    """The stages so far with the time each one took, the running one with its progress."""

    def __init__(self, level: GlyphLevel, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(level, id=id)
        self._past: list[tuple[str, int]] = []
        self._stage: StageView | None = None

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        if snap.playback is None:  # jumps through a recording would make up times
            self._remember(snap.stage)
        stage = snap.stage
        lines = [Line()] if height > 8 else []
        lines += [
            Line().add("   ✓ ", GOOD).add(f"{words:<34}", DIM).add(elapsed(took_ns), DIM)
            for words, took_ns in self._past
        ]
        now = Line().add("   ▸ ", KEY).add(f"{STAGES[stage.stage]:<34}", STRONG)
        now.add(elapsed(snap.t_ns - stage.since_ns), TEXT)
        lines.append(now)
        if stage.detail:
            lines.append(Line().to(5).add(shorten(stage.detail, width - 6), TEXT))
        if stage.fraction is not None:
            gauge = Line().to(5).gauge(stage.fraction, _GAUGE_CELLS, WORK)
            lines.append(gauge.add(f" {percent(stage.fraction):>5}", TEXT))
        lines.append(Line())
        introduction = wrapped(_INTRODUCTION, min(width, 76), 6, "   ", DIM)
        if len(lines) + len(introduction) <= height and snap.playback is None:
            lines += introduction
        return lines[-height:] if len(lines) > height else lines

    def _remember(self, stage: StageView) -> None:
        before = self._stage
        if before is not None and before.since_ns != stage.since_ns and before.stage != stage.stage:
            self._past.append((STAGES[before.stage], stage.since_ns - before.since_ns))
        if before is None or before.stage != stage.stage:
            self._stage = stage
        if stage.stage == "starting":
            self._past = []
