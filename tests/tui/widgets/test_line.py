"""Rows and their differences."""

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style
from textual.strip import Strip

from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.line import MERGE_CELLS, Line, changed_spans
from idlegap.tui.widgets.palette import DIM, TEXT

RED, BLUE = Style(color="red"), Style(color="blue")
PIECES = st.lists(st.tuples(st.text(alphabet="ab ▓世", max_size=6), st.sampled_from([RED, BLUE])), max_size=6)


def finished(pieces: list[tuple[str, Style]], width: int = 20) -> Strip:
    line = Line()
    for text, style in pieces:
        line.add(text, style)
    return line.strip(width, GlyphLevel.BRAILLE)


def cells(strip: Strip) -> list[tuple[str, Style | None]]:
    return [(c, style) for text, style, _ in strip for c in text]


@given(PIECES)
def test_a_finished_row_has_exactly_its_width(pieces: list[tuple[str, Style]]) -> None:
    strip = finished(pieces)
    assert strip.cell_length == 20
    assert sum(Strip([segment]).cell_length for segment in strip) == 20


@given(PIECES, PIECES)
def test_applying_the_changed_spans_turns_the_old_row_into_the_new_one(
    old_pieces: list[tuple[str, Style]], new_pieces: list[tuple[str, Style]]
) -> None:
    old, new = finished(old_pieces), finished(new_pieces)
    patched = old
    for start, end in changed_spans(old, new):
        patched = Strip.join([patched.crop(0, start), new.crop(start, end), patched.crop(end, 20)])
    assert cells(patched) == cells(new)


@given(PIECES)
def test_an_unchanged_row_has_no_changed_spans(pieces: list[tuple[str, Style]]) -> None:
    assert changed_spans(finished(pieces), finished(pieces)) == []


def test_a_changed_digit_is_one_cell() -> None:
    assert changed_spans(finished([("p50 4.18", RED)]), finished([("p50 4.19", RED)])) == [(7, 8)]


def test_a_changed_colour_is_a_change() -> None:
    assert changed_spans(finished([("ab", RED)]), finished([("a", RED), ("b", BLUE)])) == [(1, 2)]


def test_near_changes_become_one_span_and_far_ones_stay_apart() -> None:
    width = 2 * MERGE_CELLS + 4
    blank = finished([], width)
    near = finished([("x" + " " * (MERGE_CELLS - 1) + "x", TEXT)], width)
    far = finished([("x" + " " * (MERGE_CELLS + 1) + "x", TEXT)], width)
    assert changed_spans(blank, near) == [(0, MERGE_CELLS + 1)]
    assert len(changed_spans(blank, far)) == 2


def test_right_leaves_out_what_does_not_fit() -> None:
    assert Line().add("abc").right("xy", 8).plain == "abc   xy"
    assert Line().add("abc").right("xy", 5).plain == "abc"


def test_rows_are_equal_by_text_and_style() -> None:
    assert Line().add("a", TEXT) == Line().add("a", TEXT)
    assert Line().add("a", TEXT) != Line().add("a", DIM)
