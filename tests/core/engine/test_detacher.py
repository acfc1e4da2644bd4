"""The profiler is let go of where that is safe, and only there."""

import pytest

from idlegap.core.engine.profile import DETACH_CALLS, DETACH_SWITCH, Detacher, detaching_works


class Driver:
    """A device that counts how often it is asked to finish."""

    def __init__(self, is_cuda=True):
        self.is_cuda = is_cuda
        self.synchronized = 0

    def synchronize(self):
        self.synchronized += 1


@pytest.mark.parametrize(
    ("cuda_version", "works"),
    [(None, False), ("11.8", False), ("12.4", False), ("12.6", True), ("12.10", True), ("13.0", True)],
)
def test_detaching_works_from_one_version_on(cuda_version, works):
    assert detaching_works(cuda_version) is works


@pytest.mark.parametrize(
    ("cuda_version", "before", "after", "calls"),
    [
        ("13.0", {}, {DETACH_SWITCH: "1"}, DETACH_CALLS),
        ("12.4", {}, {}, 0),
        ("13.0", {DETACH_SWITCH: "0"}, {DETACH_SWITCH: "0"}, 0),
        ("12.4", {DETACH_SWITCH: "1"}, {DETACH_SWITCH: "1"}, DETACH_CALLS),
    ],
)
def test_the_environment_decides_and_driver_calls_let_it_happen(cuda_version, before, after, calls):
    driver, pauses, environment = Driver(), [], dict(before)
    detacher = Detacher(driver, cuda_version=cuda_version, environment=environment, pause=pauses.append)
    detacher.detach()
    assert environment == after
    assert (driver.synchronized, len(pauses)) == (calls, calls)


def test_without_a_gpu_there_is_nothing_to_wait_for():
    driver = Driver(is_cuda=False)
    Detacher(driver, cuda_version="13.0", environment={}, pause=lambda _: None).detach()
    assert driver.synchronized == 0
