"""Formatters: three significant digits, fixed widths where asked for, no invented zeros, reasons kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.text import units

WALL_NS = st.integers(min_value=0, max_value=10**13)


@pytest.mark.parametrize(
    ("ns", "text"),
    [(4_180_000, "4.18"), (22_900_000, "22.9"), (720_000, "0.72"), (9_996_000, "10.0"), (99_960_000, "100"),
     (1_204_000_000, "1,204"), (0, "0.00"), (-4_180_000, "-4.18")],
)  # fmt: skip
def test_milliseconds_have_three_significant_digits(ns: int, text: str) -> None:
    assert units.ms(ns) == text


@pytest.mark.parametrize(
    ("per_s", "text", "on_screen"),
    [
        (4.31, "4.3", "4.31"),
        (53.24, "53.2", "53.2"),
        (239.2, "239.2", " 239"),
        (999.5, "1,000", "1,000"),
        (1389.4, "1,389", "1,389"),
        (12_345, "12,345", "12,345"),
    ],
)
def test_rates_have_a_tenth_or_three_digits_and_thousands_set_apart(
    per_s: float, text: str, on_screen: str
) -> None:
    assert (units.rate(per_s), units.rate(per_s, 4)) == (text, on_screen)


@given(WALL_NS)
def test_milliseconds_never_leave_their_four_cells(ns: int) -> None:
    assert len(units.ms(ns, 4)) == 4


@given(st.floats(min_value=0, max_value=100_000))
def test_percent_has_at_most_five_characters_up_to_three_digits(value: float) -> None:
    text = units.pct(value)
    assert text.endswith(" %")
    assert len(text) <= (5 if value < 999.5 else len(f"{value:,.0f} %"))


@given(st.floats(min_value=0.001, max_value=9_999))
def test_a_number_reads_back_within_its_last_digit(value: float) -> None:
    shown = float(units.fitted(value, 4))
    digits = len(units.fitted(value, 4).strip().partition(".")[2])
    assert abs(shown - value) <= 0.5000001 * 10**-digits


@pytest.mark.parametrize(
    ("value", "text"), [(0.3, "0.3 %"), (0.0, "0.0 %"), (9.96, "10 %"), (100.0, "100 %")]
)
def test_percent(value: float, text: str) -> None:
    assert units.pct(value) == units.percent(value / 100) == text


def test_what_is_missing_says_why_and_is_never_zero() -> None:
    assert units.reading(None, units.pct, {"util_pct": "MIG"}, "util_pct") == "n/a: MIG"
    assert units.reading(None, units.pct, {}, "util_pct") == "n/a"
    assert units.reading(17.0, units.pct, {}, "util_pct") == "17 %"


@pytest.mark.parametrize(
    ("ns", "text"), [(3_100_000_000, "  3.1 s"), (65 * 10**9, " 65.0 s"), (125 * 10**9, "2:05 min")]
)
def test_elapsed(ns: int, text: str) -> None:
    assert units.elapsed(ns) == text


def test_other_units() -> None:
    assert units.us(15_900) == "15.9"
    assert units.us(460) == "0.46"
    assert units.gigabytes(3_300_000_000) == "3.30"
    assert units.gigabytes(141 * 10**9) == "141"
    assert units.bandwidth(4.29e12) == "4,290 GB/s"
    assert units.times(5.478) == "5.48x"
    assert units.count(1432) == "1,432"


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0 KB"), (640_000, "640 KB"), (999_600, "1.0 MB"), (1_240_000, "1.2 MB"), (12_400_000, "12 MB"),
     (999_900_000, "1.0 GB"), (14 * 10**9, "14 GB")],
)  # fmt: skip
def test_sizes_of_files(n_bytes: int, text: str) -> None:
    assert units.size(n_bytes) == text


@pytest.mark.parametrize(
    ("ns", "text"), [(0, "0:00"), (7_900_000_000, "0:07"), (754 * 10**9, "12:34"), (3723 * 10**9, "1:02:03")]
)
def test_positions_in_a_recording(ns: int, text: str) -> None:
    assert units.clock(ns) == text


@pytest.mark.parametrize(
    ("text", "short"),
    [("n/a: MIG", "n/a"), ("quota n/a: no cpu.max", "quota n/a"), ("cpu: waits 4 %", "cpu: waits 4 %"),
     ("12 %", "12 %")],
)  # fmt: skip
def test_only_the_reason_of_a_missing_value_is_left_out(text: str, short: str) -> None:
    assert units.without_reason(text) == short
