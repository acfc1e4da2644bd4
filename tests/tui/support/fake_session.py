"""A session that shows what it is told to and remembers what it was asked."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from idlegap.core.protocol.commands import AnyCommand
from idlegap.core.protocol.events import MonitorSample
from idlegap.core.session.snapshot import NO_APP, FromApp, RecordingView, Snapshot


class FakeSession:
    """A live run and its session in one. `scene` draws the snapshot at a time; commands are kept in order."""

    def __init__(self, scene: Callable[[int], Snapshot]) -> None:
        self.scene = scene
        self.commands: list[AnyCommand] = []
        self.samples: list[MonitorSample] = []
        self.calls: list[str] = []
        self.on_start: Callable[[], None] = lambda: None

    @classmethod
    def still(cls, snap: Snapshot) -> "FakeSession":
        """A session whose picture never changes."""
        return cls(lambda _now_ns: snap)

    @classmethod
    def slideshow(cls, snaps: list[Snapshot]) -> "FakeSession":
        """A session that shows the next picture each time it is asked, and stays on the last one."""
        left = list(snaps)
        return cls(lambda _now_ns: left.pop(0) if len(left) > 1 else left[0])

    in_process = False

    @property
    def session(self) -> "FakeSession":
        return self

    def start(self) -> None:
        self.calls.append("start")
        self.on_start()

    def snapshot(self, now_ns: int, app: FromApp = NO_APP) -> Snapshot:
        return replace(self.scene(now_ns), app=app)

    def send(self, command: AnyCommand) -> None:
        self.commands.append(command)

    def restart(self) -> None:
        self.calls.append("restart")

    def close(self) -> None:
        self.calls.append("close")

    def note_frame(self, sample: MonitorSample) -> None:
        self.samples.append(sample)

    @property
    def recording(self) -> RecordingView | None:
        return self.scene(0).recording

    def toggle_recording(self, folder: Path) -> str:
        self.calls.append(f"record in {folder}")
        return "recording …"

    def add_neighbour(self) -> str:
        self.calls.append("add neighbour")
        return "one more neighbour"

    def remove_neighbour(self) -> str:
        self.calls.append("remove neighbour")
        return "one neighbour less"
