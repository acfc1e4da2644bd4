"""Whatever bytes a file holds: a clear refusal, or events that can be analysed and shown."""

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idlegap.core.phrasing.sentence import limiting_sentence
from idlegap.core.protocol.events import AnyEvent, Notice
from idlegap.core.protocol.quantities import MOST
from idlegap.core.recording import RecordingError
from idlegap.core.sources.recording import Replay
from tests.core.recording.stories import HEADER, START_NS, FakeClock, story

FIRST = msgspec.json.encode(HEADER)
LINES = [msgspec.json.encode(event) for event in story(rounds=2, tokens=48)]


def outcome(content: bytes) -> str:
    """Play it all and draw it, as a screen would: "played" or why not."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        path.write_bytes(content)
        try:
            replay = Replay(path, clock=FakeClock())
        except RecordingError as error:
            return str(error)
        replay.source.seek(replay.source.index.length_ns)
        snapshot = replay.snapshot(0)
        assert replay.source.ended
        assert limiting_sentence(snapshot)
        replay.close()
        return "played"


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_refused(content: bytes) -> None:
    problem = outcome(content)

    assert problem != "played"
    assert problem.isprintable()


@given(st.binary(max_size=200), st.integers(0, len(LINES)))
def test_arbitrary_bytes_between_good_lines_are_refused(junk: bytes, at: int) -> None:
    line = junk.replace(b"\n", b"")

    problem = outcome(b"\n".join([FIRST, *LINES[:at], line, *LINES[at:], b""]))

    assert f"line {at + 2}: " in problem


@settings(max_examples=200, deadline=None)
@given(st.data(), st.booleans())
def test_a_few_changed_bytes_never_break_more_than_the_reading(data: st.DataObject, packed: bool) -> None:
    content = bytearray(b"\n".join([FIRST, *LINES, b""]))
    if packed:
        content = bytearray(gzip.compress(bytes(content), mtime=0))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))

    outcome(bytes(content))


NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, -1, 2**31, 2**63 - 1, 2**63, 1e308, 5e-324, 0.5]),
    st.floats(allow_nan=False, allow_infinity=False),
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_arbitrary_figures_never_break_more_than_the_reading(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(LINES) - 1))
    event = msgspec.json.decode(LINES[at])
    numeric = sorted(name for name, value in event.items() if isinstance(value, (int, float)))
    event[data.draw(st.sampled_from(numeric))] = data.draw(NUMBERS)

    outcome(b"\n".join([FIRST, *LINES[:at], msgspec.json.encode(event), *LINES[at + 1 :], b""]))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, len(LINES) - 1), max_size=60))
def test_good_lines_in_any_order_are_played_or_refused_for_their_times(order: list[int]) -> None:
    problem = outcome(b"\n".join([FIRST, *(LINES[i] for i in order), b""]))

    assert problem == "played" or "time goes back" in problem


@pytest.mark.parametrize("t_ns", [MOST, MOST - 1])
def test_an_event_at_the_last_moment_of_the_clock_is_played(t_ns: int) -> None:
    late = msgspec.json.encode(Notice(t_ns, "late"))

    assert outcome(b"\n".join([FIRST, *LINES, late, b""])) == "played"


def test_the_story_itself_is_played() -> None:
    assert outcome(b"\n".join([FIRST, *LINES, b""])) == "played"


@pytest.mark.parametrize("line", LINES[:12])
def test_the_lines_of_the_story_are_events(line: bytes) -> None:
    assert msgspec.json.decode(line, type=AnyEvent).t_ns >= START_NS
