"""Figures as short text, for the sentences and tables of reports. Raw values in, units out."""

from idlegap.core.measure.statistics import Ratio

US = "us"
"""The unit in all text of the verbs without a screen, which is ASCII on every terminal and in every
file, so that it can be searched and pasted anywhere. The screen and the HTML page write µs."""


def ms(ns: float) -> str:
    """Milliseconds with three significant digits, without the unit: ``0.72``, ``4.18``, ``22.9``."""
    value = ns / 1e6
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def us(ns: float) -> str:
    """Microseconds with one decimal, without the unit: ``15.9``."""
    return f"{ns / 1e3:.1f}"


def rate(per_s: float) -> str:
    """Tokens per second: ``238.4``, ``1,389``."""
    return f"{per_s:,.0f}" if per_s >= 1000 else f"{per_s:.1f}"


def percent(share: float) -> str:
    """A share of 0..1 in percent: ``82 %``, ``0.4 %``."""
    value = 100 * share
    return f"{value:.1f} %" if 0 < abs(value) < 9.95 else f"{value:.0f} %"


def tenths(share: float) -> str:
    """A share of 0..1 in tenths of a percent: ``75.2 %``."""
    return f"{100 * share:.1f} %"


def gigabytes(count: float) -> str:
    """Decimal gigabytes: ``3.21``, ``141``."""
    value = count / 1e9
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def bandwidth(bytes_per_s: float) -> str:
    """Bandwidth with its unit: ``4,272 GB/s``."""
    return f"{bytes_per_s / 1e9:,.0f} GB/s"


def times(factor: float) -> str:
    """A ratio: ``5.33x``, ``12.1x``."""
    return f"{factor:.1f}x" if factor >= 9.995 else f"{factor:.2f}x"


def interval(ratio: Ratio) -> str:
    """A ratio with its interval: ``5.33x (5.21-5.45)``."""
    if ratio.low is None or ratio.high is None:
        return f"{times(ratio.value)} (no interval: {ratio.runs} run{'s' * (ratio.runs != 1)})"
    return f"{times(ratio.value)} ({ratio.low:.2f}-{ratio.high:.2f})"


def sentence(text: str) -> str:
    """`text` with a capital at its head and a full stop at its end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def gpu_name(name: str) -> str:
    """A GPU's name without its vendor."""
    return name.removeprefix("NVIDIA ").removeprefix("GeForce ")


def cpu_name(model: str | None) -> str:
    """A CPU's name without trademarks, core count and clock; ``n/a`` where it is not known."""
    text = (model or "n/a").split("@")[0]
    for noise in ("(R)", "(TM)", "(r)", "(tm)"):
        text = text.replace(noise, "")
    words = [w for w in text.split() if w not in {"CPU", "Processor", "Intel", "AMD"}]
    return " ".join(w for w in words if not w.endswith("-Core")) or text.strip()
