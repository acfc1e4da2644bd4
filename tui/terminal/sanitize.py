"""Text from elsewhere (a recording, a model's folder, a driver) made harmless for a terminal."""


def clean(text: str) -> str:
    """`text` without characters that a terminal would obey instead of showing: controls, escape
    sequences, direction overrides. Line ends and tabs become blanks, all others question marks."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def clean_lines(text: str) -> str:
    """`text` of several lines, each of them clean."""
    return "\n".join(map(clean, text.split("\n")))
