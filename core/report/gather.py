"""Reads a recording and gathers what its report says."""

from dataclasses import dataclass
from pathlib import Path

from idlegap.core.measure.roofline import Ceiling, ceiling
from idlegap.core.protocol.events import Bandwidth, EngineFailed, GpuInfo, GpuSample, HostInfo
from idlegap.core.protocol.modes import ModeName
from idlegap.core.recording import Ending, Header, RecordingReader
from idlegap.core.report.modes import Dose, ModeRow, doses, mode_rows
from idlegap.core.session.setup import Setup
from idlegap.core.session.state import State
from idlegap.core.slow_tokens.explain import SlowToken

SETTLE_NS = 2_000_000_000
"""NVML's windows reach back a second or more: samples this soon after a switch of modes may
still describe the mode before."""


@dataclass(frozen=True, slots=True)
class Report:
    """All that the page says.

    `setup` is the one with the most tokens; `others` are further ones, of which the page only says how
    many tokens they had. `samples` are NVML's in each mode of `setup`, taken while it decoded
    undisturbed. `slow` are the slow tokens of the whole recording, oldest first.
    """

    header: Header
    ending: Ending
    length_ns: int
    host: HostInfo | None
    gpu: GpuInfo | None
    setup: Setup
    others: tuple[Setup, ...]
    ceiling: Ceiling | None
    modes: tuple[ModeRow, ...]
    doses: tuple[Dose, ...]
    samples: dict[ModeName, list[GpuSample]]
    slow: tuple[SlowToken, ...]
    failures: tuple[EngineFailed, ...]

    def mode(self, name: ModeName) -> ModeRow | None:
        """The row of mode `name`, if it was visited."""
        return next((row for row in self.modes if row.name == name), None)


def gather(path: Path) -> Report:
    """Read the recording at `path`.

    Raises:
        RecordingError: it cannot be read.
    """
    samples: dict[tuple[int, ModeName], list[GpuSample]] = {}
    failures: list[EngineFailed] = []
    with RecordingReader(path) as reader:
        newest_ns = reader.header.started_ns
        state = State(newest_ns, keep_all=True)
        for event in reader:
            newest_ns = max(newest_ns, event.t_ns)
            state.apply(event)
            if isinstance(event, EngineFailed):
                failures.append(event)
            elif isinstance(event, GpuSample) and state.mode is not None and _settled(state, event.t_ns):
                samples.setdefault((id(state.setup), state.mode), []).append(event)
    state.finish()
    facts = state.facts
    setup, *others = sorted(state.setups, key=lambda setup: (-_tokens(setup), setup.engine is None))
    limits = None
    if setup.engine is not None:
        spec = reader.header.spec_bytes_per_s
        limits = ceiling(setup.engine, facts.newest(Bandwidth), facts.newest(GpuInfo), spec)
    return Report(
        header=reader.header,
        ending=reader.ending,
        length_ns=max(newest_ns, reader.ending.t_ns) - reader.header.started_ns,
        host=facts.newest(HostInfo),
        gpu=facts.newest(GpuInfo),
        setup=setup,
        others=tuple(other for other in others if _tokens(other)),
        ceiling=limits,
        modes=mode_rows(setup, limits),
        doses=doses(setup),
        samples={mode: found for (of, mode), found in samples.items() if of == id(setup)},
        slow=tuple(state.slow_tokens),
        failures=tuple(failures),
    )


def _settled(state: State, t_ns: int) -> bool:
    """Whether NVML's windows at `t_ns` hold nothing but one mode's undisturbed tokens."""
    since_ns = state.steady_since_ns
    return since_ns is not None and t_ns >= since_ns + SETTLE_NS and not state.facts.neighbours


def _tokens(setup: Setup) -> int:
    return len(setup.log.walls_ns) if setup.log is not None else 0
