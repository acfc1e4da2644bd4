"""Running out of memory, told alike for every device."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from idlegap.core.engine.device import Device
from idlegap.core.engine.errors import is_out_of_memory
from idlegap.core.protocol.reasons import Reason, because


@contextmanager
def one_memory_error() -> Iterator[None]:
    """Raise torch.OutOfMemoryError for a failed allocation on the CPU too, as CUDA does."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, MemoryError) as error:
        if is_out_of_memory(error):
            raise torch.OutOfMemoryError(str(error)) from error
        raise


def memory_reason(device: Device, batch: int) -> Reason:
    """Whose memory was not enough for what, and what would need less."""
    code = "no-memory-for-batch" if batch > 1 else "no-memory-for-prompt"
    return because(code, memory="device memory" if device.is_cuda else "memory", batch=batch)
