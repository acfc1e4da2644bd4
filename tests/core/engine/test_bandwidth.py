"""Bandwidth that cannot be measured: each reading is missing with the reason."""

import pytest
import torch

from idlegap.core.engine.device import Device
from idlegap.core.engine.microbenchmarks import measure_bandwidth
from idlegap.core.protocol.events import Bandwidth
from idlegap.core.protocol.reasons import Reason, because

CPU = Device(torch.device("cpu"), "CPU", None)


FREE = 900 << 20


class FullDevice(Device):
    """A GPU with next to no memory left; nothing may be launched on it."""

    def memory_bytes(self) -> tuple[int, int]:
        return FREE, 80 << 30


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        (CPU, because("needs-cuda")),
        (
            FullDevice(torch.device("cuda", 0), "GPU", None),
            because("little-memory", free_gb=FREE / 1e9),
        ),
    ],
    ids=["cpu", "full"],
)
def test_what_cannot_be_measured_is_missing_with_its_reason(device: Device, reason: Reason) -> None:
    missing = {"copy_bytes_per_s": reason, "read_bytes_per_s": reason}
    assert measure_bandwidth(device, clock=lambda: 7) == Bandwidth(7, None, None, missing=missing)
