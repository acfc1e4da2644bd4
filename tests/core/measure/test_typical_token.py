"""What counts as usual, and from when a token is slow."""

from dataclasses import dataclass

import pytest

from idlegap.core.measure.typical_token import LEAST_TOKENS, Typical, off_cpu_ns, typical
from idlegap.core.protocol.events import Token

MS = 1_000_000


@dataclass
class Clock:
    now_ns: int = 0

    def token(self, wall: int, **readings: int | None) -> Token:
        start = self.now_ns
        self.now_ns += wall
        return Token(start, start + wall * 9 // 10, start + wall, **readings)


def usual(walls: list[int], **readings: int | None) -> Typical:
    clock = Clock()
    found = typical([clock.token(wall, **readings) for wall in walls])
    assert found is not None
    return found


def test_too_few_tokens_define_nothing() -> None:
    clock = Clock()
    tokens = [clock.token(10 * MS) for _ in range(LEAST_TOKENS)]
    assert typical(tokens[1:]) is None
    assert typical(tokens) is not None


def test_a_steady_mode_flags_from_ten_percent_on() -> None:
    found = usual([10 * MS] * LEAST_TOKENS)
    assert found.threshold_ns == 11 * MS
    clock = Clock()
    assert not found.is_slow(clock.token(11 * MS))
    assert found.is_slow(clock.token(11 * MS + 1))


def test_a_noisy_mode_flags_from_six_mad_on() -> None:
    found = usual([18 * MS, 20 * MS, 22 * MS, 20 * MS] * 10)
    assert found.wall_ns == 20 * MS
    assert found.threshold_ns == (20 + 6 * 1) * MS


def test_a_few_slow_tokens_do_not_move_the_threshold() -> None:
    assert usual([10 * MS] * 30 + [500 * MS] * 5).threshold_ns == 11 * MS


def test_off_cpu_time_is_neither_running_nor_waiting_for_a_cpu() -> None:
    clock = Clock()
    assert off_cpu_ns(clock.token(10, cpu_ns=6, run_delay_ns=1)) == 3
    assert off_cpu_ns(clock.token(10, cpu_ns=9, run_delay_ns=2)) == 0  # clocks differ by a little
    assert off_cpu_ns(clock.token(10, cpu_ns=9)) is None


@pytest.mark.parametrize("field", ["cpu_ns", "run_delay_ns", "blocked"])
def test_readings_that_are_missing_stay_unknown(field: str) -> None:
    readings: dict[str, int | None] = {"cpu_ns": 9, "run_delay_ns": 0, "blocked": 1}
    found = usual([10] * LEAST_TOKENS, **{**readings, field: None})
    assert getattr(found, field) is None
    assert usual([10] * LEAST_TOKENS, **readings).blocked == 1
