"""Robust summaries of token times, and ratios of two modes with honest intervals.

Token times are skewed and autocorrelated, and rented hosts drift. So medians rather than means
describe them, a whole run is the unit that is resampled, and interleaved runs are compared in
pairs, where drift cancels. "No significant difference" is an answer, and so is "too few runs".

Bench has about five runs a mode. A plain percentile bootstrap of so few is too narrow: it
resamples with the variance over n instead of n - 1, and knows nothing of Student's wider tails.
The deviations from the estimate are therefore stretched, on the log scale, by sqrt(n / (n - 1)),
and by t / z (T. Hesterberg, "What Teachers Should Know About the Bootstrap", The American
Statistician 69(4), 2015).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, median
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEVEL = 0.95
"""Confidence level of every published interval."""

TAIL = (1 - LEVEL) / 2

RESAMPLES = 4000
"""Enough that the ends of an interval move by less than 1 % of its width with the seed."""

MIN_RUNS = 3
"""Two runs have one degree of freedom: their 95 % interval spans everything."""

SEED = 20261129
"""The same runs must always give the same interval."""

Difference = Literal["higher", "lower", "no significant difference", "too few runs"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """a over b: the estimate, its interval, and what may be concluded.

    `low` and `high` are None where there were too few runs for an interval; `difference` is
    "higher" or "lower" only where the interval leaves 1 out.
    """

    value: float
    low: float | None
    high: float | None
    difference: Difference
    runs: int

    @property
    def significant(self) -> bool:
        return self.difference in ("higher", "lower")


def quantile(values: Sequence[float], q: float) -> float:
    """The `q` quantile by linear interpolation between order statistics (type 7 of Hyndman
    and Fan, "Sample Quantiles in Statistical Packages", 1996; numpy's default).

    Raises:
        ValueError: for no values, or `q` outside 0..1.
    """
    if not values:
        raise ValueError("quantile of no values")
    if not 0 <= q <= 1:
        raise ValueError(f"q {q}: must lie within 0..1")
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def mad(values: Sequence[float]) -> float:
    """Median absolute deviation from the median, unscaled (0.6745 sigma for a normal).

    Raises:
        ValueError: for no values.
    """
    centre = median(values)
    return median([abs(value - centre) for value in values])


def ratio_interval(a: Sequence[float], b: Sequence[float], value: float | None = None) -> Ratio:
    """Ratio of the means of two sets of runs that were not interleaved.

    Each value is one run's mean token time, so that the ratio is that of the rates over all runs (which
    have equally many tokens). Where that is not quite so, `value` is the ratio, and the runs tell how
    wide its interval is. Both sets are resampled by themselves. Prefer `paired_ratio_interval` where
    runs alternated.

    Raises:
        ValueError: for an empty set, or a value that is not positive.
    """
    _check(a, b)
    of_means = fmean(a) / fmean(b)
    value = of_means if value is None else value
    runs = min(len(a), len(b))
    if runs < MIN_RUNS:
        return Ratio(value, None, None, "too few runs", runs)
    import numpy as np

    random = np.random.default_rng(SEED)
    means = [_resample(np.asarray(side, dtype=float), random).mean(axis=1) for side in (a, b)]
    resampled = np.log(means[0] / means[1] * value / of_means)
    return _conclude(math.log(value), resampled, runs)


def paired_ratio_interval(a: Sequence[float], b: Sequence[float]) -> Ratio:
    """Geometric mean of a[i] / b[i] over interleaved runs (A B A B), resampled by pairs.

    Raises:
        ValueError: for no pairs, unequal lengths, or a value that is not positive.
    """
    _check(a, b)
    if len(a) != len(b):
        raise ValueError(f"{len(a)} runs against {len(b)}: pairs need as many of each")
    logs = [math.log(x / y) for x, y in zip(a, b, strict=True)]
    centre = math.fsum(logs) / len(logs)
    if len(logs) < MIN_RUNS:
        return Ratio(math.exp(centre), None, None, "too few runs", len(logs))
    import numpy as np

    means = _resample(np.asarray(logs), np.random.default_rng(SEED)).mean(axis=1)
    return _conclude(centre, means, len(logs))


def _check(a: Sequence[float], b: Sequence[float]) -> None:
    if not a or not b:
        raise ValueError("a ratio needs at least one run on each side")
    if min(*a, *b) <= 0:
        raise ValueError("a ratio needs positive figures")


def _resample(values: "NDArray[np.float64]", random: "np.random.Generator") -> "NDArray[np.float64]":
    """RESAMPLES rows, each as many draws with replacement as there are values."""
    return values[random.integers(0, len(values), size=(RESAMPLES, len(values)))]


def _conclude(centre: float, resampled: "NDArray[np.float64]", runs: int) -> Ratio:
    """Stretch the percentile interval of log ratios about `centre` and judge it."""
    import numpy as np

    below, above = (float(edge) for edge in np.quantile(resampled - centre, [TAIL, 1 - TAIL]))
    tails = _student(1 - TAIL, runs - 1) / NormalDist().inv_cdf(1 - TAIL)
    stretch = math.sqrt(runs / (runs - 1)) * tails
    low, high = centre + stretch * below, centre + stretch * above
    difference: Difference = "higher" if low > 0 else "lower" if high < 0 else "no significant difference"
    return Ratio(math.exp(centre), math.exp(low), math.exp(high), difference, runs)


def _student(p: float, freedom: int) -> float:
    """Quantile of Student's t from the normal one (Abramowitz and Stegun, 26.7.5); within
    3 % at two degrees of freedom and 0.3 % at four, for the 97.5 % quantile."""
    z, v = NormalDist().inv_cdf(p), freedom
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return float(z + first / v + second / v**2 + third / v**3)
