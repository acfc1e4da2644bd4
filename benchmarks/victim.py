"""The engine under test of `benchmarks.attribution`, with faults that can be set off inside it.

    python -m benchmarks.victim FD SETTINGS {model|loop}

FD and SETTINGS are those of ``core.engine``. ``model`` decodes with the real engine. ``loop``
runs the same decode loop, with the same readings for each token, over a step that only the host
works on: Python for some 16 ms, a copy of 16 MB, and a short spin in place of the
device. It needs no GPU and repeats well, so that a fault stands out.

Faults come as lines on stdin and answer with ``NAME START END`` on stdout, in ns of CLOCK_MONOTONIC:

    garbage     make many objects for the collector to look at, and say nothing
    gc          a full collection on the decode thread, within a step
    lock MS     another thread holds a lock that the next step needs, and lets go MS later
    helpers N MS   N threads of this process compute for so long without the GIL
"""

import gc
import hashlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from idlegap.core.engine.outbox import Outbox
from idlegap.core.engine.worker import EngineThread
from idlegap.core.protocol.commands import AnyCommand
from idlegap.core.protocol.events import EngineReady, ModeStatus
from idlegap.core.protocol.settings import Settings

GARBAGE = 600_000
"""Objects that a collection has to look at: tens of milliseconds."""

HELPER_ROUNDS = 80_000
STEP_WORK = 400_000
COPY_BYTES = 32 << 20
DEVICE_NS = 400_000


class Faults(threading.Thread):
    """Reads orders from stdin. `within_step` is called on the decode thread in every step."""

    def __init__(self) -> None:
        super().__init__(name="faults", daemon=True)
        self._due: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._garbage: list[list[int]] = []

    def within_step(self) -> None:
        if not self._due.empty():
            self._due.get()()

    def run(self) -> None:
        for line in sys.stdin:
            name, *numbers = line.split()
            values = [int(number) for number in numbers]
            if name == "garbage":
                self._garbage = [[i] for i in range(GARBAGE)]
            elif name == "gc":
                self._due.put(_collect)
            elif name == "lock":
                threading.Thread(target=self._hold, args=values, daemon=True).start()
            elif name == "helpers":
                threading.Thread(target=_help, args=values, daemon=True).start()

    def _hold(self, milliseconds: int) -> None:
        wanted = threading.Event()
        with self._lock:
            self._due.put(lambda: self._take(wanted))
            wanted.wait()
            time.sleep(milliseconds / 1e3)

    def _take(self, wanted: threading.Event) -> None:
        started = time.perf_counter_ns()
        wanted.set()
        with self._lock:
            pass
        _answer("lock", started)


def _collect() -> None:
    started = time.perf_counter_ns()
    gc.collect()
    _answer("gc", started)


def _help(threads: int, milliseconds: int) -> None:
    started = time.perf_counter_ns()
    end = started + milliseconds * 1_000_000
    helpers = [threading.Thread(target=_compute_until, args=(end,)) for _ in range(threads)]
    for helper in helpers:
        helper.start()
    for helper in helpers:
        helper.join()
    _answer("helpers", started)


def _compute_until(end_ns: int) -> None:
    """Busy, and without the GIL but for a moment every twenty milliseconds or so."""
    while time.perf_counter_ns() < end_ns:
        hashlib.pbkdf2_hmac("sha256", b"password", b"salt", HELPER_ROUNDS)


def _answer(name: str, started: int) -> None:
    sys.stdout.write(f"{name} {started} {time.perf_counter_ns()}\n")
    sys.stdout.flush()


class ModelEngine(EngineThread):
    """The real engine; every module of the model gives the faults a chance to act."""

    def __init__(self, *args: Any, faults: Faults) -> None:
        super().__init__(*args)
        self.faults = faults

    def _run(self) -> None:
        import torch

        torch.nn.modules.module.register_module_forward_pre_hook(lambda *_: self.faults.within_step())
        super()._run()


class LoopEngine(ModelEngine):
    """The decode loop over a step that keeps the host busy and needs no model."""

    def _run(self) -> None:
        from types import SimpleNamespace

        import torch

        from idlegap.core.engine.available_modes import Lineup
        from idlegap.core.engine.device import Device
        from idlegap.core.engine.loop import DecodeLoop
        from idlegap.core.engine.modes.base import Mode
        from idlegap.core.engine.placement import Placement
        from idlegap.core.sensors.thread import ThreadCounters

        class SpinningDevice(Device):
            def synchronize(self) -> None:
                end = time.perf_counter_ns() + DEVICE_NS
                while time.perf_counter_ns() < end:
                    pass

        source, target = bytearray(COPY_BYTES // 2), bytearray(COPY_BYTES // 2)
        faults = self.faults

        class HostBound(Mode):
            name = "eager-static"

            def enter(self) -> None:
                return

            def prefill(self) -> None:
                return

            def step(self) -> torch.Tensor:
                faults.within_step()
                queue_: dict[int, int] = {}
                for i in range(STEP_WORK):
                    queue_[i & 1023] = i
                target[:] = source
                return nothing

        nothing = torch.zeros(0)
        device = SpinningDevice(torch.device("cpu"), "host loop", None)
        prompt = torch.zeros((1, 1))
        workload: Any = SimpleNamespace(device=device, prompt=prompt, static=None, token=nothing)
        mode = HostBound(workload)
        lineup = Lineup(workload, {"eager-static": mode}, {})
        self.outbox.put(
            EngineReady(
                self.clock(),
                pid=os.getpid(),
                tid=threading.get_native_id(),
                model="host loop",
                shape="",
                random_weights=True,
                dtype="",
                attention="",
                device="cpu",
                device_name="host loop",
                device_uuid=None,
                weight_bytes=0,
                parameters=0,
                prompt_tokens=1,
                new_tokens=self.settings.new_tokens,
                cache_len=0,
                batch=1,
                modes=(ModeStatus("eager-static"),),
                torch=str(torch.__version__),
                transformers="",
                python=sys.version.split()[0],
            )
        )
        gc.collect()
        gc.freeze()
        Placement(self.settings.pin_core, self.settings.nice).apply()
        DecodeLoop(
            lineup,
            lambda batch, prompt_tokens: lineup,
            settings=msgspec.structs.replace(self.settings, mode="eager-static"),
            outbox=self.outbox,
            commands=self.commands,
            clock=self.clock,
            counters=ThreadCounters(),
        ).run()


def main(argv: list[str]) -> None:
    """Serve one engine over the inherited socket until its other end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(int(argv[0]))
    settings = msgspec.json.decode(argv[1], type=Settings)
    commands: queue.SimpleQueue[AnyCommand] = queue.SimpleQueue()
    outbox = Outbox(time.perf_counter_ns)
    faults = Faults()
    kind = LoopEngine if argv[2] == "loop" else ModelEngine
    engine = kind(settings, outbox, commands, faults=faults)
    faults.start()
    engine.start()
    threading.Thread(target=_send, args=(connection, outbox), daemon=True).start()
    decoder = msgspec.msgpack.Decoder(AnyCommand)
    try:
        while True:
            commands.put(decoder.decode(connection.recv_bytes()))
    except (EOFError, OSError):
        os._exit(0)


def _send(connection: Connection, outbox: Outbox) -> None:
    try:
        while (event := outbox.take()) is not None:
            connection.send_bytes(msgspec.msgpack.encode(event))
    except OSError:
        pass
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
