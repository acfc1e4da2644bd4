"""What limits decoding, in the words of every page."""

from idlegap.core.measure.limits import Limit

LIMIT_WORDS: dict[Limit, str] = {
    "host": "the host limits",
    "gpu": "the GPU limits",
    "bandwidth": "memory bandwidth limits",
    "mixed": "host and GPU both limit",
    "unknown": "what limits is unknown",
}

LIMIT_NAMES: dict[Limit, str] = {
    "host": "host",
    "gpu": "GPU",
    "bandwidth": "bandwidth",
    "mixed": "mixed",
    "unknown": "unknown",
}


def limit_head(limit: Limit) -> str:
    """The words as the head of a sentence."""
    words = LIMIT_WORDS[limit]
    return words[0].upper() + words[1:]
