"""Digits three rows high, drawn with half blocks."""

_PIXELS = {
    "0": ("###", "# #", "# #", "# #", "###"),
    "1": (" # ", "## ", " # ", " # ", "###"),
    "2": ("###", "  #", "###", "#  ", "###"),
    "3": ("###", "  #", " ##", "  #", "###"),
    "4": ("# #", "# #", "###", "  #", "  #"),
    "5": ("###", "#  ", "###", "  #", "###"),
    "6": ("###", "#  ", "###", "# #", "###"),
    "7": ("###", "  #", "  #", " # ", " # "),
    "8": ("###", "# #", "###", "# #", "###"),
    "9": ("###", "# #", "###", "  #", "###"),
    ".": (" ", " ", " ", " ", "#"),
    "k": ("# #", "# #", "## ", "# #", "# #"),
    " ": ("   ", "   ", "   ", "   ", "   "),
    "-": ("   ", "   ", "###", "   ", "   "),
}
_HALVES = {"  ": " ", "# ": "▀", " #": "▄", "##": "█"}

ROWS = 3


def big(text: str) -> list[str]:
    """`text` (digits, a point, ``k`` or ``-``) as three rows of equal length.

    Raises:
        KeyError: for any other character.
    """
    rows = []
    for upper, lower in ((0, 1), (2, 3), (4, None)):
        glyphs = []
        for character in text:
            pixels = _PIXELS[character]
            below = pixels[lower] if lower is not None else " " * len(pixels[0])
            glyphs.append("".join(_HALVES[a + b] for a, b in zip(pixels[upper], below, strict=True)))
        rows.append(" ".join(glyphs))
    return rows
