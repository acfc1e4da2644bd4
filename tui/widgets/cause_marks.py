"""Causes of slow tokens as marks: one letter each, the same on the strip and in the lists."""

from idlegap.core.slow_tokens.causes import Cause

UNKNOWN_MARK = "▲"
"""A slow token that is not explained, or not yet."""

MARKS: dict[Cause, str] = {
    "neighbour": "N",
    "steal": "S",
    "quota": "Q",
    "own threads": "O",
    "cpu wait": "W",
    "more cpu": "C",
    "blocked": "B",
    "probe": "P",
    "gpu clock": "G",
    "unexplained": UNKNOWN_MARK,
}

MEANINGS: dict[Cause, str] = {
    "neighbour": "other programs had the CPU",
    "steal": "the hypervisor gave the CPU to another guest",
    "quota": "the container's CPU quota was used up",
    "own threads": "our own other threads had the CPU",
    "cpu wait": "waited for a CPU; who had it is not known",
    "more cpu": "the same work took more CPU time",
    "blocked": "the decode thread slept: a lock, a stop",
    "probe": "one of our own measurements",
    "gpu clock": "the GPU's clock was held down",
    "unexplained": "no reading accounts for it",
}


def mark(cause: Cause | None) -> str:
    """The letter of `cause`; None is not explained yet."""
    return UNKNOWN_MARK if cause is None else MARKS[cause]
