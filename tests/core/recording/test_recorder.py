"""Recording: everything that was said comes back, whatever ends the recording."""

import os
import signal
import subprocess
import sys
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest

from idlegap.core.protocol.events import (
    AnyEvent,
    EngineReady,
    EngineStage,
    GpuSample,
    HostInfo,
    ModeEntered,
)
from idlegap.core.recording import Recorder, RecordingError, RecordingReader, default_name
from idlegap.core.recording.format import LATE_NS
from idlegap.core.recording.writer import LEAST_BYTES, MAX_PENDING, Writer
from idlegap.core.session.state import State
from tests.core.recording.stories import (
    HEADER,
    SECOND,
    START_NS,
    FakeClock,
    engine_story,
    record,
    story,
)
from tests.paths import ROOT


def read(path: Path) -> list[AnyEvent]:
    with RecordingReader(path) as reader:
        return list(reader)


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_everything_that_was_said_comes_back(tmp_path: Path, name: str) -> None:
    events = story()

    path = record(tmp_path / name, events)

    assert read(path) == events
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")


def test_the_header_tells_where_and_when(tmp_path: Path) -> None:
    recorder = Recorder(
        in_process=True,
        spec_bytes_per_s=4.8e12,
        clock=FakeClock(),
        now=lambda: datetime(2026, 11, 29, 12, 30, tzinfo=UTC),
        host="rented-7",
    )
    recorder.start(tmp_path / "run.jsonl")
    recorder.stop()

    with RecordingReader(tmp_path / "run.jsonl") as reader:
        header = reader.header

    assert (header.host, header.created) == ("rented-7", "2026-11-29T12:30:00+00:00")
    assert (header.started_ns, header.in_process, header.spec_bytes_per_s) == (START_NS, True, 4.8e12)


def test_a_key_names_its_recording_by_the_time() -> None:
    assert default_name(datetime(2026, 11, 29, 22, 15, 3)) == "idlegap-20261129-221503.jsonl.gz"


def test_recordings_start_and_stop_at_run_time(tmp_path: Path) -> None:
    clock, events = FakeClock(), engine_story()
    recorder = Recorder(clock=clock)
    assert recorder.status is None
    assert recorder.stop() is None
    for event in events[:20]:
        recorder(event)
    clock.now_ns = events[20].t_ns
    recorder.start(tmp_path / "one.jsonl")
    assert recorder.active
    for event in events[20:30]:
        recorder(event)
    first = recorder.stop()
    recorder(events[30])
    recorder.start(tmp_path / "two.jsonl")
    second = recorder.stop()

    assert first is not None
    assert second is not None
    assert (first.ended, second.ended, recorder.active) == ("stopped", "stopped", False)
    assert read(tmp_path / "one.jsonl")[-10:] == events[20:30]
    assert first.events == len(read(tmp_path / "one.jsonl"))
    assert first.size_bytes == (tmp_path / "one.jsonl").stat().st_size


def test_one_that_begins_midway_knows_the_machine_and_the_mode(tmp_path: Path) -> None:
    clock, events = FakeClock(), story()
    recorder = Recorder(clock=clock)
    clock.now_ns = events[-1].t_ns
    recorder.start(tmp_path / "late.jsonl", preamble=State.of(events).facts.kept())
    recorder.stop()

    standing = read(tmp_path / "late.jsonl")

    assert [e.mode for e in standing if isinstance(e, ModeEntered)] == ["eager-static"]
    assert [type(e) for e in standing if isinstance(e, (HostInfo, EngineReady))] == [HostInfo, EngineReady]
    assert len([e for e in standing if isinstance(e, GpuSample)]) == 1
    assert len(standing) < 20


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "evidence.jsonl"
    path.write_text("precious")

    with pytest.raises(RecordingError, match=r"evidence\.jsonl: exists already"):
        Recorder(clock=FakeClock()).start(path)

    assert path.read_text() == "precious"


def test_only_one_recording_at_a_time(tmp_path: Path) -> None:
    recorder = Recorder(clock=FakeClock())
    recorder.start(tmp_path / "one.jsonl")

    with pytest.raises(RecordingError, match="still going on"):
        recorder.start(tmp_path / "two.jsonl")
    recorder.stop()


@pytest.mark.parametrize(
    ("path", "problem"), [("no/such/folder/run.jsonl", "cannot be created"), (".", "exists already")]
)
def test_a_place_that_cannot_be_written_is_told_at_once(tmp_path: Path, path: str, problem: str) -> None:
    with pytest.raises(RecordingError, match=problem):
        Recorder(clock=FakeClock()).start(tmp_path / path)


