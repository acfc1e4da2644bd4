"""A live session with its recorder and real neighbours: what it does, says, and leaves behind."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil
import pytest

from idlegap.core.protocol.commands import SetMode
from idlegap.core.protocol.events import AnyEvent, MonitorSample, Neighbours
from idlegap.core.recording import DEFAULT_MAX_BYTES, Recorder, RecordingError, RecordingReader
from idlegap.core.session.session import Session
from idlegap.core.system.neighbours import NoisyNeighbours
from idlegap.tui.apps.live_run import MOST_NEIGHBOURS, Joined, LiveRun
from tests.core.recording.stories import START_NS, FakeClock, FakeEngine, engine_story

NOON = datetime(2026, 11, 29, 12, 0, 0)
NAME = "idlegap-20261129-120000.jsonl.gz"
NewChildren = Callable[[], list[psutil.Process]]


class TellingEngine(FakeEngine):
    """A fake engine that remembers what it was asked."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(engine_story(), clock)
        self.asked: list[object] = []

    def send(self, command: object) -> None:
        self.asked.append(command)

    def restart(self) -> None:
        self.asked.append("restart")

    def close(self) -> None:
        self.asked.append("close")


@dataclass
class Rig:
    live: LiveRun
    neighbours: NoisyNeighbours
    engine: TellingEngine
    clock: FakeClock
    heard: list[AnyEvent]


def rig_of(clock: FakeClock, max_bytes: int = DEFAULT_MAX_BYTES, neighbour_core: int | None = None) -> Rig:
    engine = TellingEngine(clock)
    recorder = Recorder(clock=clock)
    heard: list[AnyEvent] = []
    session = Session(engine, listeners=(recorder, heard.append), clock=clock)
    neighbours = NoisyNeighbours(session.take, clock)
    live = LiveRun(
        lambda _: Joined(session, neighbours),
        recorder=lambda: recorder,
        max_bytes=max_bytes,
        neighbour_core=neighbour_core,
        now=lambda: NOON,
    )
    return Rig(live, neighbours, engine, clock, heard)


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = rig_of(FakeClock())
    yield made
    made.live.close()


def recorded_events(path: Path) -> list[AnyEvent]:
    with RecordingReader(path) as reader:
        return list(reader)


def test_nothing_is_joined_before_it_is_needed() -> None:
    def join(_: Recorder) -> Joined:
        raise AssertionError("joined too early")

    live = LiveRun(join, recorder=Recorder, max_bytes=DEFAULT_MAX_BYTES, in_process=True)
    assert live.recording is None
    live.close()
    assert live.recorded() == ""


def test_a_recording_needs_no_session_and_is_one_that_the_session_is_given(tmp_path: Path) -> None:
    given: list[Recorder] = []

    def join(recorder: Recorder) -> Joined:
        given.append(recorder)
        session = Session(FakeEngine((), FakeClock()), listeners=(recorder,), clock=FakeClock())
        return Joined(session, NoisyNeighbours(session.take, FakeClock()))

    live = LiveRun(join, recorder=Recorder, max_bytes=DEFAULT_MAX_BYTES)
    live.record(tmp_path / "early.jsonl")
    assert live.recording is not None
    assert given == []
    live.session.note_frame(MonitorSample(START_NS, 1.0, 2, None, 4.0))
    live.close()
    assert len(given) == 1
    assert recorded_events(tmp_path / "early.jsonl") == [MonitorSample(START_NS, 1.0, 2, None, 4.0)]


def test_a_recording_ends_with_a_session_that_never_began(tmp_path: Path) -> None:
    live = LiveRun(lambda _: pytest.fail("joined"), recorder=Recorder, max_bytes=DEFAULT_MAX_BYTES)
    live.record(tmp_path / "early.jsonl")
    live.close()
    with RecordingReader(tmp_path / "early.jsonl") as reader:
        assert list(reader) == []
        assert reader.ending.reason == "stopped"


def test_a_session_is_joined_once() -> None:
    made: list[Joined] = []

    def join(_: Recorder) -> Joined:
        engine, clock = FakeEngine((), FakeClock()), FakeClock()
        session = Session(engine, clock=clock)
        made.append(Joined(session, NoisyNeighbours(session.take, clock)))
        return made[-1]

    live = LiveRun(join, recorder=Recorder, max_bytes=DEFAULT_MAX_BYTES)
    live.session.send(SetMode("graph"))
    live.session.start()
    live.remove_neighbour()
    live.close()
    assert len(made) == 1


