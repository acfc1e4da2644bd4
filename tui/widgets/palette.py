"""The screen's colours, by meaning. Each meaning also has a word or a shape of its own."""

from rich.style import Style

BACKGROUND = "#0f1419"


def _ink(color: str, *, bold: bool = False, reverse: bool = False) -> Style:
    return Style(color=color, bgcolor=BACKGROUND, bold=bold or None, reverse=reverse or None)


TEXT = _ink("#bfc7d0")
STRONG = _ink("#f2f5f8", bold=True)
DIM = _ink("#7d8794")
RULE = _ink("#3a434e")
KEY = _ink("#8fc7ff", bold=True)
SENTENCE = _ink("#ffe9b0")

GOOD = _ink("#6fd08c", bold=True)
WARN = _ink("#f0b45a", bold=True)
BAD = _ink("#ff7b72", bold=True)

BADGE = _ink("#f0b45a", bold=True, reverse=True)

BOUND = _ink("#3ddbc0")
"""Device work that reading the weights alone needs."""

WORK = _ink("#4f9cf0")
"""The rest of the device's work, and waiting for the device."""

GAP = _ink("#e3b341")
"""Launch latency and gaps between kernels."""

HOST = _ink("#ff8a65")
"""Time in which the host kept the device waiting, and dispatch."""

WHOLE = _ink("#93a1b0")
"""Time whose parts are not known yet."""
