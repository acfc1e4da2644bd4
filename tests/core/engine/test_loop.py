"""The decode loop: rounds, batches, modes and commands, over a real tiny model."""

from itertools import pairwise

import pytest

from idlegap.core.engine.errors import UnsupportedError
from idlegap.core.engine.loop import PROFILE_RETRY_NS
from idlegap.core.engine.tokens import WARM_UP_TOKENS
from idlegap.core.protocol.commands import (
    RestartRound,
    SetMode,
    SetPaused,
    SetShape,
    Stop,
    TakeProfile,
    VerifyModes,
)
from idlegap.core.protocol.events import (
    EngineStage,
    ModeEntered,
    ModeRefused,
    Notice,
    NotVerified,
    ProfileWindow,
    RoundFinished,
    RoundStarted,
    TokenBatch,
    Verified,
)
from idlegap.core.protocol.reasons import because
from tests.core.engine.scripted_loop import Clock, FakeProfiler, NoNumbers, OutOfMemoryWhenCompared


def positions(batches):
    """(round, index within the round) of every token, in the order said."""
    return [(b.round, b.first + i) for b in batches for i in range(len(b.tokens))]


def test_every_token_of_every_round_is_reported_once_and_in_order(run_loop):
    ran = run_loop(stop_at=25)
    expected = [(1 + n // 10, n % 10) for n in range(25)]
    assert positions(ran.of(TokenBatch)) == expected
    assert [r.round for r in ran.of(RoundStarted)] == [1, 2, 3]
    assert {r.position for r in ran.of(RoundStarted)} == {12}


def test_the_first_tokens_after_a_change_of_mode_are_marked_as_warm_up(run_loop):
    ran = run_loop({8: [SetMode("eager")]}, stop_at=16)
    warm = [b for b in ran.of(TokenBatch) if b.excluded == "warm-up"]
    assert [(b.mode, len(b.tokens)) for b in warm] == [
        ("eager-static", WARM_UP_TOKENS),
        ("eager", WARM_UP_TOKENS),
    ]
    counted = [b for b in ran.of(TokenBatch) if b.excluded is None]
    assert sum(len(b.tokens) for b in counted) == 16 - 2 * WARM_UP_TOKENS


def test_token_times_are_ordered_and_do_not_overlap(run_loop):
    tokens = [t for b in run_loop(stop_at=20).of(TokenBatch) for t in b.tokens]
    for token in tokens:
        assert token.start_ns < token.dispatched_ns < token.done_ns
        assert token.wall_ns == token.dispatch_ns + token.wait_ns
    assert all(a.done_ns < b.start_ns for a, b in pairwise(tokens))


def test_a_change_of_cache_begins_a_new_round(run_loop):
    ran = run_loop({4: [SetMode("eager")]}, stop_at=8)
    assert [(r.round, r.mode) for r in ran.of(RoundStarted)] == [(1, "eager-static"), (2, "eager")]


def test_coming_back_to_a_prepared_mode_with_the_same_cache_goes_on_with_the_round(run_loop):
    ran = run_loop({4: [SetMode("eager-static")]}, stop_at=8)
    assert [r.round for r in ran.of(RoundStarted)] == [1]
    assert [m.setup_ns > 0 for m in ran.of(ModeEntered)] == [True, False]


def test_a_mode_that_needs_cuda_is_refused_with_its_reason_and_decoding_goes_on(run_loop):
    ran = run_loop({5: [SetMode("graph")]}, stop_at=12)
    assert [(r.mode, r.reason) for r in ran.of(ModeRefused)] == [("graph", because("needs-cuda"))]
    assert len(positions(ran.of(TokenBatch))) == 12
    assert {b.mode for b in ran.of(TokenBatch)} == {"eager-static"}


def test_restart_begins_the_round_again_without_losing_tokens(run_loop):
    ran = run_loop({4: [RestartRound()]}, stop_at=6)
    assert positions(ran.of(TokenBatch)) == [(1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 1)]


def test_pause_is_said_and_ended_by_the_next_command(run_loop):
    ran = run_loop({4: [SetPaused(True), SetPaused(False)]}, stop_at=8)
    stages = [e.stage for e in ran.of(EngineStage)]
    assert stages[-2:] == ["paused", "decoding"]
    assert len(positions(ran.of(TokenBatch))) == 8


def test_stop_during_a_pause_ends_the_loop(run_loop):
    ran = run_loop({4: [SetPaused(True), Stop()]}, stop_at=1000)
    assert len(positions(ran.of(TokenBatch))) == 4


def test_another_shape_rebuilds_the_modes_and_decodes_on(run_loop):
    ran = run_loop({4: [SetShape(3, 20)]}, stop_at=9)
    assert [(r.round, r.position) for r in ran.of(RoundStarted)] == [(1, 12), (2, 20)]
    assert len(positions(ran.of(TokenBatch))) == 9


def test_without_cuda_a_profile_is_refused_with_its_reason(run_loop):
    (window,) = run_loop({4: [TakeProfile()]}, stop_at=6).of(ProfileWindow)
    assert not window.accepted
    assert window.reason == because("windows-need-cuda")


def test_verification_compares_the_current_mode_with_the_baseline(run_loop):
    ran = run_loop({4: [SetMode("eager"), VerifyModes()]}, stop_at=8)
    (verified,) = ran.of(Verified)
    assert (verified.mode, verified.steps, verified.agree) == ("eager", 10, 10)
    assert not verified.flagged
    assert len(positions(ran.of(TokenBatch))) == 8


def test_without_memory_for_a_comparison_the_reason_is_said_and_decoding_goes_on(run_loop):
    ran = run_loop({4: [VerifyModes()]}, stop_at=8, baseline=OutOfMemoryWhenCompared)
    assert [(n.mode, n.reason) for n in ran.of(NotVerified)] == [
        ("eager-static", because("no-memory-for-logits"))
    ]
    assert not ran.of(Verified)
    assert len(positions(ran.of(TokenBatch))) == 8


def test_a_baseline_without_numbers_is_compared_with_nothing(run_loop):
    ran = run_loop({4: [VerifyModes()]}, stop_at=8, baseline=NoNumbers)
    (refused,) = ran.of(NotVerified)
    assert refused.reason == because("baseline-not-numbers", mode="eager-static")
    assert not ran.of(Verified)


@pytest.mark.parametrize("tick_ns", [1_000, 10_000_000, 100_000_000])
def test_a_batch_leaves_when_its_oldest_token_is_50_ms_old(run_loop, tick_ns):
    batches = run_loop(stop_at=9, clock=Clock(tick_ns)).of(TokenBatch)
    counted = [b for b in batches if b.excluded is None]
    spans = [b.tokens[-1].done_ns - b.tokens[0].start_ns for b in counted]
    if tick_ns < 1_000_000:
        assert len(counted) == 1
    else:
        assert all(span >= 50_000_000 for span in spans[:-1])
        assert all(
            len(b.tokens) == 1 or b.tokens[-2].done_ns - b.tokens[0].start_ns < 50_000_000 for b in counted
        )


def window(accepted, **more):
    return ProfileWindow(0, mode="eager-static", steps=4, accepted=accepted, **more)


def test_a_first_profile_takes_two_windows_and_tells_the_second_with_the_pause_of_both(run_loop):
    profiler = FakeProfiler(window(False, pause_ns=5), window(True, pause_ns=7), window(True, pause_ns=9))
    ran = run_loop({4: [TakeProfile(), TakeProfile()]}, stop_at=6, profiler=profiler)
    assert [(w.accepted, w.pause_ns) for w in ran.of(ProfileWindow)] == [(True, 12), (True, 9)]


def test_profiled_tokens_are_marked_and_a_window_never_crosses_a_round(run_loop):
    profiler = FakeProfiler(window(False), window(True), window(True))
    ran = run_loop({7: [TakeProfile()]}, stop_at=9, profiler=profiler)
    profiled = [b for b in ran.of(TokenBatch) if b.excluded == "profile"]
    assert [(b.round, b.first, len(b.tokens)) for b in profiled] == [(2, 0, 4), (2, 4, 4)]


def test_a_mode_is_profiled_when_it_is_entered_and_again_when_its_time_has_come(run_loop):
    profiler = FakeProfiler(*[window(True) for _ in range(9)])
    ran = run_loop(stop_at=30, profiler=profiler, profile_every_ns=10_000_000_000, clock=Clock(1_000_000))
    assert len(ran.of(ProfileWindow)) == 1
    ran = run_loop(stop_at=12, profiler=profiler, profile_every_ns=1, clock=Clock(1_000_000))
    assert len(ran.of(ProfileWindow)) > 1


def test_a_mode_that_fails_to_prepare_is_refused_for_good_and_decoding_goes_on(run_loop):
    reason = because("capture-failed", detail="operation not permitted")
    ran = run_loop({5: [SetMode("graph")], 8: [SetMode("graph")]}, stop_at=14, refusing={"graph": reason})
    assert [r.reason for r in ran.of(ModeRefused)] == [reason, reason]
    assert {b.mode for b in ran.of(TokenBatch)} == {"eager-static"}
    assert len(positions(ran.of(TokenBatch))) == 14
    assert ran.of(EngineStage)[-1].stage == "decoding"


def test_after_a_rejected_window_the_next_comes_sooner(run_loop):
    profiler = FakeProfiler(window(False), window(False), window(True), window(True))
    tick_ns = PROFILE_RETRY_NS // 20
    ran = run_loop(stop_at=20, profiler=profiler, profile_every_ns=10**18, clock=Clock(tick_ns))
    assert [w.accepted for w in ran.of(ProfileWindow)] == [False, True]


def test_what_is_done_during_a_pause_does_not_end_it(run_loop):
    ran = run_loop({4: [SetPaused(True), SetMode("eager"), SetPaused(False)]}, stop_at=8)
    stages = [e.stage for e in ran.of(EngineStage)]
    assert stages[-5:] == ["paused", "warming up", "decoding", "paused", "decoding"]
    assert ran.of(ModeEntered)[-1].mode == "eager"
    assert len(positions(ran.of(TokenBatch))) == 8


def test_only_a_new_round_waits_for_the_end_of_a_pause(run_loop):
    asked = [TakeProfile(), VerifyModes(), SetShape(2, 12), RestartRound()]
    ran = run_loop(
        {2: [SetPaused(True), *asked, SetPaused(False)]},
        stop_at=8,
        profiler=FakeProfiler(window(False), window(True)),
    )
    said = [
        event.stage if isinstance(event, EngineStage) else type(event).__name__
        for event in ran.events
        if isinstance(event, EngineStage | ProfileWindow | Verified | ModeEntered | RoundStarted)
    ]
    during = said[said.index("paused") : len(said) - said[::-1].index("paused")]
    assert [word for word in during if word[0].isupper()] == ["ProfileWindow", "Verified", "ModeEntered"]
    assert said[-2:] == ["decoding", "RoundStarted"]


def test_a_first_mode_that_cannot_be_prepared_is_refused_and_another_goes_on(run_loop):
    refusing = {"fused": "compilation failed: no C compiler"}
    ran = run_loop(stop_at=6, first_mode="fused", refusing=refusing)
    assert [(r.mode, r.reason) for r in ran.of(ModeRefused)] == [("fused", refusing["fused"])]
    assert {b.mode for b in ran.of(TokenBatch)} == {"eager-static"}


def test_when_no_mode_can_be_prepared_the_engine_says_why(run_loop):
    refusing = {"eager": "no memory", "eager-static": "no room"}
    with pytest.raises(UnsupportedError, match=r"no mode can run here: .*eager-static: no room"):
        run_loop(stop_at=6, refusing=refusing)


def test_a_shape_beyond_the_models_positions_is_a_notice_and_decoding_goes_on(run_loop):
    ran = run_loop({4: [SetShape(1, 100_000)]}, stop_at=8)
    (notice,) = ran.of(Notice)
    assert "synthetic:tiny knows 4,096" in notice.text
    assert not ran.of(ModeRefused)
    assert len(positions(ran.of(TokenBatch))) == 8


def test_a_round_that_ends_within_a_window_is_finished(run_loop):
    profiler = FakeProfiler(window(False), window(True))
    ran = run_loop({2: [TakeProfile()]}, stop_at=12, profiler=profiler)
    assert next((r.round, r.tokens) for r in ran.of(RoundFinished)) == (1, 10)


@pytest.mark.parametrize("taken_after", [1, 2, 5, 6, 7, 9, 10])
def test_wherever_windows_fall_each_full_round_is_finished_once(run_loop, taken_after):
    profiler = FakeProfiler(window(False), window(True))
    ran = run_loop({taken_after: [TakeProfile()]}, stop_at=30, profiler=profiler)
    decoded = positions(ran.of(TokenBatch))
    full = [number for number in {number for number, _ in decoded} if (number, 9) in decoded]
    assert [r.round for r in ran.of(RoundFinished)] == sorted(full)
    assert {r.tokens for r in ran.of(RoundFinished)} == {10}


def test_a_window_within_a_warm_up_is_marked_as_a_window(run_loop):
    profiler = FakeProfiler(window(False), window(True))
    ran = run_loop({1: [TakeProfile()]}, stop_at=4, profiler=profiler)
    assert [len(b.tokens) for b in ran.of(TokenBatch) if b.excluded == "profile"] == [4, 4]


def test_a_round_is_finished_when_all_its_tokens_are_out(run_loop):
    ran = run_loop(stop_at=25)
    finished = ran.of(RoundFinished)
    assert [(f.round, f.tokens, f.mode) for f in finished] == [
        (1, 10, "eager-static"),
        (2, 10, "eager-static"),
    ]
    for one in finished:
        at = ran.events.index(one)
        before = [e for e in ran.events[:at] if isinstance(e, TokenBatch) and e.round == one.round]
        assert sum(len(batch.tokens) for batch in before) == 10
        after = [e for e in ran.events[at:] if isinstance(e, TokenBatch | RoundStarted)]
        assert all(e.round > one.round for e in after)


def test_a_round_that_is_cut_off_is_not_finished(run_loop):
    ran = run_loop({4: [SetMode("eager")], 9: [VerifyModes()]}, stop_at=13)
    started = {r.round for r in ran.of(RoundStarted)}
    assert len(started) >= 3
    assert ran.of(RoundFinished) == []


def test_a_profile_without_cuda_does_not_end_a_round(run_loop):
    ran = run_loop({9: [TakeProfile()]}, stop_at=10)
    assert [f.tokens for f in ran.of(RoundFinished)] == [10]
