"""A live session and what can be switched on beside it: a recording, and noisy neighbours."""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from core.commands import AnyCommand
from core.events import MonitorSample
from core.neighbours import NoisyNeighbours
from core.recording import DEFAULT_MAX_BYTES, Recorder, RecordingError, default_name
from core.session import Session
from core.snapshot import RecordingView, Snapshot
from tui.recorded import recorded_words

MOST_NEIGHBOURS = 64
"""A key that is held down must not fill the process table."""


class LiveSession:
    """A `tui.feed.LiveFeed` over `session`, of which `recorder` is a listener.

    Args:
        neighbours: tells `session` of what it starts and ends.
        neighbour_core: the core that neighbours are pinned to; None leaves them free.
        max_bytes: no recording gets larger.
        now: local time, for the names of recordings.
    """

    def __init__(
        self,
        session: Session,
        recorder: Recorder,
        neighbours: NoisyNeighbours,
        *,
        neighbour_core: int | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        self._session = session
        self._recorder = recorder
        self._neighbours = neighbours
        self._neighbour_core = neighbour_core
        self._max_bytes = max_bytes
        self._now = now
        self.latest: Snapshot | None = None
        """The last snapshot that was shown."""

    # As a feed ------------------------------------------------------------------------------

    def start(self) -> None:
        """Start sensors and engine."""
        self._session.start()

    def snapshot(self, now_ns: int) -> Snapshot:
        """The picture at `now_ns`."""
        snap = self.latest = self._session.snapshot(now_ns)
        return snap

    def send(self, command: AnyCommand) -> None:
        """Pass a command on to the engine."""
        self._session.send(command)

    def restart(self) -> None:
        """Start the engine again after it has failed."""
        self._session.restart()

    def note_frame(self, sample: MonitorSample) -> None:
        """Take the screen's own cost into the session."""
        self._session.note_frame(sample)

    def close(self) -> None:
        """End neighbours and engine, then the recording, which so holds their ends."""
        with ExitStack() as ends:
            ends.callback(self._recorder.stop)
            ends.callback(self._session.close)
            ends.callback(self._neighbours.remove_all)

    # Recording ------------------------------------------------------------------------------

    @property
    def recording(self) -> RecordingView | None:
        """The recording that goes on, or that has ended by itself."""
        status = self._recorder.status
        if status is None or status.ended == "stopped":
            return None
        return RecordingView(status.path.name, status.size_bytes, status.error or status.ended or "")

    def record(self, path: Path) -> None:
        """Start a recording in the new file `path`.

        Raises:
            RecordingError: it cannot be begun.
        """
        self._recorder.start(path, self._max_bytes)

    def toggle_recording(self, folder: Path) -> str:
        """Start a recording in `folder`, or end the one that goes on; what to say about it."""
        if self._recorder.active:
            return self.recorded()
        path = folder / default_name(self._now())
        try:
            self.record(path)
        except RecordingError as error:
            return f"cannot record: {error}"
        return f"recording into {path.name}; r ends it"

    def recorded(self) -> str:
        """End the recording, if there is one, and say where it is."""
        status = self._recorder.stop()
        return recorded_words(status) if status is not None else ""

    # Neighbours -----------------------------------------------------------------------------

    def add_neighbour(self) -> str:
        """Start one more busy process; what to say about it."""
        if self._neighbours.count >= MOST_NEIGHBOURS:
            return f"{MOST_NEIGHBOURS} noisy neighbours are the most"
        try:
            self._neighbours.add(core=self._neighbour_core)
        except (OSError, ValueError) as error:
            return f"cannot start a neighbour: {error}"
        place = "any core" if self._neighbour_core is None else f"core {self._neighbour_core}"
        return f"{self._running()} on {place}, busy all the time; N removes one"

    def remove_neighbour(self) -> str:
        """End the newest busy process; what to say about it."""
        if not self._neighbours.count:
            return "no noisy neighbour of ours is running; n starts one"
        self._neighbours.remove()
        return f"{self._running()} left" if self._neighbours.count else "no noisy neighbour left"

    def _running(self) -> str:
        count = self._neighbours.count
        return f"{count} noisy neighbour{'s' * (count != 1)}"
