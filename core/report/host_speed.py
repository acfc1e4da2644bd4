"""What the report says of a host that changed speed while it was measured."""

from collections.abc import Callable, Sequence

from idlegap.core.measure.host_speed import (
    Visit,
    changed_speed,
    changed_within,
    kernel_ns,
    told_by_cpu_time,
)
from idlegap.core.protocol.modes import EAGER, MODE_NAMES
from idlegap.core.session.setup import Setup
from idlegap.core.text.units import ms, us

MOST_VISITS = 8
"""Visits of one mode that are listed; the others are counted."""


def speed_remarks(setup: Setup, start_ns: int) -> list[str]:
    """One remark for each mode whose visits saw different speeds of the host, and one where eager
    and eager-static did. Times are seconds since `start_ns`."""
    if not told_by_cpu_time(setup.engine):
        return []
    windows = setup.profiles

    def listed(visits: Sequence[Visit], figure: Callable[[Visit], str]) -> str:
        cells = [f"{figure(v)} at {(v.since_ns - start_ns) / 1e9:,.0f} s" for v in visits[:MOST_VISITS]]
        beyond = len(visits) - len(cells)
        return ", ".join(cells) + (f" and {beyond} visits more" if beyond else "")

    found = []
    for mode in MODE_NAMES:
        visits = setup.visits.of(mode)
        if changed_within(visits, windows):
            took = listed(visits, lambda visit: f"{ms(visit.usual.wall_ns)} ms")
            found.append(
                "The host changed speed, in CPU time and not in waiting for a CPU: the median token of "
                f"{mode} took {took}. Its figures, and speed-ups against it, mix these visits."
            )
    pair = [setup.visits.of(mode) for mode in EAGER]
    if any(changed_speed(one, other, windows) for one in pair[0] for other in pair[1]):
        eager, base = (listed(visits, lambda visit: f"{us(kernel_ns(visit, windows))} µs") for visits in pair)
        found.append(
            f"To submit one kernel the host took {eager} in {EAGER[0]}, and {base} in {EAGER[1]}, "
            "in CPU time and not in waiting for a CPU: these modes' times compare two speeds of the host."
        )
    return found
