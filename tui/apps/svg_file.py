"""Saving the screen as an SVG file."""

import re
import time
from pathlib import Path

_WEB_FONTS = re.compile(r"\s*@font-face\s*\{.*?\}", re.DOTALL)


def save_svg(svg: str, folder: Path, name: str) -> Path:
    """Write `svg` to a new file in `folder`, its name made of `name` and the local time.

    Rich's SVG asks a web server for its font; the file should work without a network, so it
    falls back to the reader's own fixed-width font.

    Raises:
        OSError: the folder cannot be written to.
    """
    stem = f"idlegap-{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    path = folder / f"{stem}.svg"
    number = 2
    while path.exists():
        path = folder / f"{stem}-{number}.svg"
        number += 1
    path.write_text(_WEB_FONTS.sub("", svg), encoding="utf-8")
    return path
