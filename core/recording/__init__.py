"""Recordings: the session's events in a file, written as they happen and read back as a stream.

The format is described in docs/recording.md; `core.replay` plays one.
"""

from core.recording.format import End, Header, RecordingError
from core.recording.reader import Ending, RecordingReader
from core.recording.recorder import Recorder, default_name
from core.recording.survey import Survey, survey
from core.recording.writer import DEFAULT_MAX_BYTES, WriterStatus

__all__ = [
    "DEFAULT_MAX_BYTES",
    "End",
    "Ending",
    "Header",
    "Recorder",
    "RecordingError",
    "RecordingReader",
    "Survey",
    "WriterStatus",
    "default_name",
    "survey",
]
