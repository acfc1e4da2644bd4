"""What a benchmark measures: which modes, how often, and for how long at most."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from idlegap.core.protocol.modes import MODE_NAMES, ModeName
from idlegap.core.protocol.settings import Settings

DEFAULT_RUNS = 5
"""The fewest with which an interval is narrower than the differences that matter (about 2 %)."""


class ArmSpec(NamedTuple):
    """A mode to be measured, and the name that it goes by."""

    label: str
    mode: ModeName


@dataclass(frozen=True, slots=True)
class Enough:
    """How much is enough: so many counted runs of each arm, that took so many seconds from the
    first one's first token to the last one's last."""

    runs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What to measure.

    Attributes:
        arms: in the order of the first turn; every other turn runs backwards.
        runs: counted runs of each arm.
        verify: compare each mode's tokens with eager-static's first.
        windows: accepted profile windows wanted per arm.
        probe: measure the host's cost of an empty kernel at the end.
        seconds: begin no further turn when it would end later than this after the engine's
            start; one counted turn is always taken. None sets no limit.
        on_cpu: what ends the turns, instead of `runs`, where the CPU decodes; None: `runs` does.
    """

    arms: tuple[ArmSpec, ...]
    runs: int = DEFAULT_RUNS
    verify: bool = True
    windows: int = 1
    probe: bool = False
    seconds: float | None = None
    on_cpu: Enough | None = None


def arms_for(modes: Sequence[ModeName] | None) -> tuple[ArmSpec, ...]:
    """One arm for each of `modes` (None: all). A mode named again gets a label of its own,
    which makes an A/A comparison of it."""
    seen: Counter[str] = Counter()
    arms = []
    for mode in modes or MODE_NAMES:
        seen[mode] += 1
        arms.append(ArmSpec(mode if seen[mode] == 1 else f"{mode}#{seen[mode]}", mode))
    return tuple(arms)


def engine_settings(settings: Settings) -> Settings:
    """`settings` for the engine of a benchmark: all modes on offer, since the baseline is
    needed for verification, the default one first, and no profile window unasked."""
    return msgspec.structs.replace(settings, mode=None, modes=None, profile_every_ns=None)
