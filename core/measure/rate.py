"""How fast tokens come: the rate and the mean token, which belong together, and the speed-up.

One token's wall time is what serving calls inter-token latency, or time per output token. Where some
tokens are slow, mean and median differ: the rate is of the mean, a speed-up of the medians.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import sub
from statistics import median

from idlegap.core.measure.statistics import quantile


@dataclass(frozen=True, slots=True)
class TokenTimes:
    """What some tokens of one mode took, in ns: medians, and the 99th percentile of the wall times."""

    tokens: int
    wall_ns: int
    p99_ns: int
    dispatch_ns: int
    wait_ns: int

    @classmethod
    def of(cls, walls_ns: Sequence[int], dispatches_ns: Sequence[int]) -> "TokenTimes":
        """The figures of at least one token; a token's wait is what its dispatch leaves of it."""
        return cls(
            tokens=len(walls_ns),
            wall_ns=round(median(walls_ns)),
            p99_ns=round(quantile(walls_ns, 0.99)),
            dispatch_ns=round(median(dispatches_ns)),
            wait_ns=round(median(map(sub, walls_ns, dispatches_ns))),
        )


def tokens_per_s(batch: int, walls_ns: Sequence[int]) -> float:
    """The rate of some steps: batch x steps over the time of all, so of the mean step.

    Raises:
        ZeroDivisionError: for no step.
    """
    return batch * len(walls_ns) * 1e9 / sum(walls_ns)


def mean_ns(walls_ns: Sequence[int]) -> int:
    """The mean step, which `tokens_per_s` is the rate of.

    Raises:
        ZeroDivisionError: for no step.
    """
    return round(sum(walls_ns) / len(walls_ns))


def speed_up(baseline_ns: float, wall_ns: float) -> float:
    """How many times as fast as the baseline: the ratio of two median token times."""
    return baseline_ns / wall_ns
