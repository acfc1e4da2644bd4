"""Where a bucket stands in the strip."""

from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.session.snapshot import StripColumn, StripMark
from idlegap.tui.widgets.strip.bucket_cells import BUCKETS_PER_CELL, Sweep, advance

BUCKETS = st.integers(min_value=0, max_value=10**7)
CELLS = st.integers(min_value=1, max_value=240)


@given(CELLS, BUCKETS, st.integers(min_value=0, max_value=10**6))
def test_now_is_always_in_the_window(cells: int, oldest: int, age: int) -> None:
    assert advance(None, cells, oldest, oldest + age).cell_of(oldest + age) is not None


@given(CELLS, BUCKETS, st.lists(st.integers(min_value=0, max_value=50), max_size=40))
def test_a_bucket_keeps_its_place_until_the_window_is_full(cells: int, first: int, steps: list[int]) -> None:
    now = first
    sweep = advance(None, cells, first, now)
    for step in steps:
        before, now = sweep, now + step
        sweep = advance(sweep, cells, first, now)
        was_full = before.cell_of(now) is None
        assert (sweep.origin != before.origin) == was_full
        assert sweep.cell_of(now) is not None


@given(st.integers(min_value=2, max_value=240), BUCKETS)
def test_a_full_window_jumps_by_half_and_keeps_the_newer_half(cells: int, first: int) -> None:
    sweep = advance(None, cells, first, first)
    last = sweep.origin + cells * BUCKETS_PER_CELL - 1
    assert advance(sweep, cells, first, last) == sweep
    jumped = advance(sweep, cells, first, last + 1)
    assert jumped.origin - sweep.origin == cells // 2 * BUCKETS_PER_CELL
    assert jumped.cell_of(last) == cells - cells // 2 - 1


@given(CELLS, BUCKETS, BUCKETS)
def test_the_origin_stays_on_a_cell_boundary_so_that_pairs_never_change(cells: int, a: int, b: int) -> None:
    assert advance(None, cells, min(a, b), max(a, b)).origin % BUCKETS_PER_CELL == 0


def test_columns_pair_up_and_gaps_stay_gaps() -> None:
    history = [StripColumn(b, "graph", 1, 1, 1) for b in (9, 10, 11, 13)]
    placed = Sweep(10, 3).columns(history)
    assert [[c and c.bucket for c in pair] for pair in placed] == [[10, 11], [None, 13], [None, None]]


def test_marks_outside_the_window_are_left_out_and_the_last_one_in_a_cell_wins() -> None:
    marks = [StripMark(9, "old"), StripMark(12, "first"), StripMark(13, "second"), StripMark(99, "later")]
    assert Sweep(10, 3).marks(marks) == {1: "second"}


@given(CELLS, st.integers(100, 1000), st.integers(0, 99))
def test_a_replay_that_is_wound_back_before_the_window_begins_anew(
    cells: int, now: int, earlier: int
) -> None:
    late = advance(None, cells, 100, now)
    assert advance(late, cells, 0, earlier) == advance(None, cells, 0, earlier)


def test_a_replay_wound_back_within_the_window_keeps_it() -> None:
    late = advance(None, 40, 100, 170)
    assert advance(late, 40, 100, 150) == late
