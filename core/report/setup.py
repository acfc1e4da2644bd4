"""What was measured of one setup: a model, a shape and a device that hold still.

Tokens of different batch sizes or models are never pooled, and neither are those that were
decoded beside noisy neighbours of our own making.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import structs

from idlegap.core.measure.device_time import Split, split_token
from idlegap.core.measure.statistics import median, quantile
from idlegap.core.protocol.events import EngineReady, GpuSample, ProfileWindow, TokenBatch, Verified
from idlegap.core.protocol.modes import MODE_NAMES, ModeName
from idlegap.core.protocol.reasons import ReasonOrText
from idlegap.core.session.visits import VisitLog


@dataclass(slots=True)
class Times:
    """Counted tokens of one mode, in ns; a missing run delay is left out."""

    wall: "array[int]" = field(default_factory=lambda: array("q"))
    dispatch: "array[int]" = field(default_factory=lambda: array("q"))
    run_delay: "array[int]" = field(default_factory=lambda: array("q"))


@dataclass(slots=True)
class Setup:
    """Everything that one setup has said. About 33 bytes are kept of each counted token.

    Attributes:
        walls, modes: wall time and mode (its place in MODE_NAMES) of each counted token.
        times: the same tokens by mode and number of neighbours of our own making.
        samples: NVML samples by the mode that decoded when they were taken.
        visits: the visits of each mode, without neighbours of our own making.
    """

    engine: EngineReady | None
    walls: "array[int]" = field(default_factory=lambda: array("q"))
    modes: "array[int]" = field(default_factory=lambda: array("b"))
    times: dict[tuple[ModeName, int], Times] = field(default_factory=dict)
    excluded: Counter[str] = field(default_factory=Counter)
    prefills_ns: dict[ModeName, list[int]] = field(default_factory=dict)
    profiles: dict[ModeName, ProfileWindow] = field(default_factory=dict)
    rejected: dict[ModeName, ReasonOrText] = field(default_factory=dict)
    verified: dict[ModeName, Verified] = field(default_factory=dict)
    samples: dict[ModeName, list[GpuSample]] = field(default_factory=dict)
    visits: VisitLog = field(default_factory=lambda: VisitLog(kept=None))

    def same_as(self, engine: EngineReady) -> bool:
        """Whether `engine` runs the same thing: only times and process ids differ."""
        return self.engine is not None and _nameless(self.engine) == _nameless(engine)

    def add(self, batch: TokenBatch, neighbours: int) -> None:
        """Take a batch into account."""
        if batch.excluded is not None:
            self.excluded[batch.excluded] += len(batch.tokens)
            return
        times = self.times.setdefault((batch.mode, neighbours), Times())
        if not neighbours:
            self.visits.add(batch)
        mode = MODE_NAMES.index(batch.mode)
        for token in batch.tokens:
            self.walls.append(token.wall_ns)
            self.modes.append(mode)
            times.wall.append(token.wall_ns)
            times.dispatch.append(token.dispatch_ns)
            if token.run_delay_ns is not None:
                times.run_delay.append(token.run_delay_ns)

    def note_profile(self, window: ProfileWindow) -> None:
        """Keep the last accepted window of a mode, or why there is none."""
        if window.accepted:
            self.profiles[window.mode] = window
        else:
            self.rejected[window.mode] = window.reason


def _nameless(engine: EngineReady) -> EngineReady:
    return structs.replace(engine, t_ns=0, pid=0, tid=0)


@dataclass(frozen=True, slots=True)
class ModeFacts:
    """One mode's figures over all its counted tokens, without neighbours of our own making.

    `run_delay_ns` is a mean, because it comes in few large pieces; the others are medians.
    `split` is None without an accepted profile window, and `split_reason` says why.
    """

    name: ModeName
    tokens: int
    wall_ns: int
    p99_ns: int
    dispatch_ns: int
    run_delay_ns: int | None
    prefill_ns: int | None
    split: Split | None
    split_reason: ReasonOrText
    kernels: int | None


@dataclass(frozen=True, slots=True)
class Dose:
    """Tokens of one mode beside `neighbours` busy processes of our own making."""

    mode: ModeName
    neighbours: int
    tokens: int
    wall_ns: int
    p99_ns: int
    run_delay_ns: int | None


def mode_facts(setup: Setup, bound_ns: int | None) -> tuple[ModeFacts, ...]:
    """The modes that have tokens, in the catalogue's order."""
    return tuple(
        _facts(setup, name, times, bound_ns)
        for name in MODE_NAMES
        if (times := setup.times.get((name, 0))) is not None
    )


def doses(setup: Setup) -> tuple[Dose, ...]:
    """Each mode that was tried with neighbours, beside its tokens without; by mode and number."""
    tried = {mode for mode, count in setup.times if count}
    return tuple(
        Dose(mode, count, len(times.wall), _median(times.wall), _p99(times.wall), _mean(times.run_delay))
        for (mode, count), times in sorted(
            setup.times.items(), key=lambda item: (MODE_NAMES.index(item[0][0]), item[0][1])
        )
        if mode in tried
    )


def _facts(setup: Setup, name: ModeName, times: Times, bound_ns: int | None) -> ModeFacts:
    wall_ns = _median(times.wall)
    window = setup.profiles.get(name)
    prefills = setup.prefills_ns.get(name, [])
    return ModeFacts(
        name=name,
        tokens=len(times.wall),
        wall_ns=wall_ns,
        p99_ns=_p99(times.wall),
        dispatch_ns=_median(times.dispatch),
        run_delay_ns=_mean(times.run_delay),
        prefill_ns=_median(prefills) if prefills else None,
        split=split_token(wall_ns, window, bound_ns) if window is not None else None,
        split_reason="" if window is not None else setup.rejected.get(name, "no profile window was taken"),
        kernels=window.kernels if window is not None else None,
    )


def _median(values: Sequence[int]) -> int:
    return round(median(values))


def _p99(values: Sequence[int]) -> int:
    return round(quantile(values, 0.99))


def _mean(values: Sequence[int]) -> int | None:
    return sum(values) // len(values) if values else None
