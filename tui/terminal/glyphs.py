"""Which characters this terminal can show: braille, then blocks, then plain ASCII.

Panels are written with the richest characters; `GlyphLevel.text` lowers what they wrote to
the terminal's level in one place. Charts choose their own characters by level, because there
the number of dots in a cell changes with it.
"""

from enum import Enum


class GlyphLevel(Enum):
    """How much of Unicode the terminal can draw."""

    BRAILLE = "braille"
    """A UTF-8 terminal with an ordinary font: eight dots to a cell."""

    BLOCKS = "blocks"
    """Code page 437, which text consoles have: half blocks, shades and lines."""

    ASCII = "ascii"
    """No more than seven bits."""

    def text(self, text: str) -> str:
        """`text` with the characters that this level lacks replaced, one for one."""
        if self is GlyphLevel.BRAILLE or text.isascii():
            return text
        if self is GlyphLevel.BLOCKS:
            lowered = text.translate(_TO_BLOCKS)
            return "".join(c if c.isascii() or c in _CONSOLE_FONT else "?" for c in lowered)
        return text.translate(_TO_ASCII).encode("ascii", "replace").decode("ascii")


_CONSOLE_FONT = frozenset(bytes(range(128, 256)).decode("cp437") + "►◄↑↓→←▲▼•")
_TO_BLOCKS = str.maketrans(
    {
        "▸": "►",
        "⇄": "/",
        "┊": "│",
        "╌": "-",
        "━": "═",
        "…": "~",
        "✓": "√",
        "×": "x",
        "—": "-",
        "–": "-",
        "−": "-",
        "’": "'",
    }
)

_TO_ASCII = str.maketrans(
    {
        "▸": ">",
        "►": ">",
        "⇄": "/",
        "┊": ":",
        "│": "|",
        "┤": "|",
        "┼": "+",
        "┴": "+",
        "─": "-",
        "╌": "-",
        "━": "=",
        "…": "~",
        "✓": "+",
        "×": "x",
        "·": ".",
        "µ": "u",
        "°": " ",
        "—": "-",
        "–": "-",
        "−": "-",
        "±": "~",
        "≥": ">",
        "≤": "<",
        "≈": "~",
        "’": "'",
        "↑": "^",
        "↓": "v",
        "▲": "^",
        "█": "#",
        "▓": "%",
        "▒": "=",
        "░": "-",
        "→": ">",
        "←": "<",
    }
)

_CONSOLE_TERMS = ("linux", "vt100", "vt220", "cons25")


def glyph_level(encoding: str, term: str) -> GlyphLevel:
    """The level for a locale's `encoding` (``locale.getencoding()``) and a TERM of `term`."""
    if not encoding.lower().replace("-", "").startswith("utf8"):
        return GlyphLevel.ASCII
    return GlyphLevel.BLOCKS if term in _CONSOLE_TERMS else GlyphLevel.BRAILLE
