"""The measured ceilings: how fast this GPU really copies and reads its own memory.

The copy is the largest contiguous fp16 buffer that fits in half of the free memory (capped,
since beyond a few GiB nothing changes), the best of twenty, bytes read plus bytes written.
"""

import time
from collections.abc import Callable
from typing import Any

import torch

from idlegap.core.engine.device import Device
from idlegap.core.protocol.events import Bandwidth
from idlegap.core.protocol.reasons import Reason, because

REPEATS = 20
MAX_BUFFER_BYTES = 4 << 30
MIN_BUFFER_BYTES = 256 << 20
"""Several times the largest L2 cache on the market; below it a copy measures the cache."""


def measure_bandwidth(device: Device, clock: Callable[[], int] = time.perf_counter_ns) -> Bandwidth:
    """Copy and read bandwidth in bytes/s; on the CPU, or without room, None with the reason."""
    if not device.is_cuda:
        return _missing(clock(), because("needs-cuda"))
    free, _ = device.memory_bytes()
    size = min(MAX_BUFFER_BYTES, free // 4) & ~0xFFFFF
    if size < MIN_BUFFER_BYTES:
        return _missing(clock(), because("little-memory", free_gb=free / 1e9))
    try:
        copy_s, read_s = _copy_and_read_seconds(size, device.torch)
    except torch.OutOfMemoryError:
        return _missing(clock(), because("no-memory-for-buffers", buffer_gb=size / 1e9))
    finally:
        # Both buffers are gone with the function that made them.
        torch.cuda.empty_cache()
    return Bandwidth(clock(), 2 * size / copy_s, size / read_s, buffer_bytes=size)


def _copy_and_read_seconds(size: int, device: torch.device) -> tuple[float, float]:
    source = torch.empty(size // 2, dtype=torch.float16, device=device).normal_()
    target = torch.empty_like(source)
    copy_s = _best_seconds(lambda: target.copy_(source))
    # No single reduction is the fastest reader on every card: take the better of two.
    read_s = min(_best_seconds(source.amax), _best_seconds(source.view(torch.float32).sum))
    return copy_s, read_s


def _best_seconds(work: Callable[[], Any]) -> float:
    work()
    best = float("inf")
    for _ in range(REPEATS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        best = min(best, begin.elapsed_time(end) / 1e3)
    return best


def _missing(t_ns: int, reason: Reason) -> Bandwidth:
    return Bandwidth(t_ns, None, None, missing={"copy_bytes_per_s": reason, "read_bytes_per_s": reason})
