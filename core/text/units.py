"""One formatter for each unit: raw values in (ns, bytes, mW, shares), text out.

Text without a `width` is for sentences and tables. With a `width` it always fills that many
characters, so that a changing number moves nothing on the screen. What is not known goes through
`na` and is never 0.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from idlegap.core.protocol.reasons import Missing, ReasonOrText
from idlegap.core.text.reasons import words
from idlegap.core.text.sanitize import shorten

if TYPE_CHECKING:
    from idlegap.core.measure.statistics import Ratio

_Value = TypeVar("_Value")

NS_PER_MS, NS_PER_S = 1e6, 1e9

US = "us"
"""Microseconds in all text of the verbs without a screen, which is ASCII on every terminal and in every
file, so that it can be searched and pasted anywhere. The screen and the HTML page write µs."""

NA = "n/a"
_NA_SEPARATOR = ": "


def figure(value: float) -> str:
    """Three significant digits, two decimals at most: ``0.72``, ``4.18``, ``22.9``, ``1,204``."""
    for decimals in (2, 1):
        text = f"{value:.{decimals}f}"
        if len(text.lstrip("-")) <= 4:
            return text
    return f"{value:,.0f}"


def fitted(value: float, width: int) -> str:
    """`value` in exactly `width` characters (at least 3), right-aligned: ``22.9``, ``1204``, `` 12k``."""
    for decimals in (2, 1, 0):
        text = f"{value:.{decimals}f}"
        if len(text) <= min(width, 4):
            return text.rjust(width)
    for divisor, suffix in ((1, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")):
        text = f"{value / divisor:.0f}{suffix}"
        if len(text) <= width:
            return text.rjust(width)
    return f"{value:.0e}".rjust(width)


def ms(ns: float, width: int | None = None) -> str:
    """Milliseconds, without the unit: ``0.72``, ``4.18``, ``22.9``."""
    return figure(ns / NS_PER_MS) if width is None else fitted(ns / NS_PER_MS, width)


def us(ns: float) -> str:
    """Microseconds, without the unit: ``15.9``."""
    return figure(ns / 1e3)


def rate(per_s: float, width: int | None = None) -> str:
    """Tokens per second: ``238.4``, ``1,389``; with a `width` no more than three digits below 1,000, and
    at least as wide."""
    if per_s >= 999.5:
        return f"{per_s:,.0f}".rjust(width or 0)
    return f"{per_s:.1f}" if width is None else fitted(per_s, width)


def pct(value: float) -> str:
    """A value in percent, at most five characters up to 999: ``88 %``, ``0.3 %``, ``0.0 %``."""
    return f"{value:.1f} %" if abs(value) < 9.95 else f"{value:,.0f} %"


def percent(share: float) -> str:
    """A share of 0..1 in percent: ``82 %``, ``0.4 %``."""
    return pct(100 * share)


def tenths(share: float) -> str:
    """A share of 0..1 in tenths of a percent: ``75.2 %``."""
    return f"{100 * share:.1f} %"


def times(factor: float) -> str:
    """A ratio: ``5.33x``, ``12.1x``."""
    return f"{figure(factor)}x"


def interval(ratio: "Ratio") -> str:
    """A ratio with its interval: ``5.33x (5.21-5.45)``."""
    if ratio.low is None or ratio.high is None:
        return f"{times(ratio.value)} (no interval: {ratio.runs} run{'s' * (ratio.runs != 1)})"
    return f"{times(ratio.value)} ({ratio.low:.2f}-{ratio.high:.2f})"


def count(value: int) -> str:
    """A count with thousands set apart: ``1,432``."""
    return f"{value:,}"


def gigabytes(n_bytes: float) -> str:
    """Decimal gigabytes, without the unit: ``3.21``, ``141``."""
    return figure(n_bytes / 1e9)


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


def na(reason: ReasonOrText | None, width: int | None = None) -> str:
    """``n/a`` and why, cut to `width` where one is given."""
    text = f"{NA}{_NA_SEPARATOR}{words(reason)}" if reason else NA
    return text if width is None else shorten(text, width)


def shown(value: _Value | None, show: Callable[[_Value], str]) -> str:
    """`value` through `show`, or ``n/a``."""
    return NA if value is None else show(value)


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
