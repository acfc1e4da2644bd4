"""One pass over a whole recording: is it sound, how long is it, and where are its mode switches?"""

from array import array
from dataclasses import dataclass
from pathlib import Path

from idlegap.core.protocol.events import ModeEntered, TokenBatch
from idlegap.core.recording.format import Header
from idlegap.core.recording.reader import Ending, RecordingReader


@dataclass(frozen=True, slots=True)
class Survey:
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


def survey(path: Path) -> Survey:
    """Read the recording once, in bounded memory: about a second for each 100 MB of text.

    Raises:
        RecordingError: it cannot be read to its end.
    """
    tokens = 0
    switches = array("q")
    with RecordingReader(path) as reader:
        newest_ns = start_ns = reader.header.started_ns
        mode = None
        for event in reader:
            newest_ns = max(newest_ns, event.t_ns)
            if isinstance(event, TokenBatch):
                tokens += len(event.tokens)
            elif isinstance(event, ModeEntered):
                if mode not in (None, event.mode) and event.t_ns > start_ns:
                    switches.append(newest_ns)
                mode = event.mode
    ending = reader.ending
    return Survey(path, reader.header, ending, ending.events, tokens, max(newest_ns, ending.t_ns), switches)
