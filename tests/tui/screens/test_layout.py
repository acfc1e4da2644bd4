"""Rows are shared out: never more than there are, the important ones first."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.tui.screens.layout import LEAST_HEIGHT, LEAST_WIDTH, Need, Plan, plan

NEEDS = st.builds(
    lambda modes, missing, loading, failed, text: Need(modes, max(0, modes - missing), loading, failed, text),
    st.integers(min_value=0, max_value=6),
    st.integers(min_value=0, max_value=6),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
LIVE = Need(modes=6, ready_modes=6)


@given(st.integers(min_value=1, max_value=300), st.integers(min_value=1, max_value=120), NEEDS)
def test_all_rows_are_used_and_none_twice(width: int, height: int, need: Need) -> None:
    assert plan(width, height, need).rows == height


@given(
    st.integers(min_value=LEAST_WIDTH, max_value=300),
    st.integers(min_value=LEAST_HEIGHT, max_value=120),
    NEEDS,
)
def test_header_sentence_and_keys_are_always_there(width: int, height: int, need: Need) -> None:
    shares = plan(width, height, need)
    assert shares.header == shares.keys == 1
    assert shares.sentence >= 1
    assert shares.compact == 0


@given(st.integers(min_value=1, max_value=LEAST_WIDTH - 1), st.integers(min_value=1, max_value=120), NEEDS)
def test_a_narrow_terminal_gets_text_alone(width: int, height: int, need: Need) -> None:
    assert plan(width, height, need) == Plan(compact=height)


def test_80x24_shows_everything_that_the_design_asks_for() -> None:
    shares = plan(80, 24, LIVE)
    assert shares.rate == 3
    assert shares.strip >= 6
    assert shares.bars == 7
    assert (shares.host, shares.gpu, shares.sentence) == (2, 2, 2)


def test_the_smallest_screen_keeps_speed_strip_bars_and_both_panels() -> None:
    shares = plan(LEAST_WIDTH, LEAST_HEIGHT, LIVE)
    assert min(shares.rate, shares.host, shares.gpu, shares.sentence) >= 1
    assert shares.strip >= 4
    assert shares.bars >= 4


def test_wider_terminals_set_panels_side_by_side() -> None:
    assert plan(80, 24, LIVE).columns == 1
    assert plan(120, 40, LIVE).columns == 2
    assert plan(160, 45, LIVE).columns == 3
    assert plan(160, 45, LIVE).work == plan(160, 45, LIVE).gpu


def test_modes_that_cannot_run_get_rows_only_after_those_that_can() -> None:
    small = plan(80, 17, Need(modes=6, ready_modes=2))
    large = plan(80, 24, Need(modes=6, ready_modes=2))
    assert small.bars == 3
    assert large.bars == 7


def test_text_takes_a_row_from_the_strip() -> None:
    without, with_text = plan(80, 24, LIVE), plan(80, 24, dataclasses.replace(LIVE, text=True))
    assert with_text.text == 1
    assert with_text.strip == without.strip - 1


def test_loading_and_failure_take_the_place_of_the_chart() -> None:
    loading = plan(80, 24, Need(loading=True))
    failed = plan(80, 24, dataclasses.replace(LIVE, failed=True))
    assert loading.loading > 8
    assert loading.strip == loading.bars == 0
    assert failed.strip == 0
    assert failed.failure >= 8


@pytest.mark.parametrize("need", [LIVE, Need(loading=True), dataclasses.replace(LIVE, failed=True)])
def test_a_replay_has_a_row_for_its_position_at_every_stage(need: Need) -> None:
    replayed = plan(80, 24, dataclasses.replace(need, playback=True))
    assert replayed.playback == 1
    assert replayed.rows == 24
    assert plan(80, 24, need).playback == 0
