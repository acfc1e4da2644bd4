"""The host's speed: told by the same work in more CPU time, and by nothing else."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.measure.host_speed import Visit, changed_speed
from idlegap.core.measure.limits import SAME_WORK
from idlegap.core.measure.typical_token import LEAST_TOKENS
from idlegap.core.phrasing.sentence import LONGEST, limiting_sentence
from idlegap.core.protocol.events import (
    AnyEvent,
    EngineReady,
    EngineStage,
    Exclusion,
    ModeEntered,
    Neighbours,
    ProfileWindow,
    Token,
    TokenBatch,
)
from idlegap.core.protocol.modes import ModeName
from idlegap.core.session.build import snapshot_of
from idlegap.core.session.host_changes import host_changes
from idlegap.core.session.mode_history import KEPT_TOKENS
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.session.state import State
from idlegap.core.session.visits import VisitLog
from tests.ready import engine_ready

MS = 1_000_000
SECOND = 1_000 * MS
READY = engine_ready()
KERNELS: dict[ModeName, int] = {"eager": 1198, "eager-static": 1429, "fused": 311, "graph": 1430}


def windows(busy_ms: float = 3.7) -> dict[ModeName, ProfileWindow]:
    busy_ns = round(busy_ms * MS)
    return {
        mode: ProfileWindow(0, mode, 4, accepted=True, busy_ns=busy_ns, kernels=kernels)
        for mode, kernels in KERNELS.items()
    }


WINDOWS = windows()


def batch(
    mode: ModeName,
    wall_ms: float,
    *,
    at_s: float = 0,
    dispatch: float = 0.99,
    cpu: float | None = 1.0,
    delay: float | None = 0.0,
    count: int = LEAST_TOKENS,
    excluded: Exclusion | None = None,
) -> TokenBatch:
    """Equal tokens; `dispatch`, `cpu` and `delay` are shares of the wall time."""
    wall = round(wall_ms * MS)
    starts = [round(at_s * SECOND) + i * wall for i in range(count)]
    cpu_ns, delay_ns = (None if share is None else round(share * wall) for share in (cpu, delay))
    tokens = tuple(Token(s, s + round(dispatch * wall), s + wall, cpu_ns, delay_ns, 0, 0) for s in starts)
    return TokenBatch(tokens[-1].done_ns, mode, 1, 0, tokens, excluded)


def visit(mode: ModeName, wall_ms: float, **shares: float | None) -> Visit:
    log = VisitLog()
    log.add(batch(mode, wall_ms, **shares))  # type: ignore[arg-type]
    (found,) = log.of(mode)
    return found


BASE = visit("eager-static", 23.5)


@pytest.mark.parametrize(
    ("other", "changed"),
    [
        (visit("eager-static", 44.6), True),
        (visit("eager-static", 14.6), True),
        (visit("eager-static", 25.3), False),
        # Somebody else had the CPU: the token waited for it, or was kept from it in silence.
        (visit("eager-static", 44.6, cpu=0.53, delay=0.47), False),
        (visit("eager-static", 44.6, cpu=0.85, delay=0.15), False),
        (visit("eager-static", 44.6, cpu=0.53), False),
        # The GPU was slower, and the thread spun while it waited.
        (visit("eager-static", 44.6, dispatch=0.53), False),
        (visit("eager-static", 44.6, cpu=None), False),
        (visit("eager-static", 44.6, delay=None), True),
        # Another mode: per kernel, and only where the same modules launch it.
        (visit("eager", 21.6), False),
        (visit("eager", 78.3), True),
        (visit("fused", 11.2), False),
        (visit("graph", 4.2, dispatch=0.01), False),
    ],
)
def test_only_more_cpu_time_for_the_same_work_tells(other: Visit, changed: bool) -> None:
    assert changed_speed(BASE, other, WINDOWS) is changed
    assert changed_speed(other, BASE, WINDOWS) is changed


def test_a_throttled_gpu_is_not_the_host_though_the_thread_spins() -> None:
    cool, hot = visit("graph", 4.2, dispatch=0.01), visit("graph", 8.4, dispatch=0.01)
    assert not changed_speed(cool, hot, WINDOWS)


def test_modes_are_not_compared_while_their_kernels_are_not_counted() -> None:
    slow = visit("eager", 78.3)
    assert not changed_speed(slow, BASE, {})
    uncounted = {**WINDOWS, "eager-static": msgspec.structs.replace(WINDOWS["eager-static"], kernels=0)}
    assert not changed_speed(slow, BASE, uncounted)


@pytest.mark.parametrize("slow_ms", [94, 190])
def test_a_gpu_that_slowed_down_is_no_slower_host_though_launches_wait_for_its_queue(slow_ms: float) -> None:
    fast, slow = visit("eager-static", 63), visit("eager-static", slow_ms)
    for busy_ms in (63, slow_ms, 32):
        assert not changed_speed(fast, slow, windows(busy_ms))
        assert not changed_speed(slow, fast, windows(busy_ms))
    assert not changed_speed(fast, slow, {})
    assert changed_speed(fast, slow, windows(31))


@given(st.floats(1, 200), st.floats(1 / SAME_WORK + 0.01, SAME_WORK - 0.01))
def test_the_noise_of_one_speed_is_no_change(wall_ms: float, wobble: float) -> None:
    assert not changed_speed(visit("eager", wall_ms), visit("eager", wall_ms * wobble), WINDOWS)


def test_where_the_cpu_computes_nothing_is_claimed() -> None:
    log = VisitLog()
    log.add(batch("eager-static", 2))
    log.end()
    log.add(batch("eager-static", 4))
    assert host_changes(0, log, READY, windows(0.3))
    assert host_changes(0, log, engine_ready(device="cpu"), windows(0.3)) == ()
    assert host_changes(0, log, None, windows(0.3)) == ()


# --- visits -----------------------------------------------------------------------------------


def test_a_visit_lasts_until_its_end_and_short_ones_are_forgotten() -> None:
    log = VisitLog()
    log.add(batch("eager", 20, at_s=1))
    log.add(batch("eager", 20, at_s=2))
    assert [found.since_ns for found in log.of("eager")] == [1 * SECOND]
    log.end()
    log.add(batch("eager", 99, at_s=3, count=LEAST_TOKENS - 1))
    log.end()
    log.add(batch("graph", 4, at_s=4))
    log.add(batch("eager", 40, at_s=5))
    assert [(found.since_ns, found.usual.wall_ns) for found in log.of("eager")] == [
        (1 * SECOND, 20 * MS),
        (5 * SECOND, 40 * MS),
    ]
    assert [found.since_ns for found in log.of("graph")] == [4 * SECOND]


def test_excluded_tokens_make_no_visit() -> None:
    log = VisitLog()
    log.add(batch("eager", 99, excluded="warm-up"))
    log.add(batch("eager", 99, excluded="profile"))
    log.end()
    assert log.of("eager") == ()


def test_memory_is_bounded_and_the_newest_count() -> None:
    log = VisitLog(kept=2)
    for wall_ms in (10, 20, 30):
        log.add(batch("eager", wall_ms))
        log.end()
    log.add(batch("eager", 99, count=2 * KEPT_TOKENS))
    log.add(batch("eager", 40, count=KEPT_TOKENS))
    assert [found.usual.wall_ns // MS for found in log.of("eager")] == [20, 30, 40]


# --- the live screen --------------------------------------------------------------------------


def seen(*events: AnyEvent) -> Snapshot:
    """The snapshot after the last of `events`."""
    state = State(0)
    for event in (READY, EngineStage(0, "decoding"), *WINDOWS.values(), *events):
        state.apply(event)
    return snapshot_of(state, events[-1].t_ns, in_process=False, spec_bytes_per_s=None)


def entered(mode: ModeName, wall_ms: float, at_s: float) -> tuple[AnyEvent, ...]:
    return ModeEntered(round(at_s * SECOND), mode), batch(mode, wall_ms, at_s=at_s)


def test_a_changed_host_is_told_in_the_sentence_and_then_left_to_the_mark() -> None:
    events = (*entered("eager-static", 44.6, 1), *entered("graph", 4.2, 5), *entered("eager-static", 23.5, 9))
    snap = seen(*events)
    (change,) = snap.host_changes
    assert (change.modes, change.since_ns) == (("eager-static",), 9 * SECOND)
    assert change.found_ns == events[-1].t_ns
    assert limiting_sentence(snap) == change.text
    assert "44.6 ms a token in one visit, 23.5 in the next" in change.text
    assert len(change.text) <= LONGEST
    later = seen(*events, batch("eager-static", 23.5, at_s=60))
    assert later.host_changes == snap.host_changes  # found when it was, not when it is looked at
    assert limiting_sentence(later) != change.text
    assert limiting_sentence(seen(*events, *entered("graph", 4.2, 15))) != change.text


def test_a_third_visit_like_the_second_settles_it() -> None:
    assert not seen(
        *entered("eager-static", 44.6, 1),
        *entered("eager-static", 23.5, 5),
        *entered("eager-static", 24.4, 9),
    ).host_changes


def test_eager_is_held_against_eager_static_by_kernel() -> None:
    snap = seen(*entered("eager-static", 23.5, 1), *entered("eager", 78.3, 5))
    (change,) = snap.host_changes
    assert change.modes == ("eager", "eager-static")
    assert "64.7 µs in eager, 16.3 in eager-static" in change.text
    assert len(change.text) <= LONGEST
    assert limiting_sentence(snap) == change.text
    assert not seen(*entered("eager-static", 23.5, 1), *entered("eager", 21.6, 5)).host_changes


def test_a_change_between_two_modes_is_told_in_whichever_shows_it() -> None:
    snap = seen(*entered("eager", 48, 1), *entered("eager-static", 24, 5))
    (change,) = snap.host_changes
    assert (change.modes, change.found_ns) == (("eager", "eager-static"), snap.t_ns)
    assert snap.mode == "eager-static"
    assert limiting_sentence(snap) == change.text


def test_to_visit_the_same_speed_again_tells_nothing_new_and_another_speed_does() -> None:
    events = (*entered("eager-static", 24, 1), *entered("eager", 48, 5))
    (found,) = seen(*events).host_changes
    again = seen(*events, *entered("graph", 4.2, 10), *entered("eager-static", 24, 50))
    (change,) = again.host_changes
    assert (change.since_ns, change.found_ns) == (50 * SECOND, found.found_ns)
    assert limiting_sentence(again) != change.text
    own, turned = seen(*events, *entered("graph", 4.2, 10), *entered("eager-static", 150, 50)).host_changes
    assert own.modes == ("eager-static",)
    assert turned.modes == ("eager-static", "eager")
    assert own.found_ns == turned.found_ns > 50 * SECOND


def test_a_host_that_slows_down_late_in_a_visit_is_told_then() -> None:
    calm = (*entered("eager-static", 24, 1), *entered("graph", 4.2, 5))
    calm = (*calm, ModeEntered(9 * SECOND, "eager-static"), batch("eager-static", 24, at_s=9, count=1700))
    assert not seen(*calm).host_changes
    slow = [batch("eager-static", 48, at_s=50 + i * 5, count=100) for i in range(5)]
    steps = [seen(*calm, *slow[:n]) for n in range(len(slow) + 1)]
    told = [bool(snap.host_changes) for snap in steps]
    assert told == [False, False, False, True, True, True]  # once they are the most of KEPT_TOKENS
    (change,) = steps[-1].host_changes
    assert (change.since_ns, change.found_ns) == (9 * SECOND, slow[2].t_ns)
    assert limiting_sentence(steps[-1]) == change.text


def test_when_a_change_was_found_does_not_depend_on_who_looked() -> None:
    slow = [batch("eager-static", 48, at_s=10 + i * 0.5, count=10) for i in range(20)]
    events = (*entered("eager-static", 24, 1), ModeEntered(9 * SECOND, "eager-static"), *slow)
    state = State(0)
    for event in (READY, EngineStage(0, "decoding"), *WINDOWS.values(), *events):
        state.apply(event)
        snapshot_of(state, event.t_ns, in_process=False, spec_bytes_per_s=None)
    live = snapshot_of(state, events[-1].t_ns, in_process=False, spec_bytes_per_s=None)
    assert live == seen(*events)
    assert [change.found_ns for change in live.host_changes] == [slow[3].t_ns]


def test_a_change_that_ended_and_came_back_is_found_anew() -> None:
    first = (*entered("eager-static", 24, 1), *entered("eager-static", 48, 5))
    calm, back = batch("eager-static", 24, at_s=10, count=512), batch("eager-static", 48, at_s=30, count=512)
    assert seen(*first).host_changes
    assert not seen(*first, calm).host_changes
    assert [change.found_ns for change in seen(*first, calm, back).host_changes] == [back.t_ns]


def shape(**changes: int) -> EngineReady:
    return engine_ready(t_ns=4 * SECOND, **changes)


@pytest.mark.parametrize(
    "events",
    [
        (shape(batch=8), *entered("eager-static", 44.6, 5)),
        (shape(prompt_tokens=4096), *entered("eager-static", 44.6, 5)),
        (EngineStage(4 * SECOND, "starting"), READY, *entered("eager-static", 44.6, 5)),
        (Neighbours(4 * SECOND, 3), batch("eager-static", 44.6, at_s=5)),
        (Neighbours(4 * SECOND, 3), *entered("eager-static", 44.6, 5), Neighbours(9 * SECOND, 0)),
        (Neighbours(4 * SECOND, 3), EngineStage(4 * SECOND, "starting"), READY, batch("eager-static", 44.6)),
        (ModeEntered(4 * SECOND, "eager-static"), batch("eager-static", 44.6, at_s=5, excluded="warm-up")),
        (batch("eager-static", 44.6, at_s=5, excluded="profile"),),
        (ModeEntered(4 * SECOND, "eager-static"), batch("eager-static", 44.6, at_s=5, count=8)),
    ],
)
def test_what_is_of_our_own_making_is_no_change_of_the_host(events: tuple[AnyEvent, ...]) -> None:
    assert not seen(*entered("eager-static", 23.5, 1), *events).host_changes


def test_what_follows_our_neighbours_is_a_visit_of_its_own() -> None:
    snap = seen(
        *entered("eager-static", 23.5, 1),
        Neighbours(4 * SECOND, 3),
        batch("eager-static", 99, at_s=5),
        Neighbours(9 * SECOND, 0),
        batch("eager-static", 44.6, at_s=10),
    )
    assert [change.since_ns for change in snap.host_changes] == [10 * SECOND]
