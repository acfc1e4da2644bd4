"""Partial updates write the changed cells and nothing else."""

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from idlegap.tui.terminal.tight_compositor import TightUpdate

RED = Style(color="#ff0000", bgcolor="#000000")
BLUE = Style(color="#0000ff", bgcolor="#000000")
WHITE_PAPER = Style(color="#0000ff", bgcolor="#ffffff")
CONSOLE = Console(color_system="truecolor", force_terminal=True)


def written(spans: list[tuple[int, int, int]], *rows: Strip) -> str:
    width = rows[0].cell_length
    return TightUpdate([{0: row} for row in rows], spans, [[width] for _ in rows]).render_segments(CONSOLE)


def row(*pieces: tuple[str, Style]) -> Strip:
    return Strip([Segment(text, style) for text, style in pieces])


def test_one_changed_cell_is_one_move_one_colour_one_character() -> None:
    sequence = written([(0, 5, 6)], row(("abcdefgh", RED)))
    assert sequence == "\x1b[1;6H\x1b[38;2;255;0;0;48;2;0;0;0mf\x1b[0m"


def test_a_colour_is_sent_once_for_all_rows_that_use_it() -> None:
    sequence = written([(0, 0, 2), (1, 0, 2)], row(("ab", RED)), row(("cd", RED)))
    assert sequence.count("38;2;255;0;0") == 1
    assert "ab" in sequence
    assert "\x1b[2;1Hcd" in sequence


def test_blanks_take_any_colour_on_the_same_paper() -> None:
    on_same = written([(0, 0, 3)], row(("a", RED), (" ", BLUE), ("b", RED)))
    on_other = written([(0, 0, 3)], row(("a", RED), (" ", WHITE_PAPER), ("b", RED)))
    assert on_same.count("\x1b[0m") == 1
    assert on_other.count("\x1b[0m") == 3


def test_two_spans_in_a_row() -> None:
    sequence = written([(0, 0, 1), (0, 4, 5)], row(("abcde", RED)))
    assert "\x1b[1;1H" in sequence
    assert "\x1b[1;5He" in sequence
    assert "b" not in sequence


def test_neighbouring_widgets_keep_to_their_own_cells() -> None:
    update = TightUpdate([{0: row(("abc", RED)), 3: row(("def", BLUE))}], [(0, 2, 4)], [[3, 6]])
    sequence = update.render_segments(CONSOLE)
    assert "c" in sequence
    assert "d" in sequence
    assert not set("abef") & set(sequence.replace("\x1b[", "").replace("m", ""))
