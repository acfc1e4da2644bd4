"""Mode 6: the inductor step, argmax and position included, captured in one raw graph."""

import torch

from idlegap.core.engine.modes.fused import Fused
from idlegap.core.engine.modes.graph import StepGraph


class FusedGraph(Fused):
    """The kernels of `fused`, submitted with one call: fusion and dispatch together."""

    name = "fused-graph"
    _captured: StepGraph

    def prepare(self) -> None:
        super().prepare()
        self._captured = StepGraph(self.workload, self.compiled_step)

    def step(self) -> torch.Tensor:
        return self._captured.replay()

    def release(self) -> None:
        del self._captured
        super().release()
