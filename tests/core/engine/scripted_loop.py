"""A decode loop that obeys a script instead of a user."""

import queue
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import torch

from idlegap.core.engine.available_modes import Lineup
from idlegap.core.engine.device import Device
from idlegap.core.engine.errors import ModeError
from idlegap.core.engine.loop import DecodeLoop
from idlegap.core.engine.model import LoadedModel
from idlegap.core.engine.modes.eager import EagerStatic
from idlegap.core.engine.outbox import Outbox
from idlegap.core.engine.tokens import LengthLog
from idlegap.core.protocol.commands import AnyCommand, Stop
from idlegap.core.protocol.events import AnyEvent, ProfileWindow
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.reasons import Reason
from idlegap.core.protocol.settings import Settings
from idlegap.core.sensors.thread import ThreadCounters

SETTINGS = Settings(prompt_tokens=12, new_tokens=10, device="cpu")


class Script:
    """A command queue that hands out each command before the given number of looks at it.

    The loop looks once per token, so ``{5: [SetMode("eager")]}`` comes after the fifth token.
    `Stop` follows at `stop_at`.
    """

    def __init__(self, commands: dict[int, list[AnyCommand]], stop_at: int) -> None:
        self._due = {**commands, stop_at: [*commands.get(stop_at, []), Stop()]}
        self._looks = 0
        self._ready: list[AnyCommand] = []
        self._served = False

    def empty(self) -> bool:
        if self._ready:
            return False
        if self._served:
            # The look that ends the serving of commands belongs to the same token.
            self._served = False
            return True
        self._looks += 1
        self._ready.extend(self._due.pop(self._looks, []))
        return not self._ready

    def get(self) -> AnyCommand:
        if self._ready:
            self._served = True
            return self._ready.pop(0)
        raise queue.Empty


class Clock:
    """Time that advances by `tick_ns` with every look at it."""

    def __init__(self, tick_ns: int = 1_000_000) -> None:
        self.now_ns = 0
        self.tick_ns = tick_ns

    def __call__(self) -> int:
        self.now_ns += self.tick_ns
        return self.now_ns


def refusing_mode(mode: ModeName, reason: Reason) -> type[EagerStatic]:
    """A mode whose capture or compilation fails with `reason`."""

    class Refusing(EagerStatic):
        name = mode

        def prepare(self) -> None:
            self.step()
            raise ModeError(reason)

    return Refusing


class NoNumbers(EagerStatic):
    """Decodes, but computes logits that are not numbers, as broken weights do."""

    def step(self) -> torch.Tensor:
        return super().step() * float("nan")


class OutOfMemoryWhenCompared(EagerStatic):
    """Decodes, but finds no memory when it is entered for the second time without need: that is
    what a verification does."""

    entered = 0

    def enter(self) -> None:
        super().enter()
        self.entered += 1

    def prefill(self) -> None:
        # Entered to be prepared, entered to decode, entered to be compared.
        if self.entered == 3:
            raise torch.OutOfMemoryError
        super().prefill()


class FakeProfiler:
    """Decodes the steps that it is given and returns the windows that it was made with."""

    def __init__(self, *windows: ProfileWindow) -> None:
        self._windows = list(windows)

    def take(self, mode: ModeName, step: Callable[[], object], steps: int = 4) -> ProfileWindow:
        for _ in range(steps):
            step()
        return self._windows.pop(0)


@dataclass
class Ran:
    """What a scripted loop said."""

    events: list[AnyEvent] = field(default_factory=list)

    def of(self, kind: type) -> list:
        return [event for event in self.events if isinstance(event, kind)]


def run_scripted(
    loaded: LoadedModel,
    device: Device,
    commands: dict[int, list[AnyCommand]] | None = None,
    *,
    stop_at: int,
    first_mode: ModeName = "eager-static",
    clock: Clock | None = None,
    profiler: object = None,
    profile_every_ns: int | None = None,
    refusing: dict[ModeName, Reason] | None = None,
    baseline: type[EagerStatic] = EagerStatic,
    lengths: LengthLog | None = None,
) -> Ran:
    """What a loop says that gets `commands` and stops at the given look."""
    clock = clock or Clock()
    outbox = Outbox(clock)

    def rebuild(batch: int, prompt_tokens: int) -> Lineup:
        return Lineup.build(loaded, device, SETTINGS.with_shape(batch, prompt_tokens))

    lineup = Lineup.build(loaded, device, SETTINGS)
    lineup.modes["eager-static"] = baseline(lineup.workload)
    for name, reason in (refusing or {}).items():
        lineup.refused.pop(name, None)
        lineup.modes[name] = refusing_mode(name, reason)(lineup.workload)
    DecodeLoop(
        lineup,
        rebuild,
        settings=msgspec.structs.replace(SETTINGS, mode=first_mode, profile_every_ns=profile_every_ns),
        outbox=outbox,
        commands=Script(commands or {}, stop_at),  # type: ignore[arg-type]
        clock=clock,
        counters=ThreadCounters(),
        profiler=profiler,  # type: ignore[arg-type]
        lengths=lengths,
    ).run()
    return Ran(outbox.drain())
