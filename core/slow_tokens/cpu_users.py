"""Who else used the CPU while the decode thread waited for it, and how to divide the wait."""

from dataclasses import dataclass

FLOOR_SHARE = 0.10
"""CPU time below a tenth of one core is not told from nothing: ``/proc`` counts in steps of
10 ms for every core and process, which is 4 % of a quarter of a second each."""


@dataclass(frozen=True, slots=True)
class Loads:
    """Cores that our own other threads and that others use, usually."""

    own_cores: float
    others_cores: float


@dataclass(frozen=True, slots=True)
class CpuUsers:
    """CPU time used beside the decode thread in the samples that a token overlaps, in ns.

    `own_ns` is that of our own other threads (engine and monitor), `others_ns` that of all
    other programs, `stolen_ns` what the hypervisor kept; each over all cores. `window_ns` is how
    long the samples cover. `core` is where the decode thread ran last, `core_pct` its load.
    """

    own_ns: int
    others_ns: int
    stolen_ns: int
    window_ns: int
    core: int | None
    core_pct: float | None

    @property
    def own_cores(self) -> float:
        return self.own_ns / self.window_ns

    @property
    def others_cores(self) -> float:
        return self.others_ns / self.window_ns

    def weights(self, waited_ns: int, usual: Loads | None) -> tuple[int, int]:
        """How to divide a wait between our own threads and others, in this order; 0, 0 if
        neither can have caused it.

        Whoever had the CPU used it for half of the wait at least. If both did, what is unusual
        decides, because threads that are always busy elsewhere explain no change; if nothing is,
        everything counts.
        """
        floor_ns = FLOOR_SHARE * self.window_ns
        own, others = (
            used if used >= max(waited_ns / 2, floor_ns) else 0 for used in (self.own_ns, self.others_ns)
        )
        if own and others and usual is not None:
            more_own = max(own - round(usual.own_cores * self.window_ns), 0)
            more_others = max(others - round(usual.others_cores * self.window_ns), 0)
            if more_own + more_others >= floor_ns:
                return more_own, more_others
        return own, others
