"""What was decoded, and whether two results decoded the same."""

from dataclasses import dataclass, fields

from idlegap.core.bench.schema import PublishedFigures
from idlegap.core.protocol.events import EngineReady
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.settings import CACHE_STEP


@dataclass(frozen=True, slots=True)
class Workload:
    """What was decoded. None: not stated."""

    shape: str
    dtype: str
    batch: int
    prompt_tokens: int
    new_tokens: int
    cache_len: int | None

    @classmethod
    def of(cls, found: EngineReady | PublishedFigures) -> "Workload":
        """What an engine decoded, or what a publication says of it."""
        shape = (found.shape, found.dtype, found.batch, found.prompt_tokens, found.new_tokens)
        return cls(*shape, found.cache_len)

    def differences(self, other: "Workload", mode: ModeName) -> list[str]:
        """What differs between both in `mode`, as far as both state it. The cache's length matters
        only to modes with a static cache, and there from a step of it on."""
        alike = "cache len" if mode == "eager" or self._cache_apart(other) < CACHE_STEP else ""
        return [
            f"{name} {a}, not {b}"
            for name, a, b in self._beside(other)
            if None not in (a, b) and a != b and name != alike
        ]

    def cache_remark(self, other: "Workload") -> str:
        """The lengths of both caches where they differ by too little to matter; else ""."""
        if not 0 < self._cache_apart(other) < CACHE_STEP:
            return ""
        return f"cache {other.cache_len:,} and {self.cache_len:,} slots"

    def _cache_apart(self, other: "Workload") -> int:
        """Slots by which the caches differ; 0 if one of both leaves it open."""
        if self.cache_len is None or other.cache_len is None:
            return 0
        return abs(self.cache_len - other.cache_len)

    def unstated(self, other: "Workload") -> list[str]:
        """What one of both leaves open."""
        return [name for name, a, b in self._beside(other) if (a is None) != (b is None)]

    def _beside(self, other: "Workload") -> list[tuple[str, object, object]]:
        names = [entry.name for entry in fields(self)]
        return [(name.replace("_", " "), getattr(self, name), getattr(other, name)) for name in names]
