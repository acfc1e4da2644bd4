"""Modes 1 and 2: the plain forward, over a dynamic and over a static cache."""

from typing import ClassVar

import torch

from idlegap.core.engine.modes.base import Mode, decode_one_token
from idlegap.core.protocol.modes import ModeName


class Eager(Mode):
    """Dynamic cache, plain forward: the fastest normal eager."""

    name: ClassVar[ModeName] = "eager"

    def step(self) -> torch.Tensor:
        return decode_one_token(self.workload.model, self.workload.token, self.cache)


class EagerStatic(Eager):
    """Static cache, plain forward: the controlled baseline for `graph`."""

    name = "eager-static"
