"""What the machine manages when it is asked for one thing alone: copying, reading, launching.

The copy is the largest contiguous fp16 buffer that fits in half of the free memory (capped,
since beyond a few GiB nothing changes), the best of twenty, bytes read plus bytes written.

An eager step pays the price of a launch for each of its kernels, and more for its own Python. The
probe tells how much of that belongs to the machine: the bare launch is the driver and the CPU, the
smallest operator adds PyTorch's dispatcher.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from idlegap.core.engine.device import Device
from idlegap.core.protocol.events import Bandwidth, DispatchProbe
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


LAUNCHES = 256
"""A quarter of the launch queue (1,024 entries): a full one would make the host wait."""

BATCHES = 20


def probe_dispatch(device: Device, clock: Callable[[], int] = time.perf_counter_ns) -> DispatchProbe:
    """Host time per empty kernel; None with the reason on the CPU, where nothing is launched."""
    if not device.is_cuda:
        reason = because("needs-cuda")
        return DispatchProbe(clock(), None, None, missing={"launch_ns": reason, "operator_ns": reason})
    one = torch.zeros(1, device=device.torch)
    launch = submission_ns(lambda: torch.cuda._sleep(0), device.synchronize, clock)
    operator = submission_ns(lambda: one.add_(1), device.synchronize, clock)
    return DispatchProbe(clock(), launch, operator, launches=LAUNCHES)


def submission_ns(
    submit: Callable[[], Any], synchronize: Callable[[], None], clock: Callable[[], int]
) -> int:
    """Time of one `submit`: the median over batches, each begun with an empty queue."""
    batches = []
    for _ in range(BATCHES + 1):
        synchronize()
        started = clock()
        for _ in range(LAUNCHES):
            submit()
        batches.append((clock() - started) / LAUNCHES)
    synchronize()
    # The first batch loads the kernel.
    return round(median(batches[1:]))
