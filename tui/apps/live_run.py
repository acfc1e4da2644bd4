"""A live session and what can be switched on beside it: a recording, and noisy neighbours.

Engine, sensors and analysis are loaded when they are first asked for, which is after the first
paint: it needs none of them, and the user should not face a blank terminal meanwhile. A recording
can begin before that, so that a file which cannot be written is reported while there is no screen yet.
"""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from idlegap.core.session.snapshot import RecordingView

if TYPE_CHECKING:
    from idlegap.core.recording import Recorder
    from idlegap.core.session.session import Session
    from idlegap.core.system.neighbours import NoisyNeighbours

MOST_NEIGHBOURS = 64
"""A key that is held down must not fill the process table."""


class Joined(NamedTuple):
    """A session and its neighbours, who tell it of their changes."""

    session: "Session"
    neighbours: "NoisyNeighbours"


class LiveRun:
    """A `tui.apps.screen_session.ScreenRun` over what `join` makes, once, when it is first needed.

    Args:
        join: makes the session, with this recorder as a listener.
        recorder: makes the recorder; called once, when the session or a recording needs it.
        max_bytes: no recording gets larger.
        in_process: whether the engine shares this process.
        neighbour_core: the core that neighbours are pinned to; None leaves them free.
        now: local time, for the names of recordings.
    """

    def __init__(
        self,
        join: "Callable[[Recorder], Joined]",
        *,
        recorder: "Callable[[], Recorder]",
        max_bytes: int,
        in_process: bool = False,
        neighbour_core: int | None = None,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        self._join = join
        self._made: Joined | None = None
        self._make_recorder = recorder
        self._recorder: Recorder | None = None
        self.in_process = in_process
        self._neighbour_core = neighbour_core
        self._max_bytes = max_bytes
        self._now = now

    @property
    def session(self) -> "Session":
        """The session over engine and sensors."""
        return self._joined.session

    @property
    def _joined(self) -> Joined:
        if self._made is None:
            self._made = self._join(self._ready_recorder)
        return self._made

    @property
    def _ready_recorder(self) -> "Recorder":
        if self._recorder is None:
            self._recorder = self._make_recorder()
        return self._recorder

    def close(self) -> None:
        """End neighbours and engine, then the recording, which so holds their ends."""
        with ExitStack() as ends:
            if self._recorder is not None:
                ends.callback(self._recorder.stop)
            if self._made is not None:
                ends.callback(self._made.session.close)
                ends.callback(self._made.neighbours.remove_all)

    # Recording ------------------------------------------------------------------------------

    @property
    def recording(self) -> RecordingView | None:
        """The recording that goes on, or that has ended by itself."""
        status = self._recorder.status if self._recorder is not None else None
        if status is None or status.ended == "stopped":
            return None
        return RecordingView(status.path.name, status.size_bytes, status.error or status.ended or "")

    def record(self, path: Path) -> None:
        """Start a recording in the new file `path`.

        Raises:
            RecordingError: it cannot be begun.
        """
        preamble = self._made.session.state.facts.kept() if self._made is not None else ()
        self._ready_recorder.start(path, self._max_bytes, preamble)

    def toggle_recording(self, folder: Path) -> str:
        """Start a recording in `folder`, or end the one that goes on; what to say about it."""
        from idlegap.core.recording import RecordingError, default_name

        if self._ready_recorder.active:
            return self.recorded()
        path = folder / default_name(self._now())
        try:
            self.record(path)
        except RecordingError as error:
            return f"cannot record: {error}"
        return f"recording into {path.name}; r ends it"

    def recorded(self) -> str:
        """End the recording, if there is one, and say where it is."""
        status = self._recorder.stop() if self._recorder is not None else None
        return status.text if status is not None else ""

    # Neighbours -----------------------------------------------------------------------------

    def add_neighbour(self) -> str:
        """Start one more busy process; what to say about it."""
        neighbours = self._joined.neighbours
        if neighbours.count >= MOST_NEIGHBOURS:
            return f"{MOST_NEIGHBOURS} noisy neighbours are the most"
        try:
            neighbours.add(core=self._neighbour_core)
        except (OSError, ValueError) as error:
            return f"cannot start a neighbour: {error}"
        place = "any core" if self._neighbour_core is None else f"core {self._neighbour_core}"
        return f"{self._running()} on {place}, busy all the time; N removes one"

    def remove_neighbour(self) -> str:
        """End the newest busy process; what to say about it."""
        neighbours = self._joined.neighbours
        if not neighbours.count:
            return "no noisy neighbour of ours is running; n starts one"
        neighbours.remove()
        return f"{self._running()} left" if neighbours.count else "no noisy neighbour left"

    def _running(self) -> str:
        count = self._joined.neighbours.count
        return f"{count} noisy neighbour{'s' * (count != 1)}"
