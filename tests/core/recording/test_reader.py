"""Reading: a good recording in full, a cut one up to its cut, a bad one with its line."""

import gzip
import re
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from idlegap.core.protocol.events import (
    AnyEvent,
    Bandwidth,
    CgroupSample,
    EngineReady,
    EngineStage,
    GpuSample,
    ProfileWindow,
    Token,
    TokenBatch,
)
from idlegap.core.protocol.reasons import code_of
from idlegap.core.recording import RecordingError, RecordingReader, read_index
from idlegap.core.recording.format import LATE_NS, MAX_LINE_BYTES, End, Late
from idlegap.core.text.reasons import words
from tests.core.recording.stories import HEADER, MS, READY, REAL, SECOND, START_NS, record, story

STAGE = EngineStage(START_NS, "decoding")


def encode(*lines: msgspec.Struct) -> bytes:
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def write(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    return path


def read(path: Path) -> list[AnyEvent]:
    with RecordingReader(path) as reader:
        return list(reader)


def test_an_old_recording_stays_readable() -> None:
    found = read_index(REAL)

    assert (found.header.schema, found.header.host) == (1, "h200")
    assert (found.events, found.tokens, len(found.switches_ns)) == (1577, 3749, 20)
    assert (found.ending.reason, found.ending.text) == ("stopped", "")
    assert found.length_ns == 323_323_948_275 - 26_967_672_987


def test_format_2_says_the_same_with_codes_as_format_1_did_with_words() -> None:
    new = read(REAL.with_name("v2.jsonl.gz"))
    old = read(REAL)[: len(new)]
    rejected = [event for event in new if isinstance(event, ProfileWindow) and not event.accepted]
    assert {code_of(window.reason) for window in rejected} == {"first-window"}
    for before, after in zip(old, new, strict=True):
        assert reasonless(before) == reasonless(after)
        if isinstance(before, ProfileWindow) and isinstance(after, ProfileWindow):
            assert words(after.reason) == before.reason
        if isinstance(before, CgroupSample) and isinstance(after, CgroupSample):
            assert {code_of(sample.missing["quota_cores"]) for sample in (before, after)} == {"no-quota"}


def reasonless(event: AnyEvent) -> AnyEvent:
    changes = {"missing": {}, "reason": ""}
    return replace(event, **{name: value for name, value in changes.items() if hasattr(event, name)})


def test_the_end_is_known_once_it_was_reached(tmp_path: Path) -> None:
    path = write(tmp_path, encode(HEADER, STAGE, End(START_NS + SECOND, "stopped", 1)))
    with RecordingReader(path) as reader:
        with pytest.raises(RuntimeError, match="not been read yet"):
            _ = reader.ending
        assert list(reader) == [STAGE]
        assert (reader.ending.events, reader.ending.line, reader.ending.t_ns) == (1, 3, START_NS + SECOND)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("kept", [0.3, 0.7, 0.99])
def test_a_truncated_file_plays_to_its_last_whole_event(
    tmp_path: Path, pack: Callable[[bytes], bytes], kept: float
) -> None:
    path = record(tmp_path / "whole.jsonl", story())
    whole = read(path)
    packed = pack(path.read_bytes())

    with RecordingReader(write(tmp_path, packed[: int(kept * len(packed))])) as reader:
        events = list(reader)

    assert 0 < len(events) <= len(whole)
    assert events == whole[: len(events)]
    assert reader.ending.reason == "cut off"
    assert reader.ending.text == f"the recording was cut off: its last whole line is {len(events) + 1:,}"


def test_a_file_that_was_packed_again_in_pieces_is_whole(tmp_path: Path) -> None:
    text = record(tmp_path / "whole.jsonl", story()).read_bytes()

    path = write(tmp_path, gzip.compress(text[:5000]) + gzip.compress(text[5000:]))

    assert read(path) == read(tmp_path / "whole.jsonl")


def test_a_header_alone_is_an_empty_recording(tmp_path: Path) -> None:
    assert read(write(tmp_path, encode(HEADER))) == []


def test_late_events_need_their_mark(tmp_path: Path) -> None:
    newest, late = GpuSample(START_NS + 3600 * SECOND), EngineStage(START_NS, "decoding")

    assert read(write(tmp_path, encode(HEADER, newest, Late(START_NS), late))) == [newest, late]
    with pytest.raises(RecordingError, match=r"line 3: time goes back by 3600\.0 s"):
        read(write(tmp_path, encode(HEADER, newest, late)))


def test_times_may_go_back_as_far_as_batches_are_late(tmp_path: Path) -> None:
    events = [GpuSample(START_NS + LATE_NS), EngineStage(START_NS, "decoding")]

    assert read(write(tmp_path, encode(HEADER, *events))) == events


def claim(**changes: object) -> bytes:
    return msgspec.json.encode({**msgspec.to_builtins(HEADER), **changes}) + b"\n"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "run.jsonl: the file is empty"),
        (b"\n", "line 1: not an idlegap recording"),
        (b"\x00\xff" * 500, "line 1: not an idlegap recording"),
        (b"col1,col2\n1,2\n", "line 1: not an idlegap recording"),
        (b'{"type":"stage","schema":1}\n', "line 1: not an idlegap recording: its header is missing"),
        (encode(STAGE), "line 1: not an idlegap recording"),
        (claim(schema=0), "line 1: not an idlegap recording"),
        (claim(schema=-3), "line 1: not an idlegap recording"),
        (claim(schema="1"), "line 1: not an idlegap recording"),
        (claim(schema=3, idlegap="9.0", news=[]), "line 1: written by idlegap 9.0 in format 3; this"),
        (claim(news=1), "line 1: damaged header: Object contains unknown field `news`"),
        (claim(started_ns=-1), "line 1: damaged header: Expected `int` >= 0 - at `$.started_ns`"),
        (claim(spec_bytes_per_s=0), "line 1: damaged header: Expected `float` >= 1000000000.0 - at `$.spec_"),
        (claim(spec_bytes_per_s=0.1), "line 1: damaged header: Expected `float` >= 1000000000.0 - at"),
        (claim(spec_bytes_per_s=1e300), "line 1: damaged header: Expected `float` <= 1000000000000000.0"),
        (b"[" * 100_000 + b"\n", "line 1: not an idlegap recording"),
        (b'{"type":"recording","schema":1,"x":' + b"[" * 100_000 + b"\n", "line 1: not an idlegap recording"),
        (encode(HEADER) + b"garbage\n" + encode(STAGE), "line 2: not an event"),
        (encode(HEADER, STAGE) + b"\n" + encode(STAGE), "line 3: not an event"),
        (encode(HEADER, HEADER), "line 2: not an event"),
        (encode(HEADER) + b'{"type":"stage","t_ns":1,"stage":"dozing"}\n', "line 2: not an event"),
        (encode(HEADER) + b'{"type":"\x1b[2J","t_ns":1}\n', "line 2: not an event"),
        (encode(HEADER) + b'{"type":"stage","t_ns":1,"stage":"decoding","detail":"\xff"}\n', "line 2: "),
        (encode(HEADER, STAGE, End(1, "stopped", 1), STAGE), "line 4: goes on after its end marker"),
        (encode(HEADER, TokenBatch(9, "graph", 1, 7, (Token(5, 4, 6),))), "line 2: token 7: its"),
        (encode(HEADER, TokenBatch(9, "graph", 1, 7, (Token(5, 5, 5),))), "line 2: token 7: took no time"),
        (encode(HEADER, TokenBatch(9, "graph", 1, 0, (Token(1, 2, 3), Token(2, 3, 4)))), "line 2: token 1"),
        (gzip.compress(encode(HEADER, STAGE)) + b"trailing bytes", "line 3: damaged gzip data"),
        (gzip.compress(encode(HEADER, STAGE))[:-8] + b"\0" * 8, "line 3: damaged gzip data"),
        (b"\x1f\x8b" + b"\0" * 40, "line 1: damaged gzip data"),
        (b"\x1f", "line 1: damaged gzip data"),
        (gzip.compress(encode(HEADER, STAGE), mtime=0)[:20], "line 1: not an idlegap recording"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, content: bytes, problem: str) -> None:
    with pytest.raises(RecordingError) as raised:
        read(write(tmp_path, content))

    assert problem in str(raised.value)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (End(-1, "stopped", 0), "Expected `int` >= 0 - at `$.t_ns`"),
        (EngineStage(2**63, "decoding"), "Expected `int` <= 922337"),
        (EngineStage(1, "compiling", fraction=1.5), "Expected `float` <= 1.0 - at `$.fr"),
        (msgspec.structs.replace(READY, batch=0), "Expected `int` >= 1"),
        (Bandwidth(1, 1e-300, None), "Expected `float` >= 1.0 - at `$.copy_"),
        (ProfileWindow(1, "graph", 4, True, busy_ns=-5), "Expected `int` >= 0 - at"),
        (GpuSample(1, temperature_c=-300), "Expected `int` >= -273"),
        (TokenBatch(-1, "graph", 1, 0, ()), "Expected `int` >= 0 - at `$.t_ns`"),
        (TokenBatch(9, "graph", 1, -1, ()), "Expected `int` >= 0 - at `$.first`"),
        (TokenBatch(9, "graph", 1, 0, (Token(1, 2, 3, -1),)), "Expected `int` >= 0 - at `$.tokens[0][3]`"),
    ],
)  # fmt: skip
def test_figures_that_cannot_be_are_refused_with_their_place(
    tmp_path: Path, line: msgspec.Struct, problem: str
) -> None:
    with pytest.raises(RecordingError, match=re.escape(f"line 2: not an event: {problem}")):
        read(write(tmp_path, encode(HEADER, line)))


