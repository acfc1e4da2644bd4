"""Text from elsewhere: harmless, short, and otherwise as it was."""

from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.text.sanitize import printable, printable_lines, shorten


@given(st.text())
def test_nothing_unprintable_stays_and_positions_do(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)


@given(st.text(st.characters(exclude_categories=["C", "Z"])))
def test_what_can_be_shown_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_line_ends_and_tabs_are_blanks_and_controls_are_question_marks() -> None:
    assert printable("a\nb\tc\x1b[2J\u202e") == "a b c?[2J?"


@given(st.text(max_size=40), st.integers(min_value=0, max_value=50))
def test_shortened_text_fits_and_shows_that_it_was_cut(text: str, width: int) -> None:
    short = shorten(text, width)
    assert len(short) <= width
    assert short == text or short.endswith("…") or width == 0


def test_lines_stay_lines() -> None:
    assert printable_lines("a\x1b\n\tb\n") == "a?\n b\n"
