"""Tokens of two speeds within one arm: a median or a mean hides that, and so does an interval over runs."""

from idlegap.core.bench.schema import Arm
from idlegap.core.measure.trends import LEAST_SHARE, two_levels
from idlegap.core.text.units import ms, percent


def two_speeds(arm: Arm) -> str:
    """That the counted tokens of `arm` have two speeds, with both of them; "" where one describes them."""
    runs = [run.tokens.counted(run.tokens.wall_ns) for run in arm.counted]
    found = two_levels([wall for walls in runs for wall in walls])
    if found is None:
        return ""
    mixed = sum(
        LEAST_SHARE <= sum(wall > found.boundary for wall in walls) / len(walls) <= 1 - LEAST_SHARE
        for walls in runs
        if walls
    )
    where = f"both within {mixed} of {len(runs)} runs" if mixed else "whole runs at one or the other"
    return (
        f"{arm.label} has two speeds: {percent(found.low_share)} of the tokens near {ms(found.low)} ms, the "
        f"rest near {ms(found.high)} ms ({where})"
    )
