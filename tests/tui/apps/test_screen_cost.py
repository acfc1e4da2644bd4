"""The screen's own cost."""

from idlegap.tui.apps.screen_cost import INTERVAL_NS, FrameMeter


class Clocks:
    def __init__(self) -> None:
        self.wall_ns = 0
        self.cpu_ns = 0


def test_a_sample_once_a_second_with_everything_per_second_or_frame() -> None:
    clocks = Clocks()
    meter = FrameMeter(lambda: clocks.wall_ns, lambda: clocks.cpu_ns)
    clocks.wall_ns = INTERVAL_NS - 1
    assert meter.sample(1_000) is None
    clocks.wall_ns, clocks.cpu_ns = INTERVAL_NS, 12_000_000
    for _ in range(4):
        meter.frame()
    first = meter.sample(1_000)
    assert first is not None
    assert first.bytes_per_s is None
    assert (first.cpu_pct, first.frame_ns, first.frames_per_s) == (1.2, 3_000_000, 4.0)
    clocks.wall_ns, clocks.cpu_ns = 3 * INTERVAL_NS, 16_000_000
    meter.frame()
    second = meter.sample(5_000)
    assert second is not None
    assert (second.cpu_pct, second.frame_ns, second.frames_per_s) == (0.2, 4_000_000, 0.5)
    assert second.bytes_per_s == 2_000


def test_what_is_not_counted_is_not_zero() -> None:
    clocks = Clocks()
    meter = FrameMeter(lambda: clocks.wall_ns, lambda: clocks.cpu_ns)
    for second in (1, 2):
        clocks.wall_ns = second * INTERVAL_NS
        sample = meter.sample(None)
        assert sample is not None
        assert sample.bytes_per_s is None
