"""One formatter for each unit. Widths are fixed, so that a changing number moves nothing.

Every formatter takes the raw value (integer ns, bytes, mW …) and returns text; the largest
value that a real machine shows fits the stated width. What is not known goes through `na`.
"""

from collections.abc import Callable
from typing import TypeVar

from idlegap.core.protocol.reasons import Missing, ReasonOrText
from idlegap.core.text.reasons import words

_Value = TypeVar("_Value")

NS_PER_MS = 1e6
NS_PER_S = 1e9
NA = "n/a"
_NA_SEPARATOR = ": "


def number(value: float, width: int) -> str:
    """`value` with as many decimals (at most 2) as `width` characters allow, right-aligned."""
    for decimals in (2, 1, 0):
        text = f"{value:.{decimals}f}"
        if len(text) <= min(width, 4):
            return text.rjust(width)
    for divisor, suffix in ((1, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")):
        text = f"{value / divisor:.0f}{suffix}"
        if len(text) <= width:
            return text.rjust(width)
    return f"{value:.0e}".rjust(width)


def ms(ns: int | float, width: int = 4) -> str:
    """Milliseconds from ns, without the unit: ``4.18``, ``22.9``, ``1204``."""
    return number(ns / NS_PER_MS, width)


def microseconds(ns: float) -> str:
    """Microseconds from ns with the unit: ``15.9 µs``."""
    return f"{number(ns / 1e3, 4).strip()} µs"


def rate(per_s: float, width: int = 4) -> str:
    """Tokens per second, without the unit: ``53.2``, ``1,389``, ``12,345``, at least `width` wide."""
    return number(per_s, width) if per_s < 999.5 else f"{per_s:,.0f}".rjust(width)


def percent(value: float) -> str:
    """Percent of 0..100 in five characters: `` 88 %``, ``0.3 %``, ``100 %``."""
    if 0 <= value < 9.95:
        return f"{value:.1f} %"
    return f"{value:3,.0f} %"


def percent_words(value: float) -> str:
    """`percent` without padding, for running text."""
    return percent(value).strip()


def share(fraction: float) -> str:
    """A fraction of 0..1 as `percent`."""
    return percent(fraction * 100)


def ratio(value: float) -> str:
    """A speed-up in five characters: ``5.45x``, ``12.1x``."""
    return f"{number(value, 4)}x"


def gigabytes(n_bytes: float) -> str:
    """Decimal gigabytes without the unit: ``3.3``, ``141``."""
    value = n_bytes / 1e9
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}"


def size(n_bytes: int) -> str:
    """A file's size with its unit, decimal: ``640 KB``, ``1.2 MB``, ``14 GB``."""
    value, unit = n_bytes / 1e3, "KB"
    for larger in ("MB", "GB"):
        if value >= 999.5:
            value, unit = value / 1e3, larger
    return f"{value:.1f} {unit}" if unit != "KB" and value < 9.95 else f"{value:.0f} {unit}"


def bandwidth(bytes_per_s: float) -> str:
    """Memory bandwidth with its unit: ``4,290 GB/s``."""
    return f"{bytes_per_s / 1e9:,.0f} GB/s"


def kilobytes_per_s(bytes_per_s: float) -> str:
    """Terminal traffic with its unit: `` 2.1 KB/s``."""
    return f"{number(bytes_per_s / 1e3, 3)} KB/s"


def watts(milliwatts: int) -> str:
    """Watts from mW, without the unit, three characters: ``212``."""
    return f"{milliwatts / 1e3:3.0f}"


def megahertz(mhz: int) -> str:
    """Clock with its unit, nine characters: ``1,980 MHz``."""
    return f"{mhz:5,d} MHz"


def celsius(degrees: int) -> str:
    """Temperature with its unit: ``41 °C``."""
    return f"{degrees} °C"


def count(value: int) -> str:
    """A count with thousands set apart: ``1,432``."""
    return f"{value:,}"


def elapsed(ns: int) -> str:
    """A time that is still running, seven characters: ``  3.1 s``, ``1:05 min``."""
    seconds = max(0, ns) / NS_PER_S
    if seconds < 100:
        return f"{seconds:5.1f} s"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"


def clock(ns: int) -> str:
    """A position in a recording: ``0:07``, ``12:34``, ``1:02:03``."""
    seconds = max(0, ns) // 10**9
    hours, minutes = divmod(seconds // 60, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{seconds % 60:02d}"
    return f"{minutes}:{seconds % 60:02d}"


def shorten(text: str, width: int) -> str:
    """`text` cut to `width` characters, with an ellipsis where something was cut."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"[: max(0, width)]


def na(reason: ReasonOrText | None, width: int | None = None) -> str:
    """``n/a`` and why, cut to `width` where one is given."""
    text = f"{NA}{_NA_SEPARATOR}{words(reason)}" if reason else NA
    return text if width is None else shorten(text, width)


def without_reason(text: str) -> str:
    """`text` with a missing value's reason left out: ``quota n/a``."""
    before, found, _ = text.partition(f"{NA}{_NA_SEPARATOR}")
    return f"{before}{NA}" if found else text


def reading(
    value: _Value | None,
    show: Callable[[_Value], str],
    missing: Missing,
    field: str,
    width: int | None = None,
) -> str:
    """A sensor's `value` through `show`, or ``n/a`` with the reason that `missing` has for `field`."""
    return na(missing.get(field), width) if value is None else show(value)
