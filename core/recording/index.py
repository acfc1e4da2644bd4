"""The index of a recording: is it sound, how long is it, and where does its mode change?"""

from array import array
from dataclasses import dataclass
from pathlib import Path

from idlegap.core.protocol.events import TokenBatch
from idlegap.core.recording.format import Header
from idlegap.core.recording.reader import Ending, RecordingReader
from idlegap.core.session.facts import Facts


@dataclass(frozen=True, slots=True)
class RecordingIndex:
    """What must be known before a recording is played. Times are CLOCK_MONOTONIC ns.

    `switches_ns` are the times at which another mode was entered, oldest first.
    """

    path: Path
    header: Header
    ending: Ending
    events: int
    tokens: int
    end_ns: int
    switches_ns: "array[int]"

    @property
    def start_ns(self) -> int:
        return self.header.started_ns

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.start_ns


def read_index(path: Path) -> RecordingIndex:
    """Read the recording once, in bounded memory: about a second for each 100 MB of text.

    Raises:
        RecordingError: it cannot be read to its end.
    """
    tokens = 0
    switches = array("q")
    facts, mode = Facts(), None
    with RecordingReader(path) as reader:
        newest_ns = start_ns = reader.header.started_ns
        for event in reader:
            facts.apply(event)
            newest_ns = max(newest_ns, event.t_ns)
            if isinstance(event, TokenBatch):
                tokens += len(event.tokens)
            elif facts.mode not in (None, mode):
                if mode is not None and event.t_ns > start_ns:
                    switches.append(newest_ns)
                mode = facts.mode
    ending = reader.ending
    return RecordingIndex(
        path, reader.header, ending, ending.events, tokens, max(newest_ns, ending.t_ns), switches
    )
