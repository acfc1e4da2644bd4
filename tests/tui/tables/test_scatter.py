"""The terminal's scatter plot."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.tui.tables.scatter import Axis, Point, scatter

ARTICLE = [Point(288, 70.09, "1"), Point(448, 59.75, "2"), Point(608, 30.56, "3")]


def draw(points: list[Point], **options: object) -> list[str]:
    return scatter(points, x_label="GB/s", y_label="tok/s", **options)  # type: ignore[arg-type]


def place(lines: list[str], mark: str) -> tuple[int, int]:
    """(line, column) of the only `mark` within the plot."""
    found = [
        (row, line.index(mark, line.index("|")))
        for row, line in enumerate(lines)
        if "|" in line and mark in line[line.index("|") :]
    ]
    assert len(found) == 1
    return found[0]


def test_points_stand_where_their_values_are() -> None:
    lines = draw(ARTICLE)
    (row1, column1), (row2, column2), (row3, column3) = (place(lines, mark) for mark in "123")
    assert row1 < row2 < row3
    assert column1 < column2 < column3


def test_both_axes_begin_at_zero_and_end_at_a_round_number() -> None:
    lines = draw(ARTICLE)
    assert lines[0] == "tok/s"
    assert lines[1].startswith("80 |")
    assert lines[-3].startswith(" 0 |")
    assert lines[-1].rstrip().endswith("GB/s")
    assert lines[-1].split()[0] == "0"


def test_a_line_from_the_origin_is_drawn_and_points_cover_it() -> None:
    lines = draw([Point(10, 10, "x")], slope=1.0)
    assert sum(line.count(".") for line in lines) > 10
    assert place(lines, "x")[0] == 1


@given(
    st.lists(
        st.tuples(st.floats(0, 1e4), st.floats(0, 1e4), st.sampled_from("123456789abc")),
        min_size=1,
        max_size=12,
    ),
    st.none() | st.floats(0, 100),
    st.integers(40, 120),
)
def test_any_points_fit_the_width_and_none_falls_out(
    points: list[tuple[float, float, str]], slope: float | None, width: int
) -> None:
    lines = draw([Point(*point) for point in points], slope=slope, width=width)
    assert max(map(len, lines)) <= width
    body = [line.partition("|")[2] for line in lines[1:17]]
    drawn = {mark for line in body for mark in line} - {" ", "."}
    told = set(re.findall(r"\b([1-9a-c])(?=[,:])", " ".join(lines[19:])))
    assert drawn
    assert drawn | told == {mark for _, _, mark in points}


def test_points_at_the_same_place_are_told_below_the_plot() -> None:
    lines = draw([*ARTICLE, Point(448, 59.9, "4")])
    assert lines[-1] == "2, 4: at the same place, where only 4 shows"
    place(lines[:-1], "4")
    assert not any("same place" in line for line in draw(ARTICLE))


@given(st.floats(1e-3, 1e7))
def test_an_axis_holds_its_highest_value_with_few_round_steps(highest: float) -> None:
    axis = Axis.reaching(highest)
    assert axis.top >= highest * (1 - 1e-9)
    assert axis.top <= highest * 2
    assert 2 <= len(axis.ticks) <= 6
    assert axis.ticks[0] == 0
    assert axis.ticks[-1] == pytest.approx(axis.top)


def test_an_axis_of_nothing_is_still_an_axis() -> None:
    assert Axis.reaching(0).top > 0
