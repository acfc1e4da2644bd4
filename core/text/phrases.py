"""Phrases that several rooms need."""

from idlegap.core.measure.limits import Limit
from idlegap.core.protocol.events import Stage

STAGES: dict[Stage, str] = {
    "starting": "starting the engine process",
    "importing": "importing torch and transformers",
    "downloading": "downloading the model",
    "building": "building the model",
    "bandwidth": "measuring memory bandwidth",
    "warming up": "warming up",
    "capturing": "capturing the CUDA graph",
    "compiling": "compiling kernels",
    "decoding": "decoding",
    "profiling": "measuring device time",
    "verifying": "comparing tokens",
    "paused": "paused",
    "stopped": "stopped",
    "failed": "failed",
}
"""What the engine does in each of its stages."""


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


def sentence(text: str) -> str:
    """`text` with a capital at its head and a full stop at its end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""
