"""Where events come from: one Protocol for a live engine, a recording and a test's fake."""

from typing import Protocol

from idlegap.core.protocol.commands import AnyCommand
from idlegap.core.protocol.events import AnyEvent


class Source(Protocol):
    """A source of events. All methods are called from the app's threads, never block for
    long, and may be called in any order after `start`."""

    in_process: bool

    def start(self) -> None:
        """Begin to produce events."""

    def poll(self) -> list[AnyEvent]:
        """Take what has arrived since the last call, oldest first."""

    def send(self, command: AnyCommand) -> None:
        """Ask for something; ignored where the source cannot do it."""

    def restart(self) -> None:
        """Start again after the source has failed."""

    def close(self) -> None:
        """End the source and wait, within a bound, until it is gone."""
