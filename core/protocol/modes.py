"""The catalogue of decode modes: what each one is called and what it isolates.

This table is read by the command line and the screen, which must not import torch; how a
mode is carried out lives in ``core.engine.modes``.
"""

from dataclasses import dataclass
from typing import Literal, get_args

ModeName = Literal["eager", "eager-static", "graph", "fused", "compiled", "fused-graph"]
CacheKind = Literal["dynamic", "static"]


@dataclass(frozen=True, slots=True)
class ModeSpec:
    """One row of the catalogue. `key` is the digit that selects the mode on screen."""

    key: str
    name: ModeName
    summary: str
    isolates: str
    cache: CacheKind
    compiles: bool = False


MODES: tuple[ModeSpec, ...] = (
    ModeSpec("1", "eager", "dynamic cache, plain forward", "the fastest normal eager", "dynamic"),
    ModeSpec("2", "eager-static", "static cache, plain forward", "the cost of a static cache", "static"),
    ModeSpec("3", "graph", "the step of 2, captured raw and replayed", "dispatch alone", "static"),
    ModeSpec("4", "fused", "inductor kernels, launched one by one", "fusion alone", "static", True),
    ModeSpec("5", "compiled", "torch.compile reduce-overhead", "what most people would try", "static", True),
    ModeSpec("6", "fused-graph", "inductor step in one raw graph", "the fastest way", "static", True),
)

BASELINE: ModeName = "eager-static"
"""The controlled baseline: the same cache and the same kernels as `graph`."""

REPLAYED: ModeName = "graph"
"""The other end of the space key's toggle."""

EAGER: tuple[ModeName, ModeName] = ("eager", BASELINE)
"""Modes that launch the same modules' kernels one by one. `fused` launches from generated code,
without the modules' Python: what one of its kernels costs says nothing about one of theirs."""

ONE_GRAPH: tuple[ModeName, ...] = (REPLAYED, "fused-graph")
"""Modes whose whole step is one graph: they submit once per token."""

MODE_NAMES: tuple[ModeName, ...] = get_args(ModeName)


def mode_spec(name: ModeName) -> ModeSpec:
    """The catalogue row called `name`."""
    return MODES[MODE_NAMES.index(name)]
