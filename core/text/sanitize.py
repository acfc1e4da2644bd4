"""Text from elsewhere (a recording, a model's folder, a driver) made harmless for a terminal, and short."""


def printable(text: str) -> str:
    """`text` without characters that a terminal would obey instead of showing: controls, escape
    sequences, direction overrides. Line ends and tabs become blanks, all others question marks."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def printable_lines(text: str) -> str:
    """`text` of several lines, each of them printable."""
    return "\n".join(map(printable, text.split("\n")))


def shorten(text: str, width: int) -> str:
    """`text` cut to `width` characters, with an ellipsis where something was cut."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"[: max(0, width)]
