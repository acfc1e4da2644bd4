"""The session's listener that records: started and stopped at run time, or from the first event on."""

import platform
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from idlegap.core.protocol.events import SCHEMA_VERSION, AnyEvent
from idlegap.core.recording.format import Header, RecordingError, own_version
from idlegap.core.recording.writer import DEFAULT_MAX_BYTES, Writer, WriterStatus


def default_name(now: datetime) -> str:
    """Name of a recording that was started by a key, for example
    ``idlegap-20261129-221503.jsonl.gz``."""
    return f"idlegap-{now:%Y%m%d-%H%M%S}.jsonl.gz"


class Recorder:
    """Give it to `Session` as a listener; it records from `start` to `stop`.

    All methods belong to the session's thread. Encoding and writing happen on another, so a
    slow disk disturbs nobody; a full one ends the recording and is reported by `status`. The arguments go
    into the header; `clock` is CLOCK_MONOTONIC in ns, `now` wall-clock time.
    """

    def __init__(
        self,
        *,
        in_process: bool = False,
        spec_bytes_per_s: float | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        host: str | None = None,
    ) -> None:
        self._in_process = in_process
        self._spec_bytes_per_s = spec_bytes_per_s
        self._clock, self._now = clock, now
        self._host = host if host is not None else platform.node()
        self._writer: Writer | None = None

    def __call__(self, event: AnyEvent) -> None:
        """Take one event of the session."""
        if self._writer is not None:
            self._writer.put(event)

    def start(
        self, path: Path, max_bytes: int = DEFAULT_MAX_BYTES, preamble: Iterable[AnyEvent] = ()
    ) -> None:
        """Begin a recording in a new file, which gets no larger than `max_bytes`.

        `preamble` are the events that still hold (`core.session.facts.Facts.events`): one that starts in
        the middle of a session begins with them, so that it knows the machine and the mode.

        Raises:
            RecordingError: one is going on, the file exists, or it cannot be created.
        """
        if self.active:
            raise RecordingError(path, "another recording is still going on")
        self.stop()
        header = Header(
            schema=SCHEMA_VERSION,
            idlegap=own_version(),
            created=self._now().astimezone(UTC).isoformat(timespec="seconds"),
            host=self._host,
            started_ns=self._clock(),
            in_process=self._in_process,
            spec_bytes_per_s=self._spec_bytes_per_s,
        )
        writer = Writer(path, header, max_bytes, self._clock)
        for event in preamble:
            writer.put(event)
        writer.start()
        self._writer = writer

    def stop(self) -> WriterStatus | None:
        """End the recording; how it ended, or None if none was begun. May be called again."""
        return self._writer.stop() if self._writer is not None else None

    @property
    def active(self) -> bool:
        """Whether events are being recorded now."""
        return self._writer is not None and self._writer.status.active

    @property
    def status(self) -> WriterStatus | None:
        """The recording that goes on or was the last one; None before the first."""
        return self._writer.status if self._writer is not None else None
