"""What one launch costs the host when the kernel itself is next to nothing.

An eager step pays this price for each of its kernels, and more for its own Python. The probe
tells how much of that belongs to the machine: the bare launch is the driver and the CPU, the
smallest operator adds PyTorch's dispatcher.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from idlegap.core.engine.device import Device
from idlegap.core.protocol.events import DispatchProbe
from idlegap.core.protocol.reasons import because

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
