"""The help page: keys, modes, and how to read the charts."""

from rich.style import Style

from idlegap.core.protocol.modes import BASELINE, MODES, REPLAYED
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.text.units import na
from idlegap.tui.widgets.cause_marks import MARKS, UNKNOWN_MARK
from idlegap.tui.widgets.line import Line, wrapped
from idlegap.tui.widgets.mode_bars import PLAIN_PARTS, SPLIT_PARTS
from idlegap.tui.widgets.palette import DIM, KEY, STRONG, TEXT
from idlegap.tui.widgets.strip.cells import CUT

_PAGES = (
    ("w", "why tokens were slow: causes, evidence, advice"),
    ("e", "explain each number with its value now"),
    ("d", "detail: kernels, ceilings, utilisation side by side"),
    ("s", "save the screen as an SVG picture here"),
)
KEYS = (
    ("space", f"switch between {BASELINE} and {REPLAYED}: the same kernels, submitted differently"),
    ("1 - 6", "enter a mode"),
    ("p", "pause decoding, or go on"),
    ("t", "restart the round with its prefill"),
    ("m", "measure device time in this mode now (a short pause)"),
    ("v", "verify that this mode decodes the same tokens as eager-static"),
    ("b B", "twice or half as many sequences at once"),
    ("[ ]", "a prompt of half or twice the length"),
    ("n N", "start and end a noisy neighbour: a busy process on this machine"),
    ("r", "start a recording here, or end it"),
    *_PAGES,
    ("R", "start the engine again after it has ended"),
    ("q", "quit (ctrl+c too)"),
)
REPLAY_KEYS = (
    ("space p", "play or pause; at the end, play again"),
    ("+ -", "play faster or slower, from 0.25x to 16x"),
    (".", "pause at the end of the next token"),
    (">", "go to where the mode changes next"),
    ("!", "go to the next slow token"),
    ("arrows", "left and right: go 5 s back or ahead"),
    *_PAGES,
    ("q", "quit (ctrl+c too)"),
)
_KEY_AT = 12


def help_text(snap: Snapshot, width: int) -> list[Line]:
    """The rows of the help page."""
    lines = [Line(), _heading("keys")]
    for key, meaning in KEYS if snap.playback is None else REPLAY_KEYS:
        lines += _entry(key, meaning, width)
    lines += [Line(), _heading("modes")]
    for spec in MODES:
        view = snap.mode_view(spec.name)
        text = f"{spec.name}: {spec.summary}; shows {spec.isolates}"
        if view is not None and view.reason is not None:
            text += f" ({na(view.reason)})"
        lines += _entry(spec.key, text, width)
    lines += [Line(), _heading("how to read the charts")]
    for part, meaning in zip((*SPLIT_PARTS, *PLAIN_PARTS), _PART_MEANINGS, strict=True):
        lines += _entry(part.glyph * 3, f"{part.name}: {meaning}", width, part.style)
    lines += _entry("strip", _STRIP, width)
    lines += _entry(UNKNOWN_MARK, "a token far slower than its neighbours", width)
    letters = ", ".join(f"{letter} {cause}" for cause, letter in MARKS.items() if letter != UNKNOWN_MARK)
    lines += _entry("A - Z", f"the same, once its cause is known: {letters}", width)
    lines += _entry(CUT, "a token or two, far above all others, cut off here", width)
    return lines


_PART_MEANINGS = (
    "reading the weights once at measured bandwidth",
    "the rest of the time in which kernels run",
    "a kernel was submitted, but had not begun",
    "nothing was submitted: the device idles for the host",
    "shown until device time has been measured",
    "likewise",
)
_STRIP = (
    "every column is half a second; solid up to the device's own work, dotted up to the median "
    "token, a single dot at the slowest one. Lines: device busy and the weight-stream bound."
)


def _heading(text: str) -> Line:
    return Line().add(f" {text}", STRONG)


def _entry(key: str, meaning: str, width: int, ink: Style = KEY) -> list[Line]:
    rows = wrapped(meaning, min(width, 100) - _KEY_AT, 4, "", TEXT if key else DIM)
    heads = [f"   {key}", *[""] * len(rows)]
    return [Line().add(head, ink).to(_KEY_AT).extend(row) for head, row in zip(heads, rows, strict=False)]
