"""The engine within the app's own process."""

import queue
import time
from typing import TYPE_CHECKING

from idlegap.core.protocol.commands import AnyCommand, Stop
from idlegap.core.protocol.events import AnyEvent, EngineFailed
from idlegap.core.protocol.settings import Settings

if TYPE_CHECKING:
    from idlegap.core.engine.worker import EngineThread

CLOSE_TIMEOUT_S = 5.0
"""A decode step or a capture ends within this; a compilation may go on and keeps its thread."""


class InProcessEngine:
    """The same decode thread inside the app: its figures include the screen's disturbance.

    For debuggers, for machines that allow no second process, and to show the observer effect.
    """

    in_process = True

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._thread: EngineThread | None = None
        self._last: list[AnyEvent] = []

    def start(self) -> None:
        # Here alone the app loads the engine, and with it torch: only when this source is asked for.
        from idlegap.core.engine.outbox import Outbox
        from idlegap.core.engine.worker import EngineThread

        self._thread = EngineThread(self._settings, Outbox(time.perf_counter_ns), queue.SimpleQueue())
        self._thread.start()

    def poll(self) -> list[AnyEvent]:
        last, self._last = self._last, []
        return last + (self._thread.outbox.drain() if self._thread is not None else [])

    def send(self, command: AnyCommand) -> None:
        if self._thread is not None:
            self._thread.commands.put(command)

    def restart(self) -> None:
        self.close()
        if self._thread is not None:
            # Two threads in torch at once would break what keeps compiled modes right.
            busy = "the old decode thread is still busy (compiling?); try again when it has ended"
            self._last.append(EngineFailed(time.perf_counter_ns(), busy))
            return
        self.start()

    def close(self) -> None:
        if self._thread is None:
            return
        self._thread.commands.put(Stop())
        self._thread.join(CLOSE_TIMEOUT_S)
        self._last += self._thread.outbox.drain()
        if not self._thread.is_alive():
            self._thread = None
