"""Replay: any position shows what the live session showed, and the controls go where they say."""

import json
from collections import deque
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from idlegap.core.protocol.commands import SetMode
from idlegap.core.protocol.events import (
    AnyEvent,
    EngineEvent,
    EngineFailed,
    EngineStage,
    MonitorSample,
    Token,
    TokenBatch,
)
from idlegap.core.protocol.modes import MODE_NAMES
from idlegap.core.recording import RecordingError
from idlegap.core.recording.playback import LOOK_AHEAD, SPEEDS, PlaybackClock
from idlegap.core.session.session import Session
from idlegap.core.session.snapshot import Snapshot, TokenPlace
from idlegap.core.sources.recording import CATCH_UP_NS, Replay, ReplaySource
from tests.core.recording.stories import (
    MS,
    READY,
    REAL,
    SECOND,
    START_NS,
    FakeClock,
    FakeEngine,
    engine_story,
    live,
    record,
    sensor_story,
    story,
)
from tests.paths import DEMO, ROOT


def seen(replay: Replay) -> Snapshot:
    """What the replay shows, but for where it stands."""
    return replace(replay.snapshot(0), playback=None)


def at_end(path: Path) -> Snapshot:
    replay = Replay(path, clock=FakeClock())
    replay.source.seek(replay.source.index.length_ns)
    snapshot = seen(replay)
    assert replay.source.ended
    replay.close()
    return snapshot


def test_the_demo_ends_with_the_figures_that_its_live_session_on_the_gpu_ended_with() -> None:
    kept = json.loads((ROOT / "benchmarks/results/2026-11-30-h200-demo-figures.json").read_bytes())
    found = json.loads(msgspec.json.encode(at_end(DEMO).modes))
    assert [row["name"] for row in kept] == list(MODE_NAMES)
    assert found == kept


@pytest.mark.parametrize("frame_ms", [1, 250])
@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_a_recording_ends_with_the_snapshot_that_the_live_session_ended_with(
    tmp_path: Path, name: str, frame_ms: int
) -> None:
    engine = engine_story(rounds=5)
    shown = live(tmp_path / name, engine, sensor_story(engine[-1].t_ns), frame_ms * MS)

    assert at_end(tmp_path / name) == shown
    assert shown.rate is not None
    assert shown.monitor is not None
    assert [row.name for row in shown.modes if row.split is not None] == ["eager-static", "graph"]
    assert sum(column.slow for column in shown.strip.columns) == 5
    assert shown.ceiling is not None
    assert shown.ceiling.spec_source == "--spec-bandwidth"


def test_a_real_run_ends_in_the_same_way_however_it_is_played(tmp_path: Path) -> None:
    straight = at_end(REAL)
    clock = FakeClock()
    replay = Replay(REAL, clock=clock)
    for share in (0.9, 0.2, 0.7, 0.0, 1.0):
        replay.source.seek(round(share * replay.source.index.length_ns))
        replay.snapshot(0)

    assert seen(replay) == straight
    assert straight.mode == "compiled"
    assert straight.mode_view("graph") is not None
    replay.close()


def test_every_position_shows_what_was_known_then(tmp_path: Path) -> None:
    events = story()
    path = record(tmp_path / "run.jsonl", events)
    replay = Replay(path, clock=FakeClock())
    for t_ns in range(START_NS, events[-1].t_ns, 700 * MS):
        clock = FakeClock(START_NS)
        session = Session(FakeEngine(events, clock), clock=clock)
        clock.now_ns = t_ns
        replay.source.seek(t_ns - START_NS)

        assert seen(replay) == session.snapshot(t_ns)
    replay.close()


@pytest.mark.parametrize("frame_ms", [1, 40, 250])
def test_frames_leave_no_trace_in_what_is_remembered(tmp_path: Path, frame_ms: int) -> None:
    path = record(tmp_path / "run.jsonl", story())
    clock = FakeClock()
    replay = Replay(path, clock=clock)
    replay.start()
    while not replay.source.ended:
        clock.now_ns += frame_ms * MS
        columns = replay.snapshot(0).strip.columns
        assert len({column.bucket for column in columns}) == len(columns)

    assert seen(replay) == at_end(path)
    replay.close()


def test_a_session_hears_engine_and_sensors_by_time_but_each_in_its_own_order() -> None:
    engine = engine_story()
    sensors = sensor_story(engine[-1].t_ns)
    clock = FakeClock(engine[-1].t_ns)
    heard: list[AnyEvent] = []
    session = Session(
        FakeEngine(engine, clock), sensor_events=deque(sensors), listeners=[heard.append], clock=clock
    )
    session.pump()

    assert [event for event in heard if isinstance(event, EngineEvent)] == engine
    assert [event for event in heard if not isinstance(event, EngineEvent)] == sensors
    # The engine stamps a profile window a little before the tokens that close it.
    assert all(b.t_ns >= a.t_ns - 2 * MS for a, b in pairwise(heard))


