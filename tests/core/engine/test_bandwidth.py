"""Bandwidth that cannot be measured: each reading is missing with the reason."""

import pytest
import torch

from idlegap.core.engine.bandwidth import measure_bandwidth
from idlegap.core.engine.device import Device
from idlegap.core.protocol.events import Bandwidth

CPU = Device(torch.device("cpu"), "CPU", None)


class FullDevice(Device):
    """A GPU with next to no memory left; nothing may be launched on it."""

    def memory_bytes(self) -> tuple[int, int]:
        return 900 << 20, 80 << 30


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        (CPU, "needs CUDA"),
        (FullDevice(torch.device("cuda", 0), "GPU", None), "only 0.94 GB of device memory free"),
    ],
    ids=["cpu", "full"],
)
def test_what_cannot_be_measured_is_missing_with_its_reason(device: Device, reason: str) -> None:
    missing = {"copy_bytes_per_s": reason, "read_bytes_per_s": reason}
    assert measure_bandwidth(device, clock=lambda: 7) == Bandwidth(7, None, None, missing=missing)
