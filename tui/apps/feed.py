"""What the screen needs from a session: a snapshot when asked, and a way to ask back."""

from pathlib import Path
from typing import Protocol

from idlegap.core.protocol.commands import AnyCommand
from idlegap.core.protocol.events import MonitorSample
from idlegap.core.session.snapshot import RecordingView, Snapshot


class Feed(Protocol):
    """The screen's only partner. All methods are called from the thread that runs the app,
    and none may block for longer than a key press may wait, except `restart` and `close`."""

    def start(self) -> None:
        """Begin; called once, right after the first paint. `snapshot` works before it too."""

    def snapshot(self, now_ns: int) -> Snapshot:
        """The picture at `now_ns` (CLOCK_MONOTONIC)."""

    def send(self, command: AnyCommand) -> None:
        """Pass a command on to the engine."""

    def restart(self) -> None:
        """Start the engine again after it has failed."""

    def close(self) -> None:
        """End everything that `start` began and wait, within a bound, until it is gone."""

    def note_frame(self, sample: MonitorSample) -> None:
        """Take the screen's own cost over the last second into the session."""


class LiveFeed(Feed, Protocol):
    """What a live run can do besides. Each method answers with a sentence for the screen."""

    @property
    def recording(self) -> RecordingView | None:
        """The recording that goes on, or that has ended by itself; None without one."""

    def toggle_recording(self, folder: Path) -> str:
        """Start a recording in `folder`, or end the one that goes on."""

    def add_neighbour(self) -> str:
        """Start a busy process of our own making beside the engine."""

    def remove_neighbour(self) -> str:
        """End the newest of them."""
