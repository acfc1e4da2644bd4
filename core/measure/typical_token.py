"""What a token of a mode usually costs, and above which time one counts as slow.

A token is slow when its wall time exceeds the mode's median by more than the larger of
6 x MAD and 10 % of the median. For normal noise 6 MAD are 4 sigma (3 in 100,000 tokens). The
10 % keep a mode that hardly varies, such as graph replay, from reporting hiccups that nobody
would notice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from idlegap.core.measure.limits import DISPATCH_SHARE
from idlegap.core.measure.statistics import mad
from idlegap.core.protocol.events import Token

SLOW_MADS = 6
SLOW_SHARE = 0.10

LEAST_TOKENS = 32
"""With fewer tokens the MAD itself is uncertain by more than a fifth."""


@dataclass(frozen=True, slots=True)
class Typical:
    """Medians over recent tokens of one mode; None where the engine could not read a figure.

    `off_cpu_ns` is wall time in which the decode thread neither ran nor waited for a CPU: it
    slept, in a blocking synchronisation, on a lock, or because it was stopped.
    """

    wall_ns: int
    threshold_ns: int
    dispatch_ns: int
    wait_ns: int
    cpu_ns: int | None
    run_delay_ns: int | None
    off_cpu_ns: int | None
    blocked: int | None

    @property
    def dispatch_fills_token(self) -> bool:
        """Whether dispatch is the token: no wait for the device is left behind it."""
        return self.dispatch_ns >= DISPATCH_SHARE * self.wall_ns

    def is_slow(self, token: Token) -> bool:
        return token.wall_ns > self.threshold_ns


def typical(tokens: Sequence[Token]) -> Typical | None:
    """The medians of `tokens` (of one mode, counted ones only), or None for too few."""
    if len(tokens) < LEAST_TOKENS:
        return None
    walls = [token.wall_ns for token in tokens]
    wall = median(walls)
    return Typical(
        wall_ns=round(wall),
        threshold_ns=round(wall + max(SLOW_MADS * mad(walls), SLOW_SHARE * wall)),
        dispatch_ns=round(median([token.dispatch_ns for token in tokens])),
        wait_ns=round(median([token.wait_ns for token in tokens])),
        cpu_ns=median_known([token.cpu_ns for token in tokens]),
        run_delay_ns=median_known([token.run_delay_ns for token in tokens]),
        off_cpu_ns=median_known([off_cpu_ns(token) for token in tokens]),
        blocked=median_known([token.blocked for token in tokens]),
    )


def off_cpu_ns(token: Token) -> int | None:
    """Wall time without CPU time and run delay; None where either is unknown."""
    if token.cpu_ns is None or token.run_delay_ns is None:
        return None
    return max(token.wall_ns - token.cpu_ns - token.run_delay_ns, 0)


def median_known(values: Iterable[int | None]) -> int | None:
    """The median of those that were read; None without one."""
    found = [value for value in values if value is not None]
    return round(median(found)) if found else None
