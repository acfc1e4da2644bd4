"""Mode 5: ``torch.compile(mode="reduce-overhead")``, as most people would try it first."""

import torch

from idlegap.core.engine.modes.base import forward
from idlegap.core.engine.modes.fused import InductorMode, settle


class Compiled(InductorMode):
    """Inductor's own CUDA graphs around its own kernels, stock attention, default tuning.

    The argmax stays outside, as in ``generate()``: graph trees refuse a step that writes to its
    own input.
    """

    name = "compiled"

    def prepare(self) -> None:
        work = self.workload
        compiled = torch.compile(forward, dynamic=False, mode="reduce-overhead")

        def step() -> torch.Tensor:
            # Tells the graph trees that the last step's outputs may be overwritten.
            torch.compiler.cudagraph_mark_step_begin()
            logits: torch.Tensor = compiled(work.model, work.token, work.static).logits[:, -1]
            work.token.copy_(logits.argmax(dim=-1, keepdim=True))
            return logits

        settle(work, step)
        self.compiled_step = step
