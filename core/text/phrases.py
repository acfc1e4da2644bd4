"""Phrases that several rooms need."""

from typing import TYPE_CHECKING

from idlegap.core.protocol.events import Stage
from idlegap.core.text.units import size

if TYPE_CHECKING:
    from idlegap.core.recording import WriterStatus

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


def sentence(text: str) -> str:
    """`text` with a capital at its head and a full stop at its end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def recorded_words(status: "WriterStatus") -> str:
    """What to say of a recording that has ended: where it is, and what is wrong with it if anything is."""
    text = f"recorded {status.events:,} events, {size(status.size_bytes)}, into {status.path}"
    if status.error:
        text += f"; it ended early: {status.error}"
    elif status.ended == "size limit":
        text += "; it ended at its size limit"
    return f"{text}; {status.lost:,} events were lost" if status.lost else text
