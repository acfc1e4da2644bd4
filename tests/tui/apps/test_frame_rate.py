"""How often to draw."""

from hypothesis import given
from hypothesis import strategies as st

from idlegap.tui.apps.frame_rate import CALM_TICKS, SLOWEST, Pace

PERIOD_NS = 250_000_000


def drawn(pace: Pace, ticks: int, start: int = 0, *, stalled: bool = False) -> int:
    return sum(pace.due((start + i) * PERIOD_NS, stalled) for i in range(ticks))


def test_a_calm_terminal_gets_every_frame() -> None:
    assert drawn(Pace(4), 40) == 40


def test_a_stalled_terminal_gets_none_and_then_fewer() -> None:
    pace = Pace(4)
    assert drawn(pace, 6, stalled=True) == 0
    assert pace.divisor == SLOWEST
    assert drawn(pace, SLOWEST, start=6) == 1


def test_one_late_tick_is_forgiven_and_two_are_not() -> None:
    pace = Pace(4)
    pace.due(0, False)
    pace.due(2 * PERIOD_NS, False)
    assert pace.divisor == 1
    pace.due(4 * PERIOD_NS, False)
    assert pace.divisor == 2


def test_the_rate_comes_back_step_by_step() -> None:
    pace = Pace(4)
    drawn(pace, 4, stalled=True)
    assert pace.divisor == 4
    drawn(pace, CALM_TICKS, start=4)
    assert pace.divisor == 2
    drawn(pace, CALM_TICKS, start=4 + CALM_TICKS)
    assert pace.divisor == 1


@given(st.lists(st.tuples(st.integers(min_value=0, max_value=10**9), st.booleans()), max_size=200))
def test_the_rate_stays_within_its_bounds(ticks: list[tuple[int, bool]]) -> None:
    pace, now = Pace(10), 0
    for step, stalled in ticks:
        now += step
        due = pace.due(now, stalled)
        assert not (due and stalled)
        assert 1 <= pace.divisor <= SLOWEST