def test_a_negative_temperature_is_only_cold(tmp_path: Path) -> None:
    sample = GpuSample(START_NS, temperature_c=-5)

    assert read(write(tmp_path, encode(HEADER, sample))) == [sample]


@pytest.mark.parametrize(
    ("name", "problem"),
    [("missing.jsonl", "cannot be opened: No such"), ("", "cannot be opened: Is a")],
)
def test_a_file_that_cannot_be_opened(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(RecordingError, match=problem) as raised:
        RecordingReader(tmp_path / name)
    assert raised.value.line is None


@pytest.fixture
def peak() -> Iterator[Callable[[], int]]:
    """Bytes of memory that were in use at once since the test began."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def test_a_line_of_100_mb_is_refused_in_bounded_memory(tmp_path: Path, peak: Callable[[], int]) -> None:
    path = tmp_path / "run.jsonl"
    with path.open("wb") as file:
        file.write(encode(HEADER, STAGE))
        for _ in range(100):
            file.write(b"x" * 1_000_000)

    with pytest.raises(RecordingError, match="line 3: longer than 4 MiB"):
        read(path)
    assert peak() < 8 * MAX_LINE_BYTES


def test_a_packed_line_of_100_mb_is_refused_in_bounded_memory(
    tmp_path: Path, peak: Callable[[], int]
) -> None:
    packer = zlib.compressobj(wbits=31)
    parts = [packer.compress(encode(HEADER, STAGE))]
    parts += [packer.compress(b"x" * 1_000_000) for _ in range(100)]
    path = write(tmp_path, b"".join([*parts, packer.flush()]))

    with pytest.raises(RecordingError, match="line 3: longer than 4 MiB"):
        read(path)
    assert peak() < 8 * MAX_LINE_BYTES


def test_sound_lines_may_expand_however_far_in_bounded_memory(
    tmp_path: Path, peak: Callable[[], int]
) -> None:
    packer = zlib.compressobj(wbits=31)
    line = encode(EngineStage(START_NS, "building", "x" * 100_000))
    parts = [packer.compress(encode(HEADER))]
    parts += [packer.compress(line) for _ in range(400)]
    path = write(tmp_path, b"".join([*parts, packer.flush()]))

    assert path.stat().st_size < 400 * len(line) / 200
    tracemalloc.reset_peak()
    with RecordingReader(path) as reader:
        assert sum(1 for _ in reader) == 400
    assert peak() < 8 * MAX_LINE_BYTES


def test_reading_keeps_nothing_of_what_was_read(tmp_path: Path, peak: Callable[[], int]) -> None:
    noisy = [
        TokenBatch(
            START_NS + i * MS, "graph", i, 0, tuple(Token(j, j + i, 2 * j + i + 1) for j in range(1, 2))
        )
        for i in range(20_000)
    ]
    path = record(tmp_path / "run.jsonl", noisy)
    del noisy
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]

    with RecordingReader(path) as reader:
        assert sum(1 for _ in reader) == 20_000
    assert path.stat().st_size > 1_500_000
    assert peak() - before < 1_000_000


def test_the_index_counts_real_switches_only(tmp_path: Path) -> None:
    found = read_index(record(tmp_path / "run.jsonl", story(rounds=4)))

    assert len(found.switches_ns) == 3
    assert found.start_ns < found.switches_ns[0] < found.switches_ns[-1] < found.end_ns


def test_ready_events_pass_whatever_their_models_are_called(tmp_path: Path) -> None:
    odd = msgspec.structs.replace(READY, model="../../\x1b[31m<script>")

    [event] = read(write(tmp_path, encode(HEADER, odd)))

    assert isinstance(event, EngineReady)
    assert event.model == odd.model
