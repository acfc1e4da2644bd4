"""Names of clock event reasons."""

from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.sensors.nvml import event_reason_names


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
