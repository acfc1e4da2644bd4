"""Tokens at new lengths of a dynamic cache are told from all others."""

from idlegap.core.engine.tokens import WARM_UP_TOKENS, LengthLog
from idlegap.core.protocol.commands import RestartRound, SetMode, SetShape, TakeProfile, VerifyModes
from idlegap.core.protocol.events import ProfileWindow, TokenBatch
from tests.core.engine.scripted_loop import FakeProfiler, Ran

NEW, WARM = "new-length", "warm-up"


def marks(ran: Ran, mode: str = "eager") -> list[str | None]:
    """Why each token of `mode` does not count, in the order decoded."""
    return [b.excluded for b in ran.of(TokenBatch) if b.mode == mode for _ in b.tokens]


def test_the_first_round_of_a_dynamic_cache_is_new_and_later_ones_are_not(run_loop):
    ran = run_loop(first_mode="eager", stop_at=25, lengths=LengthLog())
    rest = 10 - WARM_UP_TOKENS
    assert marks(ran) == [WARM] * WARM_UP_TOKENS + [NEW] * rest + [None] * 15


def test_a_static_cache_has_one_length(run_loop):
    ran = run_loop(stop_at=25, lengths=LengthLog())
    assert marks(ran, "eager-static") == [WARM] * WARM_UP_TOKENS + [None] * 22


def test_where_nothing_is_planned_no_length_is_new(run_loop):
    ran = run_loop(first_mode="eager", stop_at=8)
    assert marks(ran) == [WARM] * WARM_UP_TOKENS + [None] * 5


def test_a_round_that_was_cut_short_leaves_the_rest_of_its_lengths_new(run_loop):
    ran = run_loop({6: [RestartRound()]}, first_mode="eager", stop_at=16, lengths=LengthLog())
    assert marks(ran) == [WARM] * 3 + [NEW] * 3 + [None] * 6 + [NEW] * 4


def test_a_round_that_goes_on_after_another_mode_knows_what_it_has_met(run_loop):
    commands = {5: [SetMode("eager-static")], 9: [SetMode("eager")]}
    ran = run_loop(commands, first_mode="eager", stop_at=18, lengths=LengthLog())
    assert marks(ran) == [WARM] * 3 + [NEW] * 2 + [WARM] * 3 + [None] * 2 + [NEW] * 4


def test_another_batch_size_meets_the_same_lengths_anew(run_loop):
    ran = run_loop({10: [SetShape(2, 12)]}, first_mode="eager", stop_at=20, lengths=LengthLog())
    assert marks(ran)[10:] == [WARM] * 3 + [NEW] * 7


def test_a_longer_prompt_meets_new_lengths_beyond_the_old_ones(run_loop):
    ran = run_loop({10: [SetShape(1, 17)]}, first_mode="eager", stop_at=20, lengths=LengthLog())
    assert marks(ran)[10:] == [WARM] * 3 + [None] * 2 + [NEW] * 5


def test_a_comparison_of_tokens_meets_all_lengths_of_a_round(run_loop):
    ran = run_loop({4: [VerifyModes()]}, first_mode="eager", stop_at=14, lengths=LengthLog())
    assert marks(ran) == [WARM] * 3 + [NEW] + [WARM] * 3 + [None] * 7


def test_tokens_of_a_window_are_the_window_s_whatever_their_length(run_loop):
    windows = [ProfileWindow(0, "eager", steps=4, accepted=True)] * 2
    ran = run_loop(
        {4: [TakeProfile()]},
        first_mode="eager",
        stop_at=6,
        lengths=LengthLog(),
        profiler=FakeProfiler(*windows),
    )
    assert marks(ran)[:12] == [WARM] * 3 + [NEW] + ["profile"] * 8


def test_a_window_at_the_last_known_length_is_all_of_the_window(run_loop):
    windows = [ProfileWindow(0, "eager", steps=4, accepted=True)] * 2
    ran = run_loop(
        {5: [RestartRound()], 8: [TakeProfile()]},
        first_mode="eager",
        stop_at=9,
        lengths=LengthLog(),
        profiler=FakeProfiler(*windows),
    )
    # Three of the second round's tokens are at lengths of the first, and two of the window's.
    assert marks(ran) == [WARM] * 3 + [NEW] * 2 + [None] * 3 + ["profile"] * 8 + [WARM]
