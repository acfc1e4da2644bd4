"""The gap split against a per-nanosecond oracle, and the windows that must be rejected."""

from dataclasses import replace
from random import Random
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idlegap.core.measure.device_time import (
    DeviceRecord,
    GapReport,
    LaunchRecord,
    Split,
    split_gaps,
    split_token,
    top_kernels,
    window_fault,
)
from idlegap.core.protocol.events import KernelTotal, ProfileWindow
from idlegap.core.protocol.reasons import Reason, because

Kind = Literal["kernel", "copy", "fill"]


def kernel(start: int, end: int, correlation: int, name: str = "gemv", kind: Kind = "kernel") -> DeviceRecord:
    return DeviceRecord(start, end, kind, name, correlation)


def gaps(report: GapReport) -> tuple[int, int, int]:
    return report.host_gap_ns, report.launch_latency_ns, report.device_gap_ns


# --- single cases -------------------------------------------------------------


def test_a_late_launch_divides_the_idle_time_into_host_gap_and_launch_latency() -> None:
    report = split_gaps(
        [kernel(10, 20, 1), kernel(50, 60, 2)],
        [LaunchRecord(2, 6, 1), LaunchRecord(30, 43, 2)],
        steps=1,
    )
    # before the first: 4 host, 4 latency; before the second: 23 host, 7 latency
    assert gaps(report) == (4 + 23, 4 + 7, 0)
    assert report.busy_ns == 20
    assert report.window_ns == 58


def test_work_queued_before_its_predecessor_ended_leaves_a_device_gap() -> None:
    report = split_gaps(
        [kernel(10, 20, 1), kernel(22, 30, 2)],
        [LaunchRecord(0, 5, 1), LaunchRecord(6, 9, 2)],
        steps=1,
    )
    assert gaps(report) == (5, 5, 2)


def test_a_launch_that_ends_as_its_predecessor_ends_found_the_queue_fed() -> None:
    report = split_gaps(
        [kernel(0, 20, 1), kernel(25, 30, 2)],
        [LaunchRecord(0, 0, 1), LaunchRecord(15, 20, 2)],
        steps=1,
    )
    assert gaps(report) == (0, 0, 5)


@pytest.mark.parametrize("launch_end", [12, 34])
def test_only_the_first_node_of_a_graph_waits_for_the_host(launch_end: int) -> None:
    """The launch call may return while its nodes already run; they do not wait for it."""
    nodes = [kernel(15, 20, 7), kernel(22, 30, 7), kernel(33, 40, 7)]
    report = split_gaps(nodes, [LaunchRecord(8, launch_end, 7)], steps=1)
    assert gaps(report) == (min(launch_end, 15) - 8, 15 - min(launch_end, 15), 2 + 3)


def test_the_idle_time_before_an_unmatched_record_is_not_blamed_on_the_host() -> None:
    report = split_gaps([kernel(10, 20, 1), kernel(30, 40, 9)], [LaunchRecord(0, 5, 1)], 1)
    assert gaps(report) == (5, 5, 10)
    assert report.unmatched == 1


def test_the_window_runs_from_the_first_launch_to_the_last_end() -> None:
    unrelated = LaunchRecord(0, 1, 99)
    report = split_gaps([kernel(130, 140, 1)], [unrelated, LaunchRecord(100, 120, 1)], steps=1)
    assert report.window_ns == 40
    assert gaps(report) == (20, 10, 0)


def test_no_records_leave_an_empty_window() -> None:
    assert split_gaps([], [LaunchRecord(0, 5, 1)], steps=2) == GapReport(steps=2, window_ns=0)


def test_overlapping_streams_count_once_in_busy_and_twice_in_the_sum() -> None:
    records = [kernel(0, 10, 1), kernel(5, 12, 2, kind="copy"), kernel(6, 8, 3, kind="fill")]
    report = split_gaps(records, [], steps=1)
    assert (report.busy_ns, report.busy_sum_ns, report.copy_ns) == (12, 19, 7)
    assert (report.kernels, report.copies, report.fills) == (1, 1, 1)


