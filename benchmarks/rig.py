"""An engine under test with the app's own sensors around it, everything kept as events."""

import subprocess
import sys
import time
from multiprocessing import Pipe
from pathlib import Path

import msgspec
import psutil

from benchmarks.faults import Span
from idlegap.core.protocol.events import (
    AnyEvent,
    CpuSample,
    EngineEvent,
    EngineFailed,
    EngineReady,
    TokenBatch,
)
from idlegap.core.protocol.settings import Settings
from idlegap.core.sensors.sampler import Sampler


class Rig:
    """The engine under test with its sensors; everything that they say is in `events`."""

    def __init__(self, engine: str, settings: Settings, root: Path, nvml: bool) -> None:
        self.events: list[AnyEvent] = []
        self._ours, theirs = Pipe()
        command = [sys.executable, "-m", "benchmarks.victim", str(theirs.fileno())]
        self._process = subprocess.Popen(
            [*command, msgspec.json.encode(settings).decode(), engine],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
            text=True,
        )
        theirs.close()
        self._decoder = msgspec.msgpack.Decoder(EngineEvent)
        self._sampler = Sampler(self.events.append, root=root, nvml_enabled=nvml)
        self._answers: dict[str, Span] = {}
        self.pid = self.tid = 0

    def start(self) -> None:
        self._sampler.start()
        while not self.pid:
            for event in self.pump(1.0):
                match event:
                    case EngineFailed():
                        raise RuntimeError(event.reason)
                    case EngineReady():
                        self.pid, self.tid = event.pid, event.tid
                        self._sampler.watch_engine(event.pid, event.tid, event.device_uuid)
                    case _:
                        pass

    def pump(self, seconds: float) -> list[EngineEvent]:
        """Take what the engine says for this long."""
        end = time.monotonic() + seconds
        taken: list[EngineEvent] = []
        while (left := end - time.monotonic()) > 0:
            if self._ours.poll(left):
                taken.append(self._decoder.decode(self._ours.recv_bytes()))
                self.events.append(taken[-1])
        return taken

    def pump_tokens(self, tokens: int) -> None:
        while tokens > 0:
            for event in self.pump(0.1):
                if isinstance(event, TokenBatch) and event.excluded is None:
                    tokens -= len(event.tokens)

    def wait_until_quiet(self, others_pct: float, patience_s: float) -> None:
        """Let time pass until two samples running show no more load by others, or for so long."""
        end = time.monotonic() + patience_s
        while time.monotonic() < end and not self.is_quiet(others_pct):
            self.pump(0.1)

    def is_quiet(self, others_pct: float) -> bool:
        """Whether others used less than this in the last two samples."""
        loads = [e.others_pct for e in self.events[-200:] if isinstance(e, CpuSample)][-2:]
        return all(load is not None and load < others_pct for load in loads)

    def guests_cpu_s(self) -> float:
        """CPU time of the processes that faults have started and not ended yet."""
        total = 0.0
        for process in psutil.Process().children():
            if process.pid != self._process.pid:
                times = process.cpu_times()
                total += times.user + times.system
        return total

    def order(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def answer(self, name: str) -> Span:
        """From when to when the fault `name` acted inside the engine; waits for its end."""
        assert self._process.stdout is not None
        while name not in self._answers:
            who, started, ended = self._process.stdout.readline().split()
            self._answers[who] = int(started), int(ended)
        return self._answers.pop(name)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._sampler.stop()