def test_a_restart_of_the_engine_is_replayed(tmp_path: Path) -> None:
    engine = engine_story(rounds=1)
    fail_ns = engine[-1].t_ns + SECOND
    clock = FakeClock()
    heard: list[AnyEvent] = []
    source = FakeEngine([*engine, EngineFailed(fail_ns, "out of memory")], clock)
    session = Session(source, listeners=[heard.append], clock=clock)
    clock.now_ns = fail_ns
    session.pump()
    clock.now_ns = fail_ns + SECOND
    session.restart()
    shown = session.snapshot(clock.now_ns)

    assert heard[-1] == EngineStage(clock.now_ns, "starting")
    assert shown.failed is None
    assert shown.stage.since_ns == clock.now_ns
    assert at_end(record(tmp_path / "run.jsonl", heard)) == shown


def test_time_runs_at_its_speed_and_stops_at_the_end(tmp_path: Path) -> None:
    clock = FakeClock(77)
    source = ReplaySource(record(tmp_path / "run.jsonl", story()), clock=clock, speed=2.0)
    assert not source.playing
    source.start()
    clock.now_ns += SECOND
    assert (source.position_ns, source.playing, source.speed) == (2 * SECOND, True, 2.0)
    source.pause()
    clock.now_ns += 50 * SECOND
    assert (source.position_ns, source.playing) == (2 * SECOND, False)
    source.play()
    source.change_speed(-1)
    source.change_speed(-1)
    clock.now_ns += SECOND
    assert (source.position_ns, source.speed) == (2 * SECOND + SECOND // 2, 0.5)
    source.set_speed(16)
    clock.now_ns += 50 * SECOND
    assert (source.position_ns, source.playing, source.ended) == (source.index.length_ns, False, False)
    while source.poll():
        pass
    assert source.ended
    source.play()
    assert (source.position_ns, source.playing, source.take_rewound()) == (0, True, True)
    source.close()


def test_events_come_when_they_are_due_and_as_they_were(tmp_path: Path) -> None:
    events = story()
    clock = FakeClock()
    source = ReplaySource(record(tmp_path / "run.jsonl", events), clock=clock)
    source.start()
    heard: list[AnyEvent] = []
    while not source.ended:
        heard += source.poll()
        assert max(event.t_ns for event in heard) <= source.now_ns()
        clock.now_ns += 100 * MS

    assert heard == events
    source.close()


@pytest.mark.parametrize("speed", [0.0, -1.0, 0.2, 17.0, float("nan")])
def test_impossible_speeds_are_refused(tmp_path: Path, speed: float) -> None:
    with pytest.raises(ValueError, match=r"from 0\.25 to 16"):
        ReplaySource(record(tmp_path / "run.jsonl", story()), speed=speed)


def test_speeds_end_at_their_ends() -> None:
    transport = PlaybackClock(FakeClock(), 0, SECOND)
    transport.change_speed(100)
    assert transport.speed == SPEEDS[-1]
    transport.change_speed(-100)
    assert transport.speed == SPEEDS[0]
    transport.set_speed(3.0)
    transport.change_speed(1)
    assert transport.speed == 4.0


def tokens_of(events: list[AnyEvent]) -> list[Token]:
    return [token for event in events if isinstance(event, TokenBatch) for token in event.tokens]


def test_steps_reach_every_token_once_and_in_order(tmp_path: Path) -> None:
    events = story()
    replay = Replay(record(tmp_path / "run.jsonl", events), clock=FakeClock())
    reached: list[TokenPlace] = []
    while replay.source.step():
        replay.snapshot(0)
        assert replay.source.token is not None
        assert replay.source.now_ns() >= replay.source.token.token.done_ns
        reached.append(replay.source.token)

    assert [place.token for place in reached] == tokens_of(events)
    assert reached[70].index == 6
    assert (reached[0].mode, reached[0].excluded, reached[70].mode) == ("eager-static", "warm-up", "graph")
    assert not replay.source.playing
    assert replay.source.step() is False
    replay.close()


def test_a_step_from_anywhere_goes_to_the_next_token(tmp_path: Path) -> None:
    events = story()
    source = ReplaySource(record(tmp_path / "run.jsonl", events), clock=FakeClock())
    for before, after in list(pairwise(tokens_of(events)))[::17]:
        source.seek(before.done_ns - START_NS)
        while source.poll():
            pass
        source.step()
        assert source.token is not None
        assert source.token.token == after
    source.close()


def test_the_session_hears_of_a_stepped_batch_at_its_last_token(tmp_path: Path) -> None:
    path = record(tmp_path / "run.jsonl", story())
    source = ReplaySource(path, clock=FakeClock())
    batches = []
    for _ in range(16):
        source.step()
        batches += [len(event.tokens) for event in source.poll() if isinstance(event, TokenBatch)]
        assert source.token is not None
        assert sum(batches) == 8 * ((source.token.index + 1) // 8)
    source.close()


def test_where_no_token_is_in_sight_a_step_goes_as_far_as_it_looks(tmp_path: Path) -> None:
    quiet = [EngineStage(START_NS + i * MS, "paused") for i in range(LOOK_AHEAD + 10)]
    token = Token(START_NS + 90 * SECOND, START_NS + 91 * SECOND, START_NS + 92 * SECOND)
    path = record(tmp_path / "run.jsonl", [*quiet, TokenBatch(token.done_ns, "graph", 1, 0, (token,))])
    source = ReplaySource(path, clock=FakeClock())

    assert source.step() is False
    assert source.position_ns == (LOOK_AHEAD - 1) * MS
    while source.poll():
        pass
    assert source.step() is True
    assert source.now_ns() == token.done_ns
    source.close()


def test_jumps_land_on_each_mode_switch(tmp_path: Path) -> None:
    source = ReplaySource(record(tmp_path / "run.jsonl", story(rounds=4)), clock=FakeClock())
    session = Session(source, clock=source.now_ns)
    modes = [None]
    while source.next_mode():
        modes.append(session.snapshot(source.now_ns()).mode)

    assert modes == [None, "graph", "eager-static", "graph"]
    source.close()


def test_jumps_land_on_each_slow_token_and_show_it_flagged(tmp_path: Path) -> None:
    replay = Replay(record(tmp_path / "run.jsonl", story(rounds=4)), clock=FakeClock())
    found: list[TokenPlace] = []
    while replay.source.next_slow():
        assert replay.source.token is not None
        found.append(replay.source.token)
        shown = replay.snapshot(0)
        assert shown.mode == found[-1].mode
        assert replay.source.token == found[-1]

    assert [(place.mode, place.index, place.round) for place in found] == [
        ("eager-static", 60, 1),
        ("graph", 60, 2),
        ("eager-static", 60, 3),
        ("graph", 60, 4),
    ]
    assert sum(column.slow for column in at_end(tmp_path / "run.jsonl").strip.columns) == 4
    replay.source.seek(0)
    assert replay.source.token is None
    assert replay.source.next_slow()
    assert replay.source.token == found[0]
    replay.close()


def test_what_a_slow_frame_leaves_undone_the_next_ones_do(tmp_path: Path) -> None:
    path = record(tmp_path / "run.jsonl", story(rounds=40))
    clock = FakeClock()

    def slow_clock() -> int:
        clock.now_ns += CATCH_UP_NS
        return clock.now_ns

    replay = Replay(path, clock=slow_clock)
    replay.source.seek(replay.source.index.length_ns)
    assert replay.source.behind
    frames = 0
    while replay.source.behind:
        replay.snapshot(0)
        frames += 1

    assert frames > 1
    assert seen(replay) == at_end(path)
    replay.close()


def test_a_replay_ignores_what_a_screen_would_do_to_an_engine(tmp_path: Path) -> None:
    replay = Replay(record(tmp_path / "run.jsonl", story()), clock=FakeClock())
    replay.source.seek(replay.source.index.length_ns)
    before = seen(replay)
    replay.send(SetMode("graph"))
    replay.note_frame(MonitorSample(0, 99.0, 1, 1.0, 1.0))

    assert seen(replay) == before
    replay.restart()
    assert (replay.source.position_ns, replay.source.playing) == (0, True)
    assert replay.snapshot(0).engine is None
    replay.close()


def test_a_file_that_changes_while_it_is_played_is_told_on_screen(tmp_path: Path) -> None:
    path = record(tmp_path / "run.jsonl", [READY])
    replay = Replay(path, clock=FakeClock())
    path.write_text("something else\n")
    replay.source.seek(replay.source.index.length_ns)

    failed = replay.snapshot(0).failed

    assert failed is not None
    assert "line 1: not an idlegap recording" in failed.reason
    assert failed.hint == "the file has changed since it was opened"
    assert not replay.source.next_slow()
    replay.close()


def test_a_bad_file_is_refused_before_anything_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(REAL.read_bytes()[:5000] + b"\xff" * 100)

    with pytest.raises(RecordingError, match="damaged gzip data"):
        Replay(path)


def test_a_cut_recording_says_so_and_plays(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(REAL.read_bytes()[:60_000])
    replay = Replay(path, clock=FakeClock())

    assert replay.source.index.ending.text.startswith("the recording was cut off: its last whole line is")
    replay.source.seek(replay.source.index.length_ns)
    assert replay.snapshot(0).mode is not None
    replay.close()
