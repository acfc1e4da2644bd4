"""The strip's window in time moves by half its width, and its axis keeps still."""

from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.session.snapshot import StripColumn, StripMark
from idlegap.tui.widgets.strip.window import (
    BUCKETS_PER_CELL,
    HEADROOM,
    SHRINK_BELOW,
    Axis,
    Window,
    advance,
    nice_top_ns,
)

BUCKETS = st.integers(min_value=0, max_value=10**7)
CELLS = st.integers(min_value=1, max_value=240)


@given(CELLS, BUCKETS, st.integers(min_value=0, max_value=10**6))
def test_now_is_always_in_the_window(cells: int, oldest: int, age: int) -> None:
    assert advance(None, cells, oldest, oldest + age).cell_of(oldest + age) is not None


@given(CELLS, BUCKETS, st.lists(st.integers(min_value=0, max_value=50), max_size=40))
def test_a_bucket_keeps_its_place_until_the_window_is_full(cells: int, first: int, steps: list[int]) -> None:
    now = first
    window = advance(None, cells, first, now)
    for step in steps:
        before, now = window, now + step
        window = advance(window, cells, first, now)
        was_full = before.cell_of(now) is None
        assert (window.origin != before.origin) == was_full
        assert window.cell_of(now) is not None


@given(st.integers(min_value=2, max_value=240), BUCKETS)
def test_a_full_window_jumps_by_half_and_keeps_the_newer_half(cells: int, first: int) -> None:
    window = advance(None, cells, first, first)
    last = window.origin + cells * BUCKETS_PER_CELL - 1
    assert advance(window, cells, first, last) == window
    jumped = advance(window, cells, first, last + 1)
    assert jumped.origin - window.origin == cells // 2 * BUCKETS_PER_CELL
    assert jumped.cell_of(last) == cells - cells // 2 - 1


@given(CELLS, BUCKETS, BUCKETS)
def test_the_origin_stays_on_a_cell_boundary_so_that_pairs_never_change(cells: int, a: int, b: int) -> None:
    assert advance(None, cells, min(a, b), max(a, b)).origin % BUCKETS_PER_CELL == 0


def test_columns_pair_up_and_gaps_stay_gaps() -> None:
    history = [StripColumn(b, "graph", 1, 1, 1) for b in (9, 10, 11, 13)]
    placed = Window(10, 3).columns(history)
    assert [[c and c.bucket for c in pair] for pair in placed] == [[10, 11], [None, 13], [None, None]]


def test_marks_outside_the_window_are_left_out_and_the_last_one_in_a_cell_wins() -> None:
    marks = [StripMark(9, "old"), StripMark(12, "first"), StripMark(13, "second"), StripMark(99, "later")]
    assert Window(10, 3).marks(marks) == {1: "second"}


@given(CELLS, st.integers(100, 1000), st.integers(0, 99))
def test_a_replay_that_is_wound_back_before_the_window_begins_anew(
    cells: int, now: int, earlier: int
) -> None:
    late = advance(None, cells, 100, now)
    assert advance(late, cells, 0, earlier) == advance(None, cells, 0, earlier)


def test_a_replay_wound_back_within_the_window_keeps_it() -> None:
    late = advance(None, 40, 100, 170)
    assert advance(late, 40, 100, 150) == late


NS = st.integers(min_value=1_000, max_value=10**12)


@given(NS)
def test_the_top_leaves_room_but_not_too_much(needed_ns: int) -> None:
    top = nice_top_ns(needed_ns)
    assert needed_ns * HEADROOM <= top * (1 + 1e-9)
    assert top <= needed_ns * HEADROOM * 1.51 + 1


@given(NS)
def test_the_top_is_round(needed_ns: int) -> None:
    assert len(str(nice_top_ns(needed_ns)).rstrip("0")) <= 2


@given(st.lists(NS, min_size=1, max_size=30))
def test_every_value_fits_at_once(values: list[int]) -> None:
    axis = Axis()
    assert all(value <= axis.fit(value) for value in values)


@given(NS, st.lists(st.floats(min_value=0.5, max_value=1.0), max_size=30))
def test_a_wobbling_value_moves_nothing(peak_ns: int, shares: list[float]) -> None:
    axis = Axis()
    top = axis.fit(peak_ns)
    for share in shares:
        used_ns = max(top * share, top * SHRINK_BELOW)
        assert axis.fit(min(used_ns, top)) == top


def test_it_grows_at_once_and_shrinks_when_much_too_long() -> None:
    axis = Axis()
    assert axis.fit(4_200_000) == 5_000_000
    assert axis.fit(22_900_000) == 30_000_000
    assert axis.fit(15_000_000) == 30_000_000
    assert axis.fit(4_200_000) == 5_000_000
