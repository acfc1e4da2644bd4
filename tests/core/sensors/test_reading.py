"""Deadlines: a fixed grid without drift, and no catching up."""

from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.sensors.reading import Every

PERIOD = 250


def test_the_first_question_is_due_and_anchors_the_grid() -> None:
    every = Every(PERIOD)
    assert every.due(1_000)
    assert not every.due(1_249)
    assert every.due(1_250)


def test_being_late_does_not_shift_later_deadlines() -> None:
    every = Every(PERIOD)
    every.due(0)
    assert every.due(400)
    assert not every.due(499)
    assert every.due(500)


def test_missed_deadlines_are_skipped() -> None:
    every = Every(PERIOD)
    every.due(0)
    assert every.due(10_100)
    assert not every.due(10_200)
    assert every.wait_ns(10_200) == 50


def test_wait_is_zero_before_the_first_and_when_late() -> None:
    every = Every(PERIOD)
    assert every.wait_ns(77) == 0
    every.due(77)
    assert every.wait_ns(77 + 2 * PERIOD) == 0


@given(
    period=st.integers(1, 10**9),
    start=st.integers(0, 10**15),
    steps=st.lists(st.integers(0, 3 * 10**9), max_size=60),
)
def test_at_most_one_deadline_in_each_slot_of_the_grid(period: int, start: int, steps: list[int]) -> None:
    every = Every(period)
    now, slots, asked = start, [], []
    for step in [0, *steps]:
        now += step
        asked.append((now - start) // period)
        if every.due(now):
            slots.append((now - start) // period)
        assert every.wait_ns(now) <= period
    assert slots == sorted(set(asked))
