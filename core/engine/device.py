"""Choosing the device, the device operations that the engine needs, and running out of its memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from idlegap.core.engine.errors import UnsupportedError, is_out_of_memory
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.protocol.settings import Wait, parse_device


@dataclass(frozen=True, slots=True)
class Device:
    """A torch device with what the screen says about it.

    `uuid` is torch's spelling (no ``GPU-`` prefix), None on the CPU. `wait` is how
    `synchronize` waits.
    """

    torch: torch.device
    name: str
    uuid: str | None
    wait: Wait = "spin"

    @property
    def is_cuda(self) -> bool:
        return self.torch.type == "cuda"

    def synchronize(self) -> None:
        """Wait for everything that this thread submitted; returns at once on the CPU."""
        if not self.is_cuda:
            return
        if self.wait == "block":
            event = torch.cuda.Event(blocking=True)
            event.record(torch.cuda.current_stream(self.torch))
            event.synchronize()
        else:
            torch.cuda.synchronize(self.torch)

    def memory_bytes(self) -> tuple[int, int]:
        """Free and total memory of a CUDA device, as its driver tells it."""
        return torch.cuda.mem_get_info(self.torch)

    def reset_peak_memory(self) -> None:
        """Let `peak_memory_bytes` count from what is allocated now."""
        if self.is_cuda:
            torch.cuda.reset_peak_memory_stats(self.torch)

    def peak_memory_bytes(self) -> int | None:
        """Most memory that PyTorch had allocated at one time since the reset; None on the CPU."""
        return torch.cuda.max_memory_allocated(self.torch) if self.is_cuda else None

    def memory_reason(self, batch: int) -> Reason:
        """Whose memory was not enough for what, and what would need less."""
        code = "no-memory-for-batch" if batch > 1 else "no-memory-for-prompt"
        return because(code, memory="device memory" if self.is_cuda else "memory", batch=batch)


def choose_device(text: str, wait: Wait = "spin") -> Device:
    """Resolve ``auto``, ``cpu``, ``cuda`` or ``cuda:N``; UnsupportedError where CUDA was asked for by
    name and this machine has none."""
    kind, index = parse_device(text)
    if kind == "cpu" or (kind == "auto" and not torch.cuda.is_available()):
        return Device(torch.device("cpu"), "CPU", None)
    if torch.version.cuda is None:
        raise UnsupportedError(
            f"--device {text}: torch {torch.__version__} was built without CUDA",
            "install a CUDA build of torch, or use --device cpu",
        )
    if not torch.cuda.is_available():
        raise UnsupportedError(
            f"--device {text}: torch {torch.__version__} (CUDA {torch.version.cuda}) finds no usable GPU",
            "check nvidia-smi and CUDA_VISIBLE_DEVICES, or use --device cpu",
        )
    count = torch.cuda.device_count()
    if index >= count:
        raise UnsupportedError(
            f"--device {text}: the last CUDA device here is cuda:{count - 1}",
            "choose one that exists; CUDA_VISIBLE_DEVICES may hide others",
        )
    torch.cuda.set_device(index)
    properties = torch.cuda.get_device_properties(index)
    return Device(torch.device("cuda", index), properties.name, str(properties.uuid), wait)


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
