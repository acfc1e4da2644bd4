"""Errors in words, retries, and calls that are timed and seen to hang."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.protocol.reasons import because
from idlegap.core.sensors.nvml import NvmlCalls, NvmlError, Retry, event_reason_names
from idlegap.core.sensors.reading import SECOND, ReadingError
from tests.core.sensors.fake_nvml import (
    FUNCTION_NOT_FOUND,
    GPU_IS_LOST,
    IN_USE,
    LIBRARY_NOT_FOUND,
    NO_PERMISSION,
    NOT_SUPPORTED,
    UNKNOWN,
    VERSION_MISMATCH,
    FakeGpu,
    FakeNvml,
)

LOST = NvmlError(GPU_IS_LOST, "GPU is lost")


@pytest.mark.parametrize("code", [NOT_SUPPORTED, LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND, VERSION_MISMATCH, 9])
def test_errors_that_asking_again_cannot_help(code: int) -> None:
    error = NvmlError(code, "whatever")
    assert error.for_good
    assert error.reason.fields == {}


@pytest.mark.parametrize("code", [UNKNOWN, GPU_IS_LOST, 16, NO_PERMISSION, IN_USE, 10])
def test_errors_that_may_pass(code: int) -> None:
    error = NvmlError(code, "Some Error")
    assert not error.for_good
    assert error.reason == because("nvml-error", error="Some Error")


def test_calls_are_timed_and_visible_while_they_last() -> None:
    nvml = FakeNvml(FakeGpu(), cost_ns=700)
    calls = NvmlCalls(nvml, nvml.clock)
    seen: list[object] = []
    nvml.during = lambda name: seen.append(calls.pending)
    calls("start", lambda lib: lib.nvmlInit())
    assert calls("count", lambda lib: lib.nvmlDeviceGetCount()) == 1
    assert seen == [("start", 0), ("count", 700)]
    assert calls.pending is None
    assert calls.spent_ns == 1400


def test_a_failed_call_is_timed_and_no_longer_pending() -> None:
    nvml = FakeNvml(cost_ns=50)
    nvml.errors["nvmlInit"] = UNKNOWN
    calls = NvmlCalls(nvml, nvml.clock)
    with pytest.raises(NvmlError, match="NVML Unknown Error"):
        calls("start", lambda lib: lib.nvmlInit())
    assert (calls.pending, calls.spent_ns) == (None, 50)


def test_bindings_without_a_function_are_too_old() -> None:
    nvml = FakeNvml()
    calls = NvmlCalls(nvml, nvml.clock)
    with pytest.raises(ReadingError, match="this nvidia-ml-py has no nvmlNewThing") as caught:
        calls("new", lambda lib: lib.nvmlNewThing())  # type: ignore[attr-defined]
    assert caught.value.for_good


def test_retry_backs_off_and_tells_the_age_of_the_last_success() -> None:
    retry = Retry()
    retry.worked(10 * SECOND)
    attempts = []
    for now in range(11, 111):
        if retry.ready(now * SECOND):
            attempts.append(now)
            retry.failed(now * SECOND, LOST)
    assert attempts == [11, 12, 14, 18, 26, 42, 72, 102]
    assert retry.reason(22 * SECOND) == because("stale", LOST.reason, age_s=12)
    retry.worked(130 * SECOND)
    assert retry.reason(131 * SECOND) is None
    retry.failed(140 * SECOND, LOST)
    assert not retry.ready(140 * SECOND + 1)
    assert retry.ready(141 * SECOND)


def test_retry_that_never_worked_counts_from_its_first_failure() -> None:
    retry = Retry()
    retry.failed(5 * SECOND, LOST)
    retry.failed(6 * SECOND, LOST)
    assert retry.reason(9 * SECOND) == because("stale", LOST.reason, age_s=4)


@given(st.integers(0, 10**18))
def test_nothing_is_tried_again_after_a_failure_for_good(now_ns: int) -> None:
    retry = Retry()
    retry.failed(0, NvmlError(NOT_SUPPORTED, "Not Supported"))
    assert not retry.ready(now_ns)
    assert retry.reason(now_ns) == because("not-supported")


# --- clock event reasons ---


def test_no_bits_no_names() -> None:
    assert event_reason_names(0) == ()


def test_every_known_bit_has_its_name() -> None:
    assert [event_reason_names(1 << bit)[0] for bit in range(11)] == [
        "GPU idle",
        "application clocks",
        "software power cap",
        "hardware slowdown",
        "sync boost",
        "software thermal slowdown",
        "hardware thermal slowdown",
        "power brake",
        "display clock",
        "board limit",
        "reliability",
    ]


def test_combined_bits_come_lowest_first_and_unknown_ones_last() -> None:
    assert event_reason_names(0x4 | 0x40 | 0x1000) == (
        "software power cap",
        "hardware thermal slowdown",
        "unknown 0x1000",
    )


@given(st.integers(0, 2**64 - 1))
def test_no_bit_is_lost(mask: int) -> None:
    names = event_reason_names(mask)
    unknown = mask >> 11
    assert len(names) == (mask & 0x7FF).bit_count() + (unknown > 0)
