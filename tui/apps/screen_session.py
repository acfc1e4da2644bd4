"""What the screen needs from a session: a snapshot when asked, and a way to ask back."""

from pathlib import Path
from typing import Protocol

from idlegap.core.protocol.commands import AnyCommand
from idlegap.core.protocol.events import MonitorSample
from idlegap.core.session.snapshot import FromApp, RecordingView, Snapshot


class ScreenSession(Protocol):
    """A `core.session.session.Session` as the screen sees it. All methods are called from the thread that
    runs the app, and none may block for longer than a key press may wait, except `restart`."""

    def start(self) -> None:
        """Begin; called once, right after the first paint."""

    def snapshot(self, now_ns: int, app: FromApp) -> Snapshot:
        """The snapshot at `now_ns` (CLOCK_MONOTONIC), which carries `app`."""

    def send(self, command: AnyCommand) -> None:
        """Pass a command on to the engine."""

    def restart(self) -> None:
        """Start the engine again after it has failed."""

    def note_frame(self, sample: MonitorSample) -> None:
        """Take the screen's own cost over the last second into the session."""


class ScreenRun(Protocol):
    """A live run: its session, and what can be switched on beside it. Each switch answers with a
    sentence for the screen."""

    @property
    def session(self) -> ScreenSession:
        """The session; made when it is first asked for."""

    @property
    def in_process(self) -> bool:
        """Whether the engine shares this process."""

    @property
    def recording(self) -> RecordingView | None:
        """The recording that goes on, or that has ended by itself; None without one."""

    def toggle_recording(self, folder: Path) -> str:
        """Start a recording in `folder`, or end the one that goes on."""

    def add_neighbour(self) -> str:
        """Start a busy process of our own making beside the engine."""

    def remove_neighbour(self) -> str:
        """End the newest of them."""
