"""The lengths that a dynamic cache has had here, because the first time at each is another thing.

A dynamic cache grows by one slot a token, so its attention has another shape each time. cuDNN's
plans are made per shape, on the host, and kept for the thread that made them (PyTorch's
``aten/src/ATen/native/cudnn/MHA.cpp``, `MHAGraphCache`): on an H200 some 40 ms, about twice what the
rest of an eager token takes, and gone where torch takes another kernel (docs/measurements.md). Later
rounds find the plans.
"""

from idlegap.core.engine.modes import Mode


class LengthLog:
    """Tells tokens at a new length of a dynamic cache. One for each decode thread on a GPU."""

    def __init__(self) -> None:
        self._met: set[tuple[int, int]] = set()

    def meet(self, mode: Mode, decoded: int) -> bool:
        """Whether the token after `decoded` others of its round is the first one at its length and
        batch size; from now on it is not."""
        if mode.cache_kind != "dynamic":
            return False
        batch, prompt_tokens = mode.workload.prompt.shape
        shape = (batch, prompt_tokens + decoded + 1)
        new = shape not in self._met
        self._met.add(shape)
        return new
