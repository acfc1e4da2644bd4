"""The zero-based axis: round, roomy, and calm."""

from hypothesis import given
from hypothesis import strategies as st

from idlegap.tui.widgets.strip.axis import HEADROOM, SHRINK_BELOW, Axis, nice_top_ns

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
