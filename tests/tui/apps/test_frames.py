"""When a frame is drawn, and what it costs."""

from hypothesis import given
from hypothesis import strategies as st

from idlegap.tui.apps.frames import CALM_TICKS, COST_INTERVAL_NS, SLOWEST, FrameRate, ScreenCost

PERIOD_NS = 250_000_000


def drawn(frame_rate: FrameRate, ticks: int, start: int = 0, *, stalled: bool = False) -> int:
    return sum(frame_rate.due((start + i) * PERIOD_NS, stalled) for i in range(ticks))


def test_a_calm_terminal_gets_every_frame() -> None:
    assert drawn(FrameRate(4), 40) == 40


def test_a_stalled_terminal_gets_none_and_then_fewer() -> None:
    frame_rate = FrameRate(4)
    assert drawn(frame_rate, 6, stalled=True) == 0
    assert frame_rate.divisor == SLOWEST
    assert drawn(frame_rate, SLOWEST, start=6) == 1


def test_one_late_tick_is_forgiven_and_two_are_not() -> None:
    frame_rate = FrameRate(4)
    frame_rate.due(0, False)
    frame_rate.due(2 * PERIOD_NS, False)
    assert frame_rate.divisor == 1
    frame_rate.due(4 * PERIOD_NS, False)
    assert frame_rate.divisor == 2


def test_the_rate_comes_back_step_by_step() -> None:
    frame_rate = FrameRate(4)
    drawn(frame_rate, 4, stalled=True)
    assert frame_rate.divisor == 4
    drawn(frame_rate, CALM_TICKS, start=4)
    assert frame_rate.divisor == 2
    drawn(frame_rate, CALM_TICKS, start=4 + CALM_TICKS)
    assert frame_rate.divisor == 1


@given(st.lists(st.tuples(st.integers(min_value=0, max_value=10**9), st.booleans()), max_size=200))
def test_the_rate_stays_within_its_bounds(ticks: list[tuple[int, bool]]) -> None:
    frame_rate, now = FrameRate(10), 0
    for step, stalled in ticks:
        now += step
        due = frame_rate.due(now, stalled)
        assert not (due and stalled)
        assert 1 <= frame_rate.divisor <= SLOWEST


class Clocks:
    def __init__(self) -> None:
        self.wall_ns = 0
        self.cpu_ns = 0


def test_a_sample_once_a_second_with_everything_per_second_or_frame() -> None:
    clocks = Clocks()
    cost = ScreenCost(lambda: clocks.wall_ns, lambda: clocks.cpu_ns)
    clocks.wall_ns = COST_INTERVAL_NS - 1
    assert cost.sample(1_000) is None
    clocks.wall_ns, clocks.cpu_ns = COST_INTERVAL_NS, 12_000_000
    for _ in range(4):
        cost.frame()
    first = cost.sample(1_000)
    assert first is not None
    assert first.bytes_per_s is None
    assert (first.cpu_pct, first.frame_ns, first.frames_per_s) == (1.2, 3_000_000, 4.0)
    clocks.wall_ns, clocks.cpu_ns = 3 * COST_INTERVAL_NS, 16_000_000
    cost.frame()
    second = cost.sample(5_000)
    assert second is not None
    assert (second.cpu_pct, second.frame_ns, second.frames_per_s) == (0.2, 4_000_000, 0.5)
    assert second.bytes_per_s == 2_000


def test_what_is_not_counted_is_not_zero() -> None:
    clocks = Clocks()
    cost = ScreenCost(lambda: clocks.wall_ns, lambda: clocks.cpu_ns)
    for second in (1, 2):
        clocks.wall_ns = second * COST_INTERVAL_NS
        sample = cost.sample(None)
        assert sample is not None
        assert sample.bytes_per_s is None
