"""Mode 4: the step through inductor, its kernels launched one by one."""

import traceback
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from idlegap.core.engine.errors import ModeError, first_line
from idlegap.core.engine.modes.base import Mode, Workload, decode_one_token, graph_obstacle, positions, rewind
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.reasons import Reason, because

GROUPED = "idlegap_grouped"
"""The name of `grouped_attention` with transformers."""

COMPILE_CALLS = 3
"""The first call compiles; under reduce-overhead the second records and the third replays."""


def settle(workload: Workload, step: Callable[[], torch.Tensor]) -> None:
    """Call `step` until it is compiled; positions and token are left as they were. Raises
    ModeError where dynamo, inductor or the kernels' compiler gave up."""
    from idlegap.core.engine.inductor import adopt_cudagraph_trees

    adopt_cudagraph_trees()
    if hasattr(torch._dynamo.config, "fail_on_recompile_limit_hit"):
        torch._dynamo.config.fail_on_recompile_limit_hit = True
    saved_positions, saved_token = positions(workload.static), workload.token.clone()
    try:
        for _ in range(COMPILE_CALLS):
            step()
        workload.device.synchronize()
    # Dynamo, inductor, triton and the C compiler each raise classes of their own.
    except Exception as error:
        traceback.print_exc()
        detail = f"{type(error).__name__}: {first_line(error)}"
        raise ModeError(because("compilation-failed", detail=detail)) from error
    rewind(workload.static, saved_positions)
    workload.token.copy_(saved_token)


def grouped_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Softmax attention of one query token over grouped key/value heads.

    Up to its release 5.17, transformers repeats K and V for every query head of a group before a
    masked attention: at 768 slots that writes and reads 12 times more than the cache holds. Here
    the query heads of a group share their K and V as rows of one product, without copies. It is
    registered with transformers' own attention interface and used by the fused modes only, so that
    the eager modes stay what transformers does by itself.

    Shapes: `query` (batch, query heads, 1, head dim), longer ones (prefill) go to stock sdpa; `key` and
    `value` (batch, kv heads, slots, head dim); `attention_mask` (batch, 1, 1, slots), True where
    attended; the result (batch, 1, query heads, head dim), with None in place of the weights.
    """
    batch, heads, length, width = query.shape
    if length != 1:
        stock: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **kwargs
        )
        return stock
    kv_heads = key.shape[1]
    scale = width**-0.5 if scaling is None else scaling
    rows = query.view(batch, kv_heads, heads // kv_heads, width)
    scores = torch.matmul(rows, key.transpose(-1, -2)).float() * scale
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).to(value.dtype)
    return torch.matmul(weights, value).view(batch, 1, heads, width), None


def forget_compiled() -> None:
    """Forget all compiled code: dynamo keeps a few versions of a function and then, silently,
    stops compiling it. Called on the decode thread once no mode needs its code any more."""
    from idlegap.core.engine.inductor import adopt_cudagraph_trees

    adopt_cudagraph_trees()
    torch._dynamo.reset()


class InductorMode(Mode):
    """A mode whose `prepare` makes `compiled_step` with inductor."""

    compiled_step: Callable[[], torch.Tensor]

    @classmethod
    def obstacle(cls, workload: Workload) -> Reason | None:
        if workload.device.is_cuda and not torch.utils._triton.has_triton():
            return because("needs-triton")
        return graph_obstacle(workload)

    def step(self) -> torch.Tensor:
        return self.compiled_step()

    def release(self) -> None:
        del self.compiled_step


class Fused(InductorMode):
    """Inductor kernels with grouped attention, launched by the host one after the other."""

    name: ClassVar[ModeName] = "fused"

    def enter(self) -> None:
        # Dynamo guards on this name: the compiled code is found again only under its own.
        AttentionInterface.register(GROUPED, grouped_attention)
        AttentionMaskInterface.register(GROUPED, sdpa_mask)
        self.workload.use_attention(GROUPED)

    def prepare(self) -> None:
        from idlegap.core.engine.inductor import tuned_options

        work = self.workload
        if work.tuned_step is None:
            # The argmax is part of it.
            compiled = torch.compile(decode_one_token, dynamic=False, options=tuned_options())

            def step() -> torch.Tensor:
                return compiled(work.model, work.token, work.static)

            settle(work, step)
            work.tuned_step = step
        self.compiled_step = work.tuned_step

    def release(self) -> None:
        self.workload.tuned_step = None
        super().release()
