"""Getting the profiler out of the driver again.

A torch profiler session leaves CUPTI attached, and everything after it is slower: on an H200 graph
replays by 0.3 ms and eager tokens by 4 ms and more (``benchmarks/window_residue.py``). Kineto
detaches it when the environment says so, within the CUDA calls that follow a session and from a
thread of its own.
"""

import os
import time
from collections.abc import Callable, MutableMapping

import torch

from idlegap.core.engine.device import Device

SWITCH = "TEARDOWN_CUPTI"
"""Kineto reads it after each session; it has no other switch."""

CALLS = 20
EVERY_S = 0.001


def detaching_works(cuda_version: str | None) -> bool:
    """Whether CUPTI can leave a process that replays graphs, and come back.

    Before CUDA 12.6 the next session after that crashes (pytorch/pytorch#146604).
    """
    if cuda_version is None:
        return False
    major, minor = (int(part) for part in cuda_version.split(".")[:2])
    return (major, minor) >= (12, 6)


class Detacher:
    """Switches detaching on where it works and nobody has decided otherwise, and lets it happen."""

    def __init__(
        self,
        device: Device,
        *,
        cuda_version: str | None = torch.version.cuda,
        environment: MutableMapping[str, str] = os.environ,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        if detaching_works(cuda_version):
            environment.setdefault(SWITCH, "1")
        self._on = device.is_cuda and environment.get(SWITCH) == "1"
        self._device = device
        self._pause = pause

    def detach(self) -> None:
        """Make some driver calls after a session, so that it is over before tokens or the next
        session come."""
        if not self._on:
            return
        for _ in range(CALLS):
            self._device.synchronize()
            self._pause(EVERY_S)
