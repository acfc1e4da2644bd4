"""Summaries against numpy, and intervals against data whose true ratio is known."""

import math
import subprocess
import sys
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.measure.statistics import Ratio, mad, paired_ratio_interval, quantile, ratio_interval

NANOSECONDS = st.lists(st.integers(0, 10**11), min_size=1, max_size=60)
Interval = Callable[[list[float], list[float]], Ratio]


@given(NANOSECONDS, st.floats(0, 1))
def test_quantiles_agree_with_numpy(values: list[int], q: float) -> None:
    assert quantile(values, q) == pytest.approx(np.quantile(values, q), rel=1e-9, abs=1e-6)


@given(NANOSECONDS)
def test_the_deviation_agrees_with_numpy(values: list[int]) -> None:
    deviations = np.abs(np.asarray(values) - np.median(values))
    assert mad(values) == pytest.approx(np.median(deviations))


@given(NANOSECONDS, st.randoms(use_true_random=False))
def test_a_quantile_lies_within_the_values_whatever_their_order(values: list[int], random: Random) -> None:
    expected = quantile(values, 0.99)
    random.shuffle(values)
    assert min(values) <= quantile(values, 0.99) == expected <= max(values)


def test_quantiles_of_nothing_and_beyond_one_are_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)
    with pytest.raises(ValueError, match=r"q 1\.5"):
        quantile([1], 1.5)


# --- intervals ----------------------------------------------------------------


def test_a_clear_difference_is_named_and_an_absent_one_is_not() -> None:
    eager, graph = [20.4, 21.0, 22.4, 20.9, 21.3], [4.18, 4.21, 4.19, 4.26, 4.2]
    for interval in (ratio_interval, paired_ratio_interval):
        up, down, same = interval(eager, graph), interval(graph, eager), interval(eager, eager[::-1])
        assert (up.difference, down.difference) == ("higher", "lower")
        assert up.low is not None
        assert up.high is not None
        assert 4.7 < up.low < up.value < up.high < 5.5
        assert same.difference == "no significant difference"
        assert up.significant
        assert not same.significant


def test_pairs_cancel_a_drift_that_both_sides_share() -> None:
    drift = [1.0, 1.3, 1.7, 1.2, 2.0, 1.6]
    a = [10.3 * d for d in drift]
    b = [10.0 * d for d in drift]
    assert paired_ratio_interval(a, b).difference == "higher"
    assert ratio_interval(a, b).difference == "no significant difference"


@pytest.mark.parametrize("interval", [ratio_interval, paired_ratio_interval])
def test_two_runs_give_an_estimate_without_an_interval(interval: Interval) -> None:
    found = interval([3.0, 3.0], [2.0, 2.0])
    assert found.value == pytest.approx(1.5)
    assert (found.low, found.high, found.difference) == (None, None, "too few runs")


@pytest.mark.parametrize("interval", [ratio_interval, paired_ratio_interval])
def test_the_same_runs_always_give_the_same_interval(interval: Interval) -> None:
    a, b = [5.0, 5.2, 4.9, 5.1], [4.0, 4.4, 4.1, 4.2]
    assert interval(a, b) == interval(a, b)


def test_impossible_input_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        ratio_interval([], [1.0])
    with pytest.raises(ValueError, match="positive"):
        ratio_interval([1.0, 0.0], [1.0])
    with pytest.raises(ValueError, match="as many of each"):
        paired_ratio_interval([1.0, 2.0], [1.0])


def coverage(interval: Interval, runs: int, truth: float, trials: int = 300) -> tuple[float, float]:
    """Share of intervals that hold the true ratio, and of those that call it different from 1.

    Each run has 1 % noise of its own and shares a drift of 20 % with its pair where runs are
    interleaved; unpaired runs have no drift, which would break their premise.
    """
    random = np.random.default_rng(5)
    held = called = 0
    for _ in range(trials):
        drift = np.exp(random.normal(0, 0.2, runs)) if interval is paired_ratio_interval else np.ones(runs)
        a = list(truth * drift * np.exp(random.normal(0, 0.01, runs)))
        b = list(drift * np.exp(random.normal(0, 0.01, runs)))
        found = interval(a, b)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high
        called += found.significant
    return held / trials, called / trials


@pytest.mark.parametrize("runs", [3, 5, 12])
@pytest.mark.parametrize("interval", [ratio_interval, paired_ratio_interval])
def test_intervals_hold_the_truth_about_as_often_as_they_promise(interval: Interval, runs: int) -> None:
    held, _ = coverage(interval, runs, truth=1.687)
    assert 0.91 <= held <= 0.995


@pytest.mark.parametrize("interval", [ratio_interval, paired_ratio_interval])
def test_equal_modes_are_seldom_called_different_and_three_percent_is_found(interval: Interval) -> None:
    held, called = coverage(interval, 5, truth=1.0)
    assert called == pytest.approx(1 - held)
    assert called <= 0.08
    _, found = coverage(interval, 5, truth=1.03)
    assert found >= 0.8


def test_a_ratio_that_is_known_better_moves_with_its_interval() -> None:
    a, b = [5.0, 5.2, 4.9, 5.1], [4.0, 4.4, 4.1, 4.2]
    of_means = ratio_interval(a, b)
    moved = ratio_interval(a, b, value=1.1 * of_means.value)
    for name in ("value", "low", "high"):
        assert getattr(moved, name) == pytest.approx(1.1 * getattr(of_means, name))


def test_an_interval_is_symmetric_under_exchange() -> None:
    a, b = [5.0, 5.2, 4.9, 5.1, 5.0], [4.0, 4.4, 4.1, 4.2, 4.0]
    forth, back = paired_ratio_interval(a, b), paired_ratio_interval(b, a)
    assert math.isclose(forth.value * back.value, 1)
    assert forth.low is not None
    assert back.high is not None
    assert forth.low * back.high == pytest.approx(1, rel=2e-3)


def test_the_live_path_does_not_load_numpy() -> None:
    modules = ("measure.roofline", "measure.device_time", "phrasing.sentence", "slow_tokens.explain")
    code = "".join(f"import idlegap.core.{name}\n" for name in modules)
    code += "from idlegap.core.measure.statistics import mad\nmad([1, 2, 4])\n"
    code += "import sys\nprint('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
