"""A zero-based axis that keeps still: it grows at once and shrinks only when much too long."""

from math import floor, log10

_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
HEADROOM = 1.08
SHRINK_BELOW = 0.45
"""The axis shrinks when less than this share of it is used; growing and shrinking then never
alternate on a value that wobbles, because no step is more than half again the last one."""

SMALLEST_NS = 1_000


def nice_top_ns(needed_ns: float) -> int:
    """The smallest round number of ns that leaves a little room above `needed_ns`."""
    target = max(needed_ns * HEADROOM, SMALLEST_NS)
    decade = 10.0 ** floor(log10(target))
    return next(round(step * decade) for step in _STEPS if step * decade >= target * (1 - 1e-9))


class Axis:
    """The top of an axis over time."""

    def __init__(self) -> None:
        self.top_ns = 0

    def fit(self, needed_ns: float) -> int:
        """The top for values up to `needed_ns`: the old one where that still serves."""
        if needed_ns > self.top_ns or needed_ns < self.top_ns * SHRINK_BELOW:
            self.top_ns = nice_top_ns(needed_ns)
        return self.top_ns
