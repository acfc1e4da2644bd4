"""Recordings: the session's events in a file, written as they happen and read back as a stream.

The format is described in docs/recording.md; `core.sources.recording` plays one.
"""

from idlegap.core.recording.format import Header, RecordingError
from idlegap.core.recording.index import read_index
from idlegap.core.recording.reader import Ending, RecordingReader
from idlegap.core.recording.recorder import Recorder, default_name
from idlegap.core.recording.writer import DEFAULT_MAX_BYTES

__all__ = [
    "DEFAULT_MAX_BYTES",
    "Ending",
    "Header",
    "Recorder",
    "RecordingError",
    "RecordingReader",
    "default_name",
    "read_index",
]
