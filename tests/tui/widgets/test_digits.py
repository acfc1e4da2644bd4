"""The large digits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.tui.widgets.digits import ROWS, big


@given(st.text(alphabet="0123456789.k -", max_size=8))
def test_all_rows_are_equally_long(text: str) -> None:
    rows = big(text)
    assert len(rows) == ROWS
    assert len({len(row) for row in rows}) == 1


def test_no_two_digits_look_alike() -> None:
    assert len({tuple(big(digit)) for digit in "0123456789"}) == 10


def test_a_number() -> None:
    assert big("4.1") == [
        "█ █   ▄█ ",
        "▀▀█    █ ",
        "  ▀ ▀ ▀▀▀",
    ]


def test_other_characters_are_refused() -> None:
    with pytest.raises(KeyError):
        big("x")
