"""Reads a recording and keeps what its report tells."""

from dataclasses import dataclass, field
from pathlib import Path

from idlegap.core.measure.roofline import Ceiling, ceiling
from idlegap.core.protocol.events import (
    AnyEvent,
    Bandwidth,
    EngineFailed,
    EngineReady,
    EngineStage,
    GpuInfo,
    GpuSample,
    HostInfo,
    ModeEntered,
    Neighbours,
    ProfileWindow,
    RoundStarted,
    TokenBatch,
    Verified,
)
from idlegap.core.protocol.modes import ModeName
from idlegap.core.recording import Ending, Header, RecordingReader
from idlegap.core.report.setup import Dose, ModeFacts, Setup, doses, mode_facts
from idlegap.core.report.slow_tokens import slow_tokens
from idlegap.core.slow_tokens.explain import SlowToken

SETTLE_NS = 2_000_000_000
"""NVML's windows reach back a second or more: samples this soon after a switch of modes may
still tell of the mode before."""


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the page says. `others` are further setups, of which it only says how many
    tokens they had; `slow` are the slow tokens of the whole recording, oldest first."""

    header: Header
    ending: Ending
    length_ns: int
    host: HostInfo | None
    gpu: GpuInfo | None
    setup: Setup
    others: tuple[Setup, ...]
    ceiling: Ceiling | None
    modes: tuple[ModeFacts, ...]
    doses: tuple[Dose, ...]
    slow: tuple[SlowToken, ...]
    failures: tuple[EngineFailed, ...]

    def mode(self, name: ModeName) -> ModeFacts | None:
        """The facts of mode `name`, if it was visited."""
        return next((facts for facts in self.modes if facts.name == name), None)


def gather(path: Path) -> Facts:
    """Read the recording at `path` twice: for its figures, and for its slow tokens.

    Raises:
        RecordingError: it cannot be read.
    """
    listener = _Gatherer()
    with RecordingReader(path) as reader:
        newest_ns = reader.header.started_ns
        for event in reader:
            newest_ns = max(newest_ns, event.t_ns)
            listener.take(event)
    with RecordingReader(path) as again:
        slow = slow_tokens(again)
    setup, *others = sorted(listener.setups, key=lambda setup: (-len(setup.walls), setup.engine is None))
    limits = ceiling(setup.engine, listener.bandwidth, listener.gpu, reader.header.spec_bytes_per_s)
    return Facts(
        header=reader.header,
        ending=reader.ending,
        length_ns=max(newest_ns, reader.ending.t_ns) - reader.header.started_ns,
        host=listener.host,
        gpu=listener.gpu,
        setup=setup,
        others=tuple(other for other in others if other.walls),
        ceiling=limits,
        modes=mode_facts(setup, limits.bound_ns if limits is not None else None),
        doses=doses(setup),
        slow=slow,
        failures=tuple(listener.failures),
    )


@dataclass(slots=True)
class _Gatherer:
    """The state of the first pass."""

    setups: list[Setup] = field(default_factory=lambda: [Setup(None)])
    current: Setup = field(init=False)
    host: HostInfo | None = None
    gpu: GpuInfo | None = None
    bandwidth: Bandwidth | None = None
    failures: list[EngineFailed] = field(default_factory=list)
    neighbours: int = 0
    mode: ModeName | None = None
    decoding: bool = False
    settled_ns: int = 0

    def __post_init__(self) -> None:
        self.current = self.setups[0]

    def take(self, event: AnyEvent) -> None:
        match event:
            case TokenBatch():
                self.current.add(event, self.neighbours)
                if event.excluded == "new-length":
                    self.settled_ns = event.t_ns + SETTLE_NS
            case GpuSample():
                self._sample(event)
            case EngineReady():
                self._ready(event)
            case ModeEntered():
                self.mode = event.mode
                self.current.visits.end()
                self.settled_ns = event.t_ns + SETTLE_NS
            case EngineStage():
                if event.stage == "decoding" and not self.decoding:
                    self.settled_ns = event.t_ns + SETTLE_NS
                self.decoding = event.stage == "decoding"
            case RoundStarted():
                self.current.prefills_ns.setdefault(event.mode, []).append(event.prefill_ns)
            case ProfileWindow():
                self.current.note_profile(event)
            case Verified():
                self.current.verified[event.mode] = event
            case Bandwidth():
                self.bandwidth = event
            case HostInfo():
                self.host = event
            case GpuInfo():
                self.gpu = event
            case EngineFailed():
                self.failures.append(event)
            case Neighbours():
                self.neighbours = event.count
                self.current.visits.end()
            case _:
                pass

    def _ready(self, event: EngineReady) -> None:
        self.current.visits.end()
        known = next((setup for setup in self.setups if setup.same_as(event)), None)
        if known is None:
            known = Setup(event)
            self.setups.append(known)
        self.current = known

    def _sample(self, sample: GpuSample) -> None:
        if self.mode is not None and self.decoding and sample.t_ns >= self.settled_ns and not self.neighbours:
            self.current.samples.setdefault(self.mode, []).append(sample)


def elapsed_s(facts: Facts, t_ns: int) -> float:
    """Seconds from the recording's start to `t_ns`."""
    return (t_ns - facts.header.started_ns) / 1e9