def test_of_records_that_start_together_the_one_queued_first_decides() -> None:
    records = [kernel(30, 35, 1), kernel(30, 40, 2), kernel(30, 33, 9)]
    report = split_gaps(records, [LaunchRecord(0, 20, 1), LaunchRecord(0, 12, 2)], 1)
    assert gaps(report) == (12, 18, 0)


def test_an_inner_driver_call_with_the_same_id_is_when_the_work_was_queued() -> None:
    calls = [LaunchRecord(0, 25, 1), LaunchRecord(5, 20, 1)]
    for launches in (calls, calls[::-1]):
        assert gaps(split_gaps([kernel(30, 40, 1)], launches, 1)) == (20, 10, 0)


def test_a_record_of_no_length_counts_and_divides_the_idle_time() -> None:
    records = [kernel(t, t, t) for t in (10, 15, 30)]
    report = split_gaps(records, [LaunchRecord(10, 12, 15), LaunchRecord(10, 20, 30)], 1)
    assert (report.kernels, report.busy_ns) == (3, 0)
    assert gaps(report) == (2 + 5, 3 + 10, 0)


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="steps 0"):
        split_gaps([], [], steps=0)


# --- properties ---------------------------------------------------------------

TIME = st.integers(0, 60)
RECORDS = st.lists(
    st.builds(
        lambda start, length, kind, correlation: DeviceRecord(start, start + length, kind, "k", correlation),
        TIME,
        st.integers(0, 12),
        st.sampled_from(["kernel", "copy", "fill"]),
        st.integers(0, 9),
    ),
    max_size=12,
)
LAUNCHES = st.lists(
    st.builds(
        lambda start, length, c: LaunchRecord(start, start + length, c),
        TIME,
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    max_size=12,
)


def oracle(device: list[DeviceRecord], launches: list[LaunchRecord]) -> dict[str, int]:
    """Ask of every nanosecond in turn what the device was waiting for."""
    known = {r.correlation for r in device}
    begins = [r.start_ns for r in device] + [c.start_ns for c in launches if c.correlation in known]
    low, high = min(begins, default=0), max((r.end_ns for r in device), default=0)
    tally = {"busy": 0, "host": 0, "latency": 0, "device": 0}
    for t in range(low, high):
        if any(r.start_ns <= t < r.end_ns for r in device):
            tally["busy"] += 1
            continue
        later = [r for r in device if r.start_ns > t]
        if not later:
            tally["host"] += 1
            continue
        upcoming = min(r.start_ns for r in later)
        idle_since = max([low] + [r.end_ns for r in device if r.start_ns <= t])
        calls = []
        for record in (r for r in later if r.start_ns == upcoming):
            ends = [call.end_ns for call in launches if call.correlation == record.correlation]
            replayed = any(r.correlation == record.correlation and r.start_ns <= t for r in device)
            if ends:
                calls.append(idle_since if replayed else min(ends))
        if not calls or min(calls) <= idle_since:
            tally["device"] += 1
        else:
            tally["host" if t < min(calls) else "latency"] += 1
    return tally


@settings(max_examples=400)
@given(RECORDS, LAUNCHES)
def test_every_nanosecond_goes_where_the_oracle_puts_it(
    device: list[DeviceRecord], launches: list[LaunchRecord]
) -> None:
    report = split_gaps(device, launches, 1)
    host, latency, device_gap = gaps(report)
    found = {"busy": report.busy_ns, "host": host, "latency": latency, "device": device_gap}
    assert found == oracle(device, launches)


@given(RECORDS, LAUNCHES, st.integers(1, 5))
def test_the_parts_sum_to_the_window_in_total_and_per_step(
    device: list[DeviceRecord],
    launches: list[LaunchRecord],
    steps: int,
) -> None:
    report = split_gaps(device, launches, steps)
    for part in (report, report.per_step()):
        assert min(part.busy_ns, *gaps(part)) >= 0
        assert part.busy_ns + sum(gaps(part)) == part.window_ns
    assert report.busy_sum_ns >= report.busy_ns
    assert report.per_step().window_ns == report.window_ns // steps


@given(RECORDS, LAUNCHES, st.randoms(use_true_random=False))
def test_the_order_of_the_records_does_not_matter(
    device: list[DeviceRecord], launches: list[LaunchRecord], random: Random
) -> None:
    expected = split_gaps(iter(device), iter(launches), 1)
    random.shuffle(device)
    random.shuffle(launches)
    assert split_gaps(device, launches, 1) == expected


# --- top kernels --------------------------------------------------------------


def test_top_kernels_rank_by_time_per_step_and_leave_copies_out() -> None:
    records = [
        kernel(0, 10, 1, "a"),
        kernel(10, 20, 2, "a"),
        kernel(20, 60, 3, "b"),
        kernel(60, 62, 4, "c"),
        kernel(62, 99, 5, "memcpy", "copy"),
    ]
    assert top_kernels(records, steps=2, n=2) == (KernelTotal("b", 0.5, 20), KernelTotal("a", 1.0, 10))


# --- rejected windows ---------------------------------------------------------

GOOD = GapReport(steps=4, window_ns=100_000_000, busy_ns=15_000_000, kernels=5724, copies=8)


@pytest.mark.parametrize(
    ("change", "expected", "reason"),
    [
        ({"kernels": 0, "copies": 0}, None, because("no-device-records")),
        ({"kernels": 5723}, None, because("records-lost", kernels=5723, steps=4)),
        ({}, 1432, because("kernels-differ", kernels=1431, expected=1432)),
        ({"invalid": 3}, 1431, because("records-reversed", records=3)),
        ({"unmatched": 58}, 1431, because("no-launch-records", unmatched=58, records=5732)),
    ],
)
def test_a_faulty_window_is_rejected_with_its_reason(
    change: dict[str, int], expected: int | None, reason: Reason
) -> None:
    assert window_fault(replace(GOOD, **change), expected) == reason


@pytest.mark.parametrize("change", [{}, {"unmatched": 57}])
def test_a_sound_window_has_no_fault(change: dict[str, int]) -> None:
    assert window_fault(replace(GOOD, **change), None) is None
    assert window_fault(replace(GOOD, **change), 1431) is None


def test_timestamps_that_ran_backwards_are_counted_not_believed() -> None:
    report = split_gaps([kernel(10, 20, 1), kernel(30, 5, 2)], [], 1)
    assert report.invalid == 1
    assert report.busy_ns == 10
    assert report.busy_ns + sum(gaps(report)) == 20


# --- one token ----------------------------------------------------------------


def window(busy: int, latency: int, device: int) -> ProfileWindow:
    return ProfileWindow(
        t_ns=0,
        mode="eager-static",
        steps=4,
        accepted=True,
        busy_ns=busy,
        launch_latency_ns=latency,
        device_gap_ns=device,
        host_gap_ns=10**9,
    )


def test_the_host_gap_is_what_remains_of_the_unprofiled_token() -> None:
    split = split_token(22_900_000, window(3_700_000, 3_300_000, 100_000), 720_000)
    assert split == Split(720_000, 2_980_000, 3_300_000, 100_000, 15_800_000)


def test_gaps_shrink_in_proportion_before_busy_does() -> None:
    assert split_token(110, window(100, 30, 10), None) == Split(None, 100, 7, 3, 0)
    assert split_token(80, window(100, 30, 10), 20) == Split(20, 60, 0, 0, 0)


def test_the_bound_never_exceeds_what_was_measured_as_busy() -> None:
    assert split_token(100, window(40, 0, 0), 70) == Split(40, 0, 0, 0, 60)


@given(*[st.integers(0, 10**8)] * 4, st.none() | st.integers(0, 10**8))
def test_the_parts_of_a_token_are_never_negative_and_sum_to_its_wall_time(
    wall: int, busy: int, latency: int, device: int, bound: int | None
) -> None:
    split = split_token(wall, window(busy, latency, device), bound)
    parts = (
        split.bound_ns or 0,
        split.other_ns,
        split.launch_latency_ns,
        split.device_gap_ns,
        split.host_gap_ns,
    )
    assert min(parts) >= 0
    assert sum(parts) == wall == split.busy_ns + split.idle_ns


def test_a_rejected_window_and_a_negative_time_are_refused() -> None:
    with pytest.raises(ValueError, match="was rejected"):
        split_token(
            1, ProfileWindow(t_ns=0, mode="graph", steps=1, accepted=False, reason="lost records"), None
        )
    with pytest.raises(ValueError, match="negative"):
        split_token(-1, window(1, 1, 1), None)
