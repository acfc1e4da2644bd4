"""Tests for structure in a series: a trend over turns, and two levels instead of one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from statistics import median

from idlegap.core.measure.statistics import mad

SIGMA_PER_MAD = 1.4826
"""Of a normal distribution."""

LEAST_VALUES = 40
"""Below, the smaller of two levels would hold fewer than four values."""

LEAST_SHARE = 0.10
"""A level that holds fewer values is a tail, which p99 tells."""

LEAST_STEP = 0.10
"""Levels closer together than 10 % change no conclusion."""

SEPARATION = 4.0
"""Ashman's D from which two levels count as apart. Splits of normal, uniform, exponential and
drifting data stay below 3.5 (simulated), two normals 4 sigma apart reach 4."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A drift over the turns: `p` is the chance of a run of values as monotone as this by luck,
    `change` the relative change from the first to the last turn (Theil-Sen slope)."""

    p: float
    change: float


@dataclass(frozen=True, slots=True)
class Levels:
    """Two separate levels: their medians, the share of the lower one, and the value between."""

    low: float
    high: float
    low_share: float
    boundary: float


def trend(values: Sequence[float]) -> Trend:
    """Mann-Kendall test with its exact distribution, and the robust slope, over equal steps.

    Values must be positive.

    Raises:
        ValueError: for fewer than two values.
    """
    n = len(values)
    if n < 2:
        raise ValueError("a trend needs two values")
    slopes = [(values[j] - values[i]) / (j - i) for i, j in combinations(range(n), 2)]
    score = abs(sum(slope > 0 for slope in slopes) - sum(slope < 0 for slope in slopes))
    return Trend(_kendall_p(n, score), median(slopes) * (n - 1) / median(values))


def _kendall_p(n: int, score: int) -> float:
    """Two-sided chance that a random order of `n` values has |rises - falls| >= `score`.

    Orders are counted by their number of falls: adding a k-th value adds 0 to k - 1 of them.
    """
    counts = [1]
    for k in range(2, n + 1):
        sums = list(accumulate(counts, initial=0))
        top = len(counts)
        counts = [sums[min(f + 1, top)] - sums[max(f - k + 1, 0)] for f in range(top + k - 1)]
    pairs = n * (n - 1) // 2
    extreme = sum(count for falls, count in enumerate(counts) if abs(pairs - 2 * falls) >= score)
    return extreme / math.factorial(n)


def two_levels(values: Sequence[float]) -> Levels | None:
    """The two levels of `values`, or None where one describes them.

    The logarithms are cut where the variance between both sides is largest (Otsu's criterion).
    The sides are levels if each holds enough values and their distance exceeds their spread
    (D of K. Ashman, C. Bird and S. Zepf, "Detecting bimodality in astronomical datasets", The
    Astronomical Journal 108, 1994, with spreads from the MAD). Values must be positive.
    """
    n = len(values)
    if n < LEAST_VALUES:
        return None
    logs = sorted(math.log(value) for value in values)
    below = list(accumulate(logs))
    total = below[-1]

    def between(cut: int) -> float:
        step = below[cut - 1] / cut - (total - below[cut - 1]) / (n - cut)
        return cut * (n - cut) * step * step

    cut = max(range(1, n), key=between)
    low, high = logs[:cut], logs[cut:]
    step = median(high) - median(low)
    spread = SIGMA_PER_MAD * math.hypot(mad(low), mad(high))
    share = cut / n
    if not LEAST_SHARE <= share <= 1 - LEAST_SHARE or step < math.log1p(LEAST_STEP):
        return None
    if math.sqrt(2) * step < SEPARATION * spread:
        return None
    edge = (low[-1] + high[0]) / 2
    return Levels(math.exp(median(low)), math.exp(median(high)), share, math.exp(edge))
