"""The whole monitor in a few rows, for terminals too small for anything else."""

from idlegap.core.phrasing.contention import contention_words
from idlegap.core.phrasing.sentence import limiting_sentence
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.text.names import mode_words
from idlegap.core.text.phrases import STAGES
from idlegap.core.text.units import clock, elapsed, ms, percent, rate
from idlegap.tui.widgets.line import Line, wrapped
from idlegap.tui.widgets.palette import BAD, DIM, KEY, SENTENCE, STRONG, TEXT, WARN
from idlegap.tui.widgets.panel import Panel
from idlegap.tui.widgets.playback_bar import playback_words
from idlegap.tui.widgets.readings import busy_share, is_loading


class Compact(Panel):
    """Mode, speed, the share in which the GPU idles and the sentence: the most important row first."""

    def paint(self, snap: Snapshot, width: int, height: int) -> list[Line]:
        lines: list[Line] = []
        if snap.failed is not None:
            lines += wrapped(f"engine lost: {snap.failed.reason}", width, 3, "", BAD)
            if snap.playback is None:
                lines.append(Line().add("R", KEY).add(" restart "))
        elif is_loading(snap):
            since = elapsed(snap.t_ns - snap.stage.since_ns).strip()
            lines += wrapped(f"{STAGES[snap.stage.stage]} {since}", width, 3, "", STRONG)
        if snap.playback is not None:
            at = f"{clock(snap.playback.position_ns)}/{clock(snap.playback.length_ns)}"
            lines.append(Line().add(f"{playback_words(snap.playback)} {at}", DIM))
        if snap.contention is not None:
            lines.append(Line().add("CONTENDED ", WARN).add(contention_words(snap.contention), TEXT))
        if snap.rate is not None and snap.mode is not None:
            ink = DIM if snap.halted else STRONG
            lines.append(Line().add(f"{rate(snap.rate.tok_per_s, 4)} tok/s", ink))
            lines.append(Line().add(f"{ms(snap.rate.mean_ns, 4)} ms/token", ink))
            state = "  PAUSED" if snap.paused else "  (last)" if snap.halted else ""
            lines.append(Line().add(mode_words(snap.mode), KEY).add(state, WARN))
            busy = busy_share(snap)
            if busy is not None:
                lines.append(Line().add(f"GPU idle {percent(1 - busy)}", TEXT))
        text, style = (snap.message, WARN) if snap.message else (limiting_sentence(snap), SENTENCE)
        room = height - len(lines)
        if room > 1:
            lines += wrapped(text, width, room - 1, "", style)
        if len(lines) < height:
            lines.append(Line().add("?", KEY).add(" help  ", DIM).add("q", KEY).add(" quit", DIM))
        return lines
