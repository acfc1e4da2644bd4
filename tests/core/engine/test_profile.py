"""Sorting a profiler's raw events: markers cut off the head, kinds are told apart. A profiler that
does not start gives a rejected window."""

from dataclasses import dataclass

import pytest
import torch

from idlegap.core.engine.device import Device
from idlegap.core.engine.profile import Marker, Profiler, read_records
from idlegap.core.protocol.reasons import code_of


@dataclass
class Raw:
    """A raw kineto event, as far as it is read."""

    text: str
    start: int
    duration: int
    on_device: bool = True
    correlation: int = 1

    def name(self) -> str:
        return self.text

    def start_ns(self) -> int:
        return self.start

    def duration_ns(self) -> int:
        return self.duration

    def correlation_id(self) -> int:
        return self.correlation

    def device_type(self):
        kinds = torch.autograd.DeviceType
        return kinds.CUDA if self.on_device else kinds.CPU


MARKER = "at::cuda::spin_kernel(long)"


def test_records_before_the_last_marker_belong_to_nobody():
    events = [Raw("early", 0, 5), Raw(MARKER, 10, 5), Raw(MARKER, 20, 5), Raw("gemv", 30, 7, correlation=9)]
    device, _ = read_records(events, "spin_kernel")
    assert [(r.name, r.start_ns, r.end_ns, r.correlation) for r in device] == [("gemv", 30, 37, 9)]


def test_without_any_marker_the_head_was_lost_and_nothing_is_believed():
    events = [Raw("gemv", 30, 7), Raw("cudaLaunchKernel", 20, 4, on_device=False)]
    assert read_records(events, "spin_kernel") == ([], [])


def test_copies_fills_kernels_and_launch_calls_are_told_apart():
    events = [
        Raw(MARKER, 0, 1),
        Raw("Memcpy DtoD (Device -> Device)", 10, 1),
        Raw("Memset (Device)", 20, 1),
        Raw("gemv", 30, 1),
        Raw("cudaGraphLaunch", 5, 4, on_device=False, correlation=3),
    ]
    device, launches = read_records(events, "spin_kernel")
    assert [r.kind for r in device] == ["copy", "fill", "kernel"]
    assert [(c.start_ns, c.end_ns, c.correlation) for c in launches] == [(5, 9, 3)]


@pytest.mark.skipif(torch.cuda.is_available(), reason="here the profiler can look at a device")
def test_a_profiler_that_does_not_start_is_a_rejected_window_with_its_reason():
    cpu = Device(torch.device("cpu"), "CPU", None)
    profiler = Profiler(cpu, marker=Marker(lambda: None, "nothing"))
    window = profiler.take("eager", lambda: torch.ones(2) + 1)
    assert (window.accepted, window.busy_ns, window.kernels) == (False, 0, 0)
    assert code_of(window.reason) == "profiler-broken"
    assert window.reason.fields["detail"]
