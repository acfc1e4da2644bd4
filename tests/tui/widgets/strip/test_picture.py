"""The latency strip, cell by cell."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.measure.device_time import Split
from idlegap.core.protocol.modes import BASELINE
from idlegap.core.session.snapshot import ModeView, Strip, StripColumn, StripMark
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.cause_marks import UNKNOWN_MARK as SLOW
from idlegap.tui.widgets.palette import BOUND, WHOLE
from idlegap.tui.widgets.strip.cells import CUT
from idlegap.tui.widgets.strip.picture import LEFT_GUTTER, RIGHT_GUTTER, StripPicture
from tests.tui.support.scenes import eager_and_graph

MS = 1_000_000
WIDTH, HEIGHT = LEFT_GUTTER + 10 + RIGHT_GUTTER, 6
SPLIT = Split(bound_ns=5 * MS, other_ns=5 * MS, launch_latency_ns=0, device_gap_ns=0, host_gap_ns=10 * MS)
MODES = (ModeView("2", BASELINE, "", wall_ns=20 * MS, split=SPLIT),)


def column(bucket: int, median_ms: float, longest_ms: float | None = None, slow: int = 0) -> StripColumn:
    longest_ms = median_ms if longest_ms is None else longest_ms
    return StripColumn(bucket, BASELINE, round(median_ms * MS), round(longest_ms * MS), 10, slow)


def strip(*columns: StripColumn, now: int | None = None, marks: tuple[StripMark, ...] = ()) -> Strip:
    return Strip(columns[-1].bucket if now is None else now, tuple(columns), marks)


def rows(picture: StripPicture) -> list[str]:
    return [picture.row(y).plain for y in range(picture.height)]


def plot(picture: StripPicture) -> list[str]:
    return [row[LEFT_GUTTER : LEFT_GUTTER + 10] for row in rows(picture)[1:-1]]


def test_an_unsplit_token_is_a_solid_column_up_to_its_median() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.BRAILLE)
    picture.update(strip(column(0, 18), column(1, 9)), ())
    assert rows(picture)[0].startswith("   20┤")
    # 18 of 20 ms are 14 of 16 dots on the left, 9 ms are 7 dots on the right.
    assert plot(picture) == ["⡄" + " " * 9, "⡇" + " " * 9, "⣷" + " " * 9, "⣿" + " " * 9]


def test_idle_time_is_dotted_and_device_time_solid() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.ASCII)
    picture.update(strip(column(0, 18), column(1, 18)), MODES)
    assert [row[0] for row in plot(picture)] == [":", ":", "#", "#"]


def test_columns_of_an_earlier_shape_keep_their_own_device_time() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.ASCII)
    known = replace(column(0, 18), reshaped=True, busy_ns=5 * MS)
    unknown = replace(column(2, 18), reshaped=True)
    picture.update(replace(strip(known, unknown, column(4, 18)), bound_ns=2 * MS), MODES)
    assert ["".join(row[x] for row in plot(picture)) for x in range(3)] == [":::#", "####", "::##"]
    drawn = picture.row(HEIGHT - 2).strip(WIDTH, GlyphLevel.ASCII)
    inks = [segment.style for segment in drawn for _ in segment.text]
    assert inks[LEFT_GUTTER : LEFT_GUTTER + 3] == [BOUND, WHOLE, BOUND]


@pytest.mark.parametrize(("level", "cells"), [(GlyphLevel.ASCII, "::##"), (GlyphLevel.BLOCKS, "░░██")])
def test_each_level_has_its_own_glyphs(level: GlyphLevel, cells: str) -> None:
    picture = StripPicture(WIDTH, HEIGHT, level)
    picture.update(strip(column(0, 18), column(1, 18)), MODES)
    assert "".join(row[0] for row in plot(picture)) == cells


def test_a_tick_touches_the_newest_column_alone() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.BRAILLE)
    first = strip(column(0, 18), column(1, 18), column(2, 18))
    assert [(r.width, r.height) for r in picture.update(first, MODES)] == [(WIDTH, HEIGHT)]
    assert picture.update(first, MODES) == []
    (region,) = picture.update(strip(*first.columns, column(3, 17.5)), MODES)
    assert (region.x, region.y, region.width, region.height) == (LEFT_GUTTER + 1, 1, 1, HEIGHT - 2)


def test_an_idle_strip_moves_on_without_columns() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.BRAILLE)
    picture.update(strip(column(0, 18)), ())
    before = plot(picture)
    assert picture.update(strip(column(0, 18), now=19), ()) == []
    picture.update(strip(column(0, 18), now=20), ())
    assert plot(picture) != before


def test_a_full_strip_keeps_its_newer_half() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.BRAILLE)
    columns = [column(b, 4 if b < 10 else 18) for b in range(20)]
    picture.update(strip(*columns), ())
    older, newer = plot(picture)[0][:5], plot(picture)[0][5:]
    assert older.strip() == ""
    picture.update(strip(*columns, column(20, 18)), ())
    assert plot(picture)[0][:5] == newer


def test_a_switch_is_marked_from_its_label_down_to_the_data() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.BRAILLE)
    replayed = replace(column(6, 4), mode="graph")
    picture.update(strip(column(0, 18), replayed, marks=(StripMark(6, "graph"),)), ())
    assert rows(picture)[0][LEFT_GUTTER + 3 :].startswith("┊graph")
    assert [row[3] for row in plot(picture)[:3]] == ["┊"] * 3
    assert plot(picture)[3][3] not in " ┊"


def test_two_near_labels_do_not_overlap() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.BRAILLE)
    marks = (StripMark(2, "eager-static"), StripMark(8, "graph"))
    picture.update(strip(column(0, 18), column(9, 18), marks=marks), ())
    assert rows(picture)[0][LEFT_GUTTER:].rstrip() == " ┊e…┊graph"


def test_busy_and_bound_are_lines_with_their_names() -> None:
    picture = StripPicture(WIDTH, 10, GlyphLevel.ASCII)
    picture.update(replace(strip(column(0, 18)), busy_ns=13 * MS, bound_ns=5 * MS), ())
    names = [row[LEFT_GUTTER + 10 :].strip() for row in rows(picture)]
    assert [name for name in names if name] == ["busy 13.0", "bound 5.00"]
    assert [row.count("-") for row in plot(picture)] == [0, 0, 0, 9, 0, 0, 9, 0]


def test_lines_on_the_same_row_keep_both_names() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.BRAILLE)
    picture.update(replace(strip(column(0, 28)), busy_ns=3_700_000, bound_ns=700_000), ())
    names = [row[LEFT_GUTTER + 10 :].strip() for row in rows(picture)]
    assert names[-3:-1] == ["busy 3.70", "bound 0.70"]


def test_a_slow_token_is_flagged_where_it_stands_clear() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.BRAILLE)
    picture.update(strip(column(0, 9, 17, slow=1), column(2, 17, 18, slow=1)), ())
    assert [row[0] for row in plot(picture)].count(SLOW) == 1
    assert SLOW not in [row[1] for row in plot(picture)]


def test_a_slow_token_whose_cause_is_known_carries_its_letter_above_the_area() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.ASCII)
    slow = column(0, 9, 17, slow=1)
    near = column(2, 13, 14, slow=1)
    picture.update(strip(slow, near), ())
    assert [row[0] for row in plot(picture)].count(SLOW) == 1
    regions = picture.update(strip(replace(slow, cause="neighbour"), replace(near, cause="quota")), ())
    assert {region.x for region in regions} == {LEFT_GUTTER, LEFT_GUTTER + 1}
    marked = plot(picture)
    assert [row[0] for row in marked].count("N") == 1
    assert [row[1] for row in marked].count("Q") == 1
    above = next(y for y, row in enumerate(marked) if row[1] == "Q")
    assert marked[above + 1][1] in "#:"


def test_no_cause_is_shown_where_no_token_was_slow() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.ASCII)
    picture.update(strip(replace(column(0, 9, 9), cause="quota")), ())
    assert not any("Q" in row for row in plot(picture))


def test_a_spike_does_not_flatten_the_picture() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.BRAILLE)
    picture.update(strip(column(0, 18, 900, slow=1)), ())
    assert rows(picture)[0].startswith("   20┤")
    assert plot(picture)[0][0] != " "


def alone(bucket: int, wall_ms: float, slow: int = 0) -> StripColumn:
    """One token, which is all that its bucket holds."""
    return replace(column(bucket, wall_ms, slow=slow), tokens=1)


@pytest.mark.parametrize("at", [0, 1, 4, 9])
@pytest.mark.parametrize("level", GlyphLevel)
def test_a_single_token_far_above_its_neighbours_is_cut_off(level: GlyphLevel, at: int) -> None:
    columns = [column(bucket, 18) for bucket in range(10)]
    columns[at] = alone(at, 900)
    picture = StripPicture(WIDTH, HEIGHT, level)
    picture.update(strip(*columns), ())
    assert rows(picture)[0].startswith("   20┤")
    assert [x for x, cell in enumerate(plot(picture)[0]) if cell == CUT] == [at // 2]
    columns[at] = replace(columns[at], slow=1, cause="quota")
    picture.update(strip(*columns), ())
    assert [x for x, cell in enumerate(plot(picture)[0]) if cell == "Q"] == [at // 2]


@pytest.mark.parametrize("cut", [0, 1])
def test_a_letter_beside_a_cut_column_is_not_hidden(cut: int) -> None:
    flagged = replace(column(1 - cut, 18, 30, slow=1), cause="neighbour")
    pair = sorted((alone(cut, 900), flagged), key=lambda c: c.bucket)
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.BRAILLE)
    picture.update(strip(*pair, column(2, 18), column(3, 18)), ())
    assert rows(picture)[0].startswith("   20┤")
    assert plot(picture)[0][0] == "N"


def test_what_many_tokens_took_is_never_cut_off() -> None:
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.ASCII)
    picture.update(strip(*(column(b, 9 if b % 2 else 4) for b in range(10))), ())
    assert rows(picture)[0].startswith("   10┤")
    assert CUT not in "".join(plot(picture))
    picture.update(strip(column(0, 9), alone(1, 17)), ())
    assert CUT not in "".join(plot(picture))


def test_a_single_token_of_a_new_mode_sets_the_axis() -> None:
    replayed = [replace(column(b, 4), mode="graph") for b in (0, 1)]
    picture = StripPicture(WIDTH, HEIGHT, GlyphLevel.ASCII)
    picture.update(strip(*replayed, alone(2, 90)), ())
    assert rows(picture)[0].startswith("  100┤")


MEDIANS = st.floats(min_value=0.001, max_value=50_000)
HISTORY = st.lists(st.tuples(st.integers(0, 3), MEDIANS, st.floats(1, 50), st.integers(0, 11)), max_size=60)


def varied(bucket: int, median_ms: float, factor: float, kind: int) -> StripColumn:
    """A column of one of twelve kinds: two modes, one token or ten, of this shape or an earlier one."""
    made = column(bucket, median_ms, median_ms * factor, slow=kind % 3)
    return replace(
        made,
        mode="graph" if kind % 2 else BASELINE,
        tokens=1 if kind % 4 < 2 else 10,
        reshaped=kind > 8,
        busy_ns=4 * MS if kind > 10 else None,
    )


@given(
    HISTORY,
    st.integers(min_value=1, max_value=240),
    st.integers(min_value=3, max_value=70),
    st.sampled_from(list(GlyphLevel)),
)
def test_any_history_fits_any_size(
    history: list[tuple[int, float, float, int]], width: int, height: int, level: GlyphLevel
) -> None:
    picture = StripPicture(width, height, level)
    bucket, columns = 0, []
    for step, median_ms, factor, kind in history:
        bucket += step + 1
        columns.append(varied(bucket, median_ms, factor, kind))
        regions = picture.update(Strip(bucket, tuple(columns)), MODES)
        assert all(r.x >= 0 and r.right <= max(width, LEFT_GUTTER + RIGHT_GUTTER + 1) for r in regions)
    drawn = [picture.row(y).strip(width, level) for y in range(height)]
    assert all(row.cell_length == width for row in drawn)
    if level is GlyphLevel.ASCII:
        assert all(row.text.isascii() for row in drawn)


@given(HISTORY.filter(lambda h: len(h) > 1), st.sampled_from(list(GlyphLevel)))
def test_painting_step_by_step_equals_painting_at_once(
    history: list[tuple[int, float, float, int]], level: GlyphLevel
) -> None:
    columns = tuple(varied(b, median, factor, kind) for b, (_, median, factor, kind) in enumerate(history))
    stepwise = StripPicture(WIDTH + 30, HEIGHT, level)
    for n in range(1, len(columns) + 1):
        stepwise.update(Strip(n - 1, columns[:n]), MODES)
    again = StripPicture(WIDTH + 30, HEIGHT, level)
    again._axis.top_ns = stepwise._axis.top_ns
    again.update(Strip(len(columns) - 1, columns), MODES)
    assert plot(stepwise) == plot(again)


def test_the_sketch_falls_off_a_cliff_at_the_switch() -> None:
    snap = eager_and_graph()
    picture = StripPicture(80, 9, GlyphLevel.BRAILLE)
    picture.update(snap.strip, snap.modes)
    cells = [row[LEFT_GUTTER:-RIGHT_GUTTER] for row in rows(picture)[1:-1]]
    switch = rows(picture)[0].index("┊graph") - LEFT_GUTTER
    heights = [
        sum(not row[x].isspace() and row[x] not in "┊⡀" for row in cells) for x in (switch - 2, switch + 4)
    ]
    assert heights[0] >= 5
    assert heights[1] <= 2
