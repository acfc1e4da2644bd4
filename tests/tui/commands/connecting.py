"""Connects a verb to a simulated engine instead of a real one."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from idlegap.core.bench.driver import Driver
from idlegap.core.protocol.events import AnyEvent, EngineFailed, EngineStage
from idlegap.core.protocol.settings import Settings
from idlegap.core.session.session import Listener
from idlegap.tui.commands.measuring import Connect
from tests.core.bench.fake_engine import FakeEngine, drive


@dataclass
class Connected:
    """A `Connect`; `settings` are what the engine was asked for."""

    engine: FakeEngine
    settings: Settings | None = None

    def __call__(
        self,
        settings: Settings,
        listeners: Sequence[Listener],
        stopped: Callable[[], bool],
        on_stage: Callable[[EngineStage], None],
    ) -> Driver:
        self.settings = settings
        return drive(self.engine, listeners=listeners, stopped=stopped, on_stage=on_stage)


class SignalledEngine(FakeEngine):
    """Sends this very process `signals` once `rounds` rounds are over."""

    signals: tuple[int, ...] = ()
    rounds: int = 0

    def poll(self) -> list[AnyEvent]:
        if self._finished >= self.rounds:
            for number in self.signals:
                os.kill(os.getpid(), number)
            self.signals = ()
        return super().poll()


class UnableEngine(FakeEngine):
    """Ends at once: this machine cannot do what was asked."""

    def start(self) -> None:
        self._say(
            EngineFailed(1, "--device cuda: torch finds no usable GPU", unsupported=True, hint="use a GPU")
        )


class UnstartableEngine(FakeEngine):
    """Not even its process can be started."""

    def start(self) -> None:
        raise PermissionError(13, "Permission denied", "/var/log/engine.log")


def signalled(*signals: int, rounds: int) -> SignalledEngine:
    """An engine that sends `signals` after so many rounds."""
    engine = SignalledEngine()
    engine.signals, engine.rounds = signals, rounds
    return engine


def never(*_: object) -> Driver:
    """A `Connect` for requests that must fail before anything is started."""
    raise AssertionError("an engine was started")


_: Connect = never
