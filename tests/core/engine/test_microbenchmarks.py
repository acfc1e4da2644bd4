"""What the machine manages alone: the cost of a launch, and readings that cannot be taken."""

from collections.abc import Callable

import pytest
import torch

from idlegap.core.engine.device import Device
from idlegap.core.engine.microbenchmarks import (
    BATCHES,
    LAUNCHES,
    measure_bandwidth,
    probe_dispatch,
    submission_ns,
)
from idlegap.core.protocol.commands import ProbeDispatch
from idlegap.core.protocol.events import Bandwidth, DispatchProbe, RoundFinished, TokenBatch
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


def test_on_the_cpu_memory_and_launches_have_a_reason_instead(run_loop):
    ran = run_loop({4: [ProbeDispatch()]}, stop_at=11)
    (finished,) = ran.of(RoundFinished)
    assert finished.peak_memory_bytes is None
    assert finished.missing == {"peak_memory_bytes": because("needs-cuda")}
    (probe,) = ran.of(DispatchProbe)
    assert (probe.launch_ns, probe.operator_ns) == (None, None)
    assert probe.missing == {"launch_ns": because("needs-cuda"), "operator_ns": because("needs-cuda")}


def test_a_probe_is_followed_by_a_warm_up(run_loop):
    ran = run_loop({6: [ProbeDispatch()]}, stop_at=10)
    assert [len(b.tokens) for b in ran.of(TokenBatch) if b.excluded == "warm-up"] == [3, 3]


class Host:
    """A host whose every submission takes the next of some times, and whose clock shows it."""

    def __init__(self, cost: Callable[[int], int]) -> None:
        self.now_ns = 0
        self.submitted = 0
        self.queued = 0
        self.longest_queue = 0
        self.cost = cost

    def submit(self) -> None:
        self.now_ns += self.cost(self.submitted)
        self.submitted += 1
        self.queued += 1
        self.longest_queue = max(self.longest_queue, self.queued)

    def synchronize(self) -> None:
        self.now_ns += 1_000_000
        self.queued = 0


def test_the_cost_of_a_submission_leaves_out_waiting_and_the_first_batch():
    host = Host(lambda n: 90_000 if n < LAUNCHES else 2_600)
    assert submission_ns(host.submit, host.synchronize, lambda: host.now_ns) == 2_600
    assert host.submitted == (BATCHES + 1) * LAUNCHES
    assert host.longest_queue == LAUNCHES
    assert host.queued == 0


def test_a_few_disturbed_batches_do_not_move_it():
    host = Host(lambda n: 50_000 if (n // LAUNCHES) % 4 == 0 else 2_600)
    assert submission_ns(host.submit, host.synchronize, lambda: host.now_ns) == 2_600


def test_the_probe_says_when_it_was_taken(device: Device):
    assert probe_dispatch(device, lambda: 42).t_ns == 42
