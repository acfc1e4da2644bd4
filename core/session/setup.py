"""What was measured of one setup: a model, a shape and a device that hold still.

Tokens of different batch sizes or models are never pooled.
"""

from array import array
from collections import Counter, deque
from dataclasses import dataclass, field

from msgspec import structs

from idlegap.core.protocol.events import EngineReady, Exclusion, ProfileWindow, TokenBatch
from idlegap.core.protocol.modes import MODE_NAMES, ModeName
from idlegap.core.session.host_changes import host_changes
from idlegap.core.session.mode_history import ModeHistory
from idlegap.core.session.snapshot import HostChange
from idlegap.core.session.visits import VisitLog


@dataclass(slots=True)
class Times:
    """Counted tokens of one mode, in ns; a missing run delay is left out."""

    wall_ns: "array[int]" = field(default_factory=lambda: array("q"))
    dispatch_ns: "array[int]" = field(default_factory=lambda: array("q"))
    run_delay_ns: "array[int]" = field(default_factory=lambda: array("q"))


@dataclass(slots=True)
class TokenLog:
    """Every counted token of a setup, at about 33 bytes each.

    `walls_ns` and `modes` (places in MODE_NAMES) have one entry for each, in their order; `times`
    are the same tokens by mode and number of noisy neighbours of our own making.
    """

    walls_ns: "array[int]" = field(default_factory=lambda: array("q"))
    modes: "array[int]" = field(default_factory=lambda: array("b"))
    times: dict[tuple[ModeName, int], Times] = field(default_factory=dict)

    def add(self, batch: TokenBatch, neighbours: int) -> None:
        """Keep the tokens of a counted batch."""
        times = self.times.setdefault((batch.mode, neighbours), Times())
        mode = MODE_NAMES.index(batch.mode)
        for token in batch.tokens:
            self.walls_ns.append(token.wall_ns)
            self.modes.append(mode)
            times.wall_ns.append(token.wall_ns)
            times.dispatch_ns.append(token.dispatch_ns)
            if token.run_delay_ns is not None:
                times.run_delay_ns.append(token.run_delay_ns)


@dataclass(slots=True, eq=False)
class Setup:
    """Everything that one setup has said; `log` is None where only recent tokens are kept."""

    engine: EngineReady | None = None
    modes: dict[ModeName, ModeHistory] = field(default_factory=lambda: {n: ModeHistory() for n in MODE_NAMES})
    visits: VisitLog = field(default_factory=VisitLog)
    host_changes: tuple[HostChange, ...] = ()
    excluded: Counter[Exclusion] = field(default_factory=Counter)
    log: TokenLog | None = None

    @classmethod
    def begin(cls, engine: EngineReady | None, *, keep_all: bool) -> "Setup":
        """A setup of which nothing was measured yet."""
        if not keep_all:
            return cls(engine)
        modes = {name: ModeHistory(prefills_ns=deque()) for name in MODE_NAMES}
        return cls(engine, modes, VisitLog(kept=None), log=TokenLog())

    @property
    def profiles(self) -> dict[ModeName, ProfileWindow]:
        """The last accepted profile window of each mode that has one."""
        return {name: kept.profile for name, kept in self.modes.items() if kept.profile is not None}

    def same_as(self, engine: EngineReady) -> bool:
        """Whether `engine` runs the same thing: only times and process ids differ."""
        old = self.engine
        return old is not None and structs.replace(engine, t_ns=old.t_ns, pid=old.pid, tid=old.tid) == old

    def judge_host(self, now_ns: int) -> None:
        """Look again whether the host changed its speed between visits."""
        known = self.host_changes
        self.host_changes = host_changes(now_ns, self.visits, self.engine, self.profiles, known)