def test_neighbours_are_counted_on_the_screen_and_in_the_recording(rig: Rig, tmp_path: Path) -> None:
    rig.live.toggle_recording(tmp_path)
    assert rig.live.add_neighbour() == "1 noisy neighbour on any core, busy all the time; N removes one"
    assert rig.live.add_neighbour() == "2 noisy neighbours on any core, busy all the time; N removes one"
    snap = rig.live.session.snapshot(START_NS)
    assert snap.neighbours == 2
    assert [mark.label for mark in snap.strip.marks] == ["+1 neighbour"]
    assert rig.live.remove_neighbour() == "1 noisy neighbour left"
    assert rig.live.session.snapshot(START_NS).neighbours == 1
    rig.live.close()
    counts = [e.count for e in recorded_events(tmp_path / NAME) if isinstance(e, Neighbours)]
    assert counts == [1, 2, 1, 0]


def test_closing_ends_all_neighbours(new_children: NewChildren, rig: Rig) -> None:
    rig.live.add_neighbour()
    rig.live.add_neighbour()
    assert len(new_children()) == 2
    rig.live.close()
    assert rig.neighbours.count == 0
    assert new_children() == []


def test_the_last_neighbour_can_be_removed_and_no_more(rig: Rig) -> None:
    assert rig.live.remove_neighbour() == "no noisy neighbour of ours is running; n starts one"
    rig.live.add_neighbour()
    assert rig.live.remove_neighbour() == "no noisy neighbour left"
    assert rig.heard[-1] == Neighbours(START_NS, 0)


def test_neighbours_can_be_pinned(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    pinned = rig_of(FakeClock(), neighbour_core=core)
    assert pinned.live.add_neighbour().startswith(f"1 noisy neighbour on core {core}, ")
    assert pinned.heard == [Neighbours(START_NS, 1, (core,))]
    pinned.live.close()


def test_a_core_that_cannot_be_had_is_an_answer() -> None:
    elsewhere = rig_of(FakeClock(), neighbour_core=99_999)
    assert elsewhere.live.add_neighbour().startswith("cannot start a neighbour: core 99999: ")
    elsewhere.live.close()


def test_a_key_that_is_held_down_has_a_limit(new_children: NewChildren) -> None:
    class Crowd(NoisyNeighbours):
        count = MOST_NEIGHBOURS

    session = Session(FakeEngine((), FakeClock()), clock=FakeClock())
    crowd = Crowd(session.take)
    live = LiveRun(lambda _: Joined(session, crowd), recorder=Recorder, max_bytes=DEFAULT_MAX_BYTES)
    assert live.add_neighbour() == "64 noisy neighbours are the most"
    assert new_children() == []


def test_a_recording_starts_and_stops_in_a_folder(rig: Rig, tmp_path: Path) -> None:
    assert rig.live.recording is None
    assert rig.live.toggle_recording(tmp_path) == f"recording into {NAME}; r ends it"
    going_on = rig.live.recording
    assert going_on is not None
    assert (going_on.name, going_on.problem) == (NAME, "")
    assert going_on.size_bytes > 0
    rig.live.session.note_frame(MonitorSample(START_NS, 1.0, 2, None, 4.0))
    said = rig.live.toggle_recording(tmp_path)
    assert said.startswith("recorded 1 events, ")
    assert said.endswith(f"into {tmp_path / NAME}")
    assert rig.live.recording is None
    assert recorded_events(tmp_path / NAME) == [MonitorSample(START_NS, 1.0, 2, None, 4.0)]


def test_a_second_recording_in_the_same_second_does_not_overwrite_the_first(rig: Rig, tmp_path: Path) -> None:
    rig.live.toggle_recording(tmp_path)
    rig.live.toggle_recording(tmp_path)
    said = rig.live.toggle_recording(tmp_path)
    assert said.startswith("cannot record: ")
    assert "exists already" in said


def test_a_folder_that_cannot_be_written_to_is_an_answer(rig: Rig, tmp_path: Path) -> None:
    assert rig.live.toggle_recording(tmp_path / "absent").startswith("cannot record: ")
    assert rig.live.recording is None


def test_a_given_file_that_exists_is_refused(rig: Rig, tmp_path: Path) -> None:
    taken = tmp_path / "taken.jsonl"
    taken.touch()
    with pytest.raises(RecordingError, match="exists already"):
        rig.live.record(taken)


def test_a_recording_that_reaches_its_limit_says_so(tmp_path: Path) -> None:
    rig = rig_of(FakeClock(), max_bytes=256 << 10)
    path = tmp_path / "small.jsonl"
    rig.live.record(path)
    for i in range(5000):
        rig.live.session.note_frame(MonitorSample(START_NS + i, 1.0, 2, 3.0, 4.0))
    said = rig.live.recorded()
    assert "it ended at its size limit" in said
    assert path.stat().st_size <= 256 << 10
    ended = rig.live.recording
    assert ended is not None
    assert ended.problem == "size limit"
    rig.live.close()


def test_without_a_recording_there_is_nothing_to_say_about_one(rig: Rig) -> None:
    assert rig.live.recorded() == ""
