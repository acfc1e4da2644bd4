"""Sizes on the command line."""

import re

from idlegap.tui.commands.base import UsageError

_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMG]?)B?", re.IGNORECASE)
_FACTORS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}

_MOST = 1e18


def parse_size(option: str, text: str) -> int:
    """Bytes of ``500M``, ``1.5GB`` or ``250000``; K, M and G are decimal.

    Raises:
        UsageError: naming `option`, for anything else.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{option} {text}: expected a size such as 500M or 1.5G")
    size = float(found[1]) * _FACTORS[found[2].upper()]
    if size > _MOST:
        raise UsageError(f"{option} {text}: more than any disk holds")
    return round(size)
