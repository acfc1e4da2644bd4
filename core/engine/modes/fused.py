"""Mode 4: the step through inductor, its kernels launched one by one."""

import traceback
from collections.abc import Callable
from typing import Any, ClassVar

import torch

from idlegap.core.engine.attention import GROUPED, register
from idlegap.core.engine.cache import graph_obstacle, positions, rewind
from idlegap.core.engine.cudagraph_trees import adopt_cudagraph_trees
from idlegap.core.engine.errors import ModeError, first_line
from idlegap.core.engine.modes.base import Mode, Workload, decode_one_token
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.reasons import Reason, because

COMPILE_CALLS = 3
"""The first call compiles; under reduce-overhead the second records and the third replays."""


def tuned_options() -> dict[str, Any]:
    """What inductor is asked for beyond its defaults."""
    # Importing inductor takes a second, which starting in an eager mode should not pay.
    from idlegap.core.engine.fx_rewrite import SplitBias

    return {
        # Tunes each kernel by measurement, and lets inductor write single-row products itself.
        "coordinate_descent_tuning": True,
        # Kernels that do not depend on each other (q, k and v projections) share one launch.
        "combo_kernels": True,
        "pre_grad_custom_pass": SplitBias(),
    }


def forget_compiled() -> None:
    """Forget all compiled code: dynamo keeps a few versions of a function and then, silently,
    stops compiling it. Called on the decode thread once no mode needs its code any more."""
    adopt_cudagraph_trees()
    torch._dynamo.reset()


def compile_obstacle(workload: Workload) -> Reason | None:
    """Why inductor cannot be used here, None if it can."""
    if not workload.device.is_cuda:
        return because("needs-cuda")
    if torch.utils._triton.has_triton():
        return graph_obstacle(workload.static)
    return because("needs-triton")


def compile_step(workload: Workload, options: dict[str, Any]) -> Callable[[], torch.Tensor]:
    """The decode step, argmax included, compiled by inductor with `options`.

    Raises:
        ModeError: it cannot be compiled.
    """
    compiled = torch.compile(decode_one_token, dynamic=False, options=options)

    def step() -> torch.Tensor:
        return compiled(workload.model, workload.token, workload.static)

    settle(workload, step)
    return step


def settle(workload: Workload, step: Callable[[], torch.Tensor]) -> None:
    """Call `step` until it is compiled; positions and token are left as they were.

    Raises:
        ModeError: dynamo, inductor or the kernels' compiler gave up.
    """
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


class Fused(Mode):
    """Inductor kernels with grouped attention, launched by the host one after the other."""

    name: ClassVar[ModeName] = "fused"
    compiled_step: Callable[[], torch.Tensor]

    @classmethod
    def obstacle(cls, workload: Workload) -> Reason | None:
        return compile_obstacle(workload)

    def enter(self) -> None:
        # Dynamo guards on this name: the compiled code is found again only under its own.
        register()
        self.workload.use_attention(GROUPED)

    def prepare(self) -> None:
        self.compiled_step = self.workload.tuned_step(lambda: compile_step(self.workload, tuned_options()))

    def step(self) -> torch.Tensor:
        return self.compiled_step()

    def release(self) -> None:
        self.workload.forget_tuned_step()
        del self.compiled_step