def test_a_limit_too_low_for_the_description_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="too low"):
        Recorder(clock=FakeClock()).start(tmp_path / "run.jsonl", max_bytes=1000)


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_the_file_never_exceeds_its_limit_and_says_that_it_was_reached(tmp_path: Path, name: str) -> None:
    writer = Writer(tmp_path / name, HEADER, LEAST_BYTES, FakeClock())
    events = story()
    given = 0
    while writer.status.active:
        for event in events:
            writer.put(event)
            given += 1
        writer.flush()
    writer.put(events[0])

    with RecordingReader(tmp_path / name) as reader:
        events_back = sum(1 for _ in reader)

    assert (tmp_path / name).stat().st_size <= LEAST_BYTES
    assert reader.ending.reason == writer.status.ended == "size limit"
    assert 0 < events_back == writer.status.events < given


def test_a_disk_that_hangs_costs_events_but_not_memory(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "run.jsonl", HEADER, 10**9, FakeClock())
    stage = EngineStage(START_NS, "decoding")
    for _ in range(MAX_PENDING + 7):
        writer.put(stage)
    writer.start()

    status = writer.stop()

    assert (status.events, status.lost) == (MAX_PENDING, 7)
    with RecordingReader(tmp_path / "run.jsonl") as reader:
        assert sum(1 for _ in reader) == MAX_PENDING
    assert reader.ending.text == "7 events were lost: the disk was too slow"


def test_what_cannot_be_encoded_ends_the_recording_and_says_so(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "run.jsonl", HEADER, 10**9, FakeClock())
    writer.put(EngineStage(START_NS, object()))  # type: ignore[arg-type]
    writer.start()

    status = writer.stop()

    assert not status.active
    assert status.error.startswith("TypeError: ")


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_a_long_recording_keeps_nothing_in_memory(tmp_path: Path, name: str) -> None:
    writer = Writer(tmp_path / name, HEADER, 10**9, FakeClock())
    events = story(rounds=2)

    def write(times: int) -> int:
        for _ in range(times):
            for event in events:
                writer.put(event)
            writer.flush()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    early = write(20)
    late = write(200)
    tracemalloc.stop()
    writer.start()
    writer.stop()

    assert writer.status.events == 220 * len(events)
    assert late - early < 50_000


def test_a_line_that_no_reader_takes_is_not_written(tmp_path: Path) -> None:
    path = record(tmp_path / "run.jsonl", [EngineStage(START_NS, "building", "x" * (5 << 20))])

    assert read(path) == []


def test_what_a_suspended_monitor_reads_hours_later_is_kept(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "run.jsonl", HEADER, 10**9, FakeClock())
    hour = 3600 * SECOND
    writer.put(GpuSample(START_NS + hour))
    writer.flush()
    late = [EngineStage(START_NS + i * LATE_NS // 2, "decoding") for i in range(4)]
    for event in late:
        writer.put(event)
    writer.start()
    writer.stop()

    assert read(tmp_path / "run.jsonl") == [GpuSample(START_NS + hour), *late]


CHILD = """
import sys, time
from pathlib import Path
from idlegap.core.recording import Recorder
from tests.core.recording.stories import story

recorder = Recorder()
recorder.start(Path(sys.argv[1]))
events = story()
for event in events[:150]:
    recorder(event)
while recorder.status.events < 150:
    time.sleep(0.01)
for event in events[150:]:
    recorder(event)
print("written", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_kill_9_keeps_all_that_was_flushed(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"written\n"
        finally:
            child.kill()
    assert child.returncode == -signal.SIGKILL

    with RecordingReader(path) as reader:
        events = list(reader)

    assert events[:150] == story()[:150]
    assert reader.ending.reason == "cut off"
    assert "cut off" in reader.ending.text


FULL = """
import resource, sys
from pathlib import Path
from idlegap.core.recording import Recorder
from tests.core.recording.stories import story

resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
recorder = Recorder()
recorder.start(Path(sys.argv[1]))
for event in story(rounds=9):
    recorder(event)
status = recorder.stop()
print(status.active, recorder.active, status.ended, status.error)
"""


def test_a_full_disk_ends_the_recording_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    result = subprocess.run(
        [sys.executable, "-c", FULL, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )

    assert result.stdout == "False False None File too large\n"
    with RecordingReader(path) as reader:
        assert len(list(reader)) > 0
    assert reader.ending.reason == "cut off"
