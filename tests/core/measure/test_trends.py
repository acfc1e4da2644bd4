"""Trends against exhaustive counting, and two levels against data of known shape."""

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.measure.trends import LEAST_VALUES, trend, two_levels


def score(values: tuple[float, ...]) -> int:
    return abs(sum((b > a) - (b < a) for a, b in combinations(values, 2)))


@given(st.permutations(list(range(1, 7))))
def test_the_chance_of_an_order_is_counted_exactly(values: list[int]) -> None:
    ours = score(tuple(values))
    expected = sum(score(order) >= ours for order in permutations(values)) / math.factorial(len(values))
    assert trend([float(v) for v in values]).p == pytest.approx(expected)


def test_five_rising_runs_are_significant_and_four_cannot_be() -> None:
    assert trend([1.0, 1.1, 1.2, 1.3, 1.4]).p == pytest.approx(2 / 120)
    assert trend([1.0, 1.1, 1.2, 1.3]).p == pytest.approx(2 / 24)
    assert trend([1.0, 1.0, 1.0, 1.0, 1.0]).p == 1.0


@given(st.floats(0.5, 50), st.floats(-0.02, 0.02), st.integers(3, 12))
def test_the_change_of_a_straight_line_is_that_of_its_ends(start: float, slope: float, n: int) -> None:
    values = [start * (1 + slope * turn) for turn in range(n)]
    middle = float(np.median(values))
    assert trend(values).change == pytest.approx((values[-1] - values[0]) / middle, abs=1e-9)


def test_one_outlying_run_hardly_moves_the_slope() -> None:
    assert trend([10.0, 10.0, 30.0, 10.0, 10.0]).change == 0


def test_a_single_run_has_no_trend() -> None:
    with pytest.raises(ValueError, match="two values"):
        trend([1.0])


SHAPES = {
    "normal": lambda r, n: r.normal(10, 1.5, n).clip(2),
    "uniform": lambda r, n: r.uniform(8, 12, n),
    "lognormal": lambda r, n: r.lognormal(2, 0.3, n),
    "long tail": lambda r, n: 10 + r.exponential(5, n),
    "drifting": lambda r, n: np.linspace(10, 14, n) + r.normal(0, 0.1, n),
    "constant": lambda r, n: np.full(n, 10.0),
    "rare outliers": lambda r, n: np.where(r.random(n) < 0.03, 30.0, 10.0) * r.normal(1, 0.02, n),
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_data_of_one_level_is_left_alone(shape: str) -> None:
    random = np.random.default_rng(3)
    for n in (100, 1200):
        for _ in range(20):
            assert two_levels(list(SHAPES[shape](random, n))) is None


@pytest.mark.parametrize(("share", "high"), [(0.5, 1.2), (0.15, 1.3), (0.8, 2.0)])
def test_two_levels_are_found_where_they_are(share: float, high: float) -> None:
    random = np.random.default_rng(4)
    for _ in range(20):
        low = random.random(800) < share
        found = two_levels(list(np.where(low, 4.0, 4.0 * high) * random.normal(1, 0.02, 800)))
        assert found is not None
        assert found.low == pytest.approx(4.0, rel=0.02)
        assert found.high == pytest.approx(4.0 * high, rel=0.02)
        assert found.low_share == pytest.approx(low.mean(), abs=0.02)
        assert found.low < found.boundary < found.high


def test_levels_that_hardly_differ_change_no_conclusion() -> None:
    assert two_levels([4.0] * 50 + [4.2] * 50) is None


def test_a_few_values_have_no_levels() -> None:
    assert two_levels([1.0, 2.0] * (LEAST_VALUES // 2 - 1)) is None
    assert two_levels([1.0, 2.0] * (LEAST_VALUES // 2)) is not None
