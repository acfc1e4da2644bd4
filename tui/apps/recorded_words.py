"""What to say of a recording that has ended."""

from typing import TYPE_CHECKING

from idlegap.tui.widgets.units import size

if TYPE_CHECKING:
    from idlegap.core.recording import WriterStatus


def recorded_words(status: "WriterStatus") -> str:
    """Where the recording is, and what is wrong with it if anything is."""
    text = f"recorded {status.events:,} events, {size(status.size_bytes)}, into {status.path}"
    if status.error:
        text += f"; it ended early: {status.error}"
    elif status.ended == "size limit":
        text += "; it ended at its size limit"
    return f"{text}; {status.lost:,} events were lost" if status.lost else text
