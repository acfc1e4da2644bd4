"""The sensors' samples, and what else may explain a slow token, oldest first."""

from dataclasses import dataclass, field
from typing import TypeVar

from idlegap.core.protocol import events

KEPT_SAMPLES = 128
"""Of each kind: half a minute at four a second, enough for what is usual of the GPU."""

_E = TypeVar("_E")


@dataclass(slots=True)
class Samples:
    """The last samples of each kind, or with `keep_all` every one: four a second, so minutes stay small."""

    keep_all: bool = False
    cpu: list[events.CpuSample] = field(default_factory=list)
    cgroup: list[events.CgroupSample] = field(default_factory=list)
    gpu: list[events.GpuSample] = field(default_factory=list)
    frames: list[events.MonitorSample] = field(default_factory=list)
    profiles: list[events.ProfileWindow] = field(default_factory=list)

    def apply(self, event: events.AnyEvent) -> None:
        """Keep the event if it is a sample."""
        match event:
            case events.CpuSample():
                self._keep(self.cpu, event)
            case events.CgroupSample():
                self._keep(self.cgroup, event)
            case events.GpuSample():
                self._keep(self.gpu, event)
            case events.MonitorSample():
                self._keep(self.frames, event)
            case events.ProfileWindow():
                self._keep(self.profiles, event)
            case _:
                pass

    def _keep(self, kept: list[_E], event: _E) -> None:
        kept.append(event)
        if not self.keep_all:
            trim(kept, KEPT_SAMPLES)


def trim(kept: list[_E], most: int) -> None:
    """Forget the oldest half once twice as many as `most` are there. Lists, because bisection and
    slices of a deque take time proportional to its length."""
    if len(kept) > 2 * most:
        del kept[:-most]


def last(kept: list[_E], most: int = 2 * KEPT_SAMPLES) -> list[_E]:
    """The newest of them, as many as a bounded list would hold."""
    return kept[-most:]
