"""What limits decoding, in words."""

from idlegap.core.measure.limits import Limit

LIMITS: dict[Limit, str] = {
    "host": "The host limits",
    "gpu": "The GPU limits",
    "bandwidth": "Memory bandwidth limits",
    "mixed": "Host and GPU both limit",
    "unknown": "Unknown",
}
"""The head of a sentence that says what a `core.measure.limits.Judgement` found."""
