"""Mode 3: the eager-static step, captured raw and replayed.

The same kernels in the same order, submitted with one call: whatever gets faster is dispatch
and nothing else.
"""

from collections.abc import Callable

import torch

from idlegap.core.engine.errors import ModeError, first_line
from idlegap.core.engine.modes.base import Mode, Workload, decode_one_token, graph_obstacle, positions, rewind
from idlegap.core.protocol.reasons import Reason, because

WARM_UP_STEPS = 3
"""cuBLAS handles, their workspaces and lazily loaded kernels are per thread and stream."""


class StepGraph:
    """A captured decode step over the workload's static cache and token buffer."""

    def __init__(self, workload: Workload, step: Callable[[], torch.Tensor]) -> None:
        """Warm up and capture `step`; the cache's positions are left as they were. Raises ModeError
        where the step cannot be captured."""
        device = workload.device.torch
        saved_positions, saved_token = positions(workload.static), workload.token.clone()
        stream, before = torch.cuda.Stream(device), torch.cuda.current_stream(device)
        self._graph = torch.cuda.CUDAGraph()
        try:
            stream.wait_stream(before)
            with torch.cuda.stream(stream):
                for _ in range(WARM_UP_STEPS):
                    step()
            before.wait_stream(stream)
            # A graph has the addresses of cuBLAS's workspace built in, but does not own one that
            # the warm-up made: inductor's graph trees free all workspaces, and the replay would
            # then write into memory of others. Cleared now, it is made again within the capture,
            # in memory that belongs to the graph.
            torch._C._cuda_clearCublasWorkspaces()
            # "thread_local": the default mode fails when any other thread of the process
            # makes a CUDA call meanwhile.
            with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"):
                self.logits = step()
        except RuntimeError as error:
            # A capture that fails at its end leaves its stream as the current one.
            torch.cuda.set_stream(before)
            raise ModeError(because("capture-failed", detail=first_line(error))) from error
        rewind(workload.static, saved_positions)
        workload.token.copy_(saved_token)

    def replay(self) -> torch.Tensor:
        """Submit the whole step; returns the graph's own logits buffer (batch, vocabulary)."""
        self._graph.replay()
        return self.logits


class Graph(Mode):
    """The step of `eager-static` as one raw CUDA graph."""

    name = "graph"
    _captured: StepGraph

    @classmethod
    def obstacle(cls, workload: Workload) -> Reason | None:
        return graph_obstacle(workload)

    def prepare(self) -> None:
        self._captured = StepGraph(self.workload, lambda: self.eager_step(self.workload))

    @staticmethod
    def eager_step(workload: Workload) -> torch.Tensor:
        """The step that is captured: exactly that of `eager-static`."""
        return decode_one_token(workload.model, workload.token, workload.static)

    def step(self) -> torch.Tensor:
        return self._captured.replay()

    def release(self) -> None:
        del self._captured
