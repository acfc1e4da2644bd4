"""Result files: what comes back, and one clear line for each way in which a file can be wrong."""

import json
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.bench.schema import BenchResult, Columns, Conditions, PublishedFigures, Run
from idlegap.core.check.card import Card, CardLine
from idlegap.core.check.check import CheckResult
from idlegap.core.check.predictions import Prediction, Predictions
from idlegap.core.protocol.reasons import Reason
from idlegap.core.results.store import (
    BENCH,
    CHECK,
    MOST_BYTES,
    SCHEMA_VERSION,
    ResultError,
    benchmark,
    decode,
    encode,
    read,
    write,
)
from idlegap.core.system.files import FileError
from tests.core.bench.results import arm, bench, run
from tests.paths import EXAMPLES

RECORDED = Path(__file__).parent / "data" / "bench-schema-1.json"


def refusal(data: bytes) -> str:
    with pytest.raises(ResultError) as caught:
        decode(data, "a.json")
    text = str(caught.value)
    assert text.startswith("a.json: ")
    assert "\n" not in text
    return text


# --- round trips ------------------------------------------------------------------


FIELDS = st.dictionaries(st.text(max_size=8), st.text(max_size=8) | st.integers(-(2**53), 2**53), max_size=2)
REASONS = st.recursive(
    st.builds(Reason, st.text(max_size=8), FIELDS),
    lambda cause: st.builds(Reason, st.text(max_size=8), FIELDS, cause),
    max_leaves=3,
)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    tokens = draw(st.integers(0, 12))
    column = st.lists(st.integers(0, 10**11), min_size=tokens, max_size=tokens).map(tuple)
    maybe = st.none() | column
    made = Columns(
        start_ns=draw(column),
        wall_ns=tuple(value + 1 for value in draw(column)),
        dispatch_ns=draw(column),
        cpu_ns=draw(maybe),
        run_delay_ns=draw(maybe),
        excluded=tuple(draw(st.sets(st.integers(0, tokens - 1)))) if tokens else (),
    )
    conditions = Conditions(
        others_cores=draw(st.none() | st.floats(0, 200)),
        sm_mhz=draw(st.none() | st.tuples(*[st.integers(0, 3000)] * 3)),
        missing=draw(st.dictionaries(st.text(max_size=8), st.text(max_size=8) | REASONS, max_size=3)),
    )
    return run(draw(st.integers(0, 9)), made, conditions=conditions, complete=draw(st.booleans()))


@given(st.lists(runs(), max_size=4), st.text(max_size=20), st.none() | st.floats(1, 1e13))
def test_a_result_comes_back_as_it_was(made: list[Run], reason: str, spec: float | None) -> None:
    result = bench(arm("eager", runs=tuple(made)), complete=not reason, reason=reason, spec_bandwidth=spec)
    assert decode(encode(BENCH, result), "a.json") == result


def test_a_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write(path, BENCH, bench())
    assert read(path) == bench()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_a_checks_file_is_read_as_the_benchmark_within_it() -> None:
    predictions = Predictions(
        (Prediction("this machine", 22.4e6, 4.3e6),), measured_graph_ns=4_220_000, error=0.02
    )
    check = CheckResult(Card("good", (CardLine("GPU", "NVIDIA H200"),)), predictions, bench())
    assert benchmark(decode(encode(CHECK, check), "a.json")) == bench()


def test_a_file_may_be_reformatted() -> None:
    document = json.loads(encode(BENCH, bench()))
    assert decode(json.dumps(document, indent=3, sort_keys=True).encode(), "a.json") == bench()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_the_published_examples_are_readable_and_name_their_source(path: Path) -> None:
    figures = read(path)
    assert isinstance(figures, PublishedFigures)
    assert "Moving to a faster card made decoding slower" in figures.source


def test_a_file_of_the_first_schema_stays_readable() -> None:
    result = read(RECORDED)
    assert isinstance(result, BenchResult)
    assert [a.label for a in result.arms] == ["eager-static", "graph"]
    assert result.arms[1].refused == "needs CUDA"
    assert len(result.arms[0].counted) == 2


# --- what is refused ----------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"\n", b"   \n\t"])
def test_an_empty_file_is_called_empty(data: bytes) -> None:
    assert refusal(data) == "a.json: the file is empty"


@pytest.mark.parametrize("share", [0.01, 0.3, 0.999])
def test_a_file_that_was_cut_short_is_called_that(share: float) -> None:
    data = encode(BENCH, bench())
    assert "cut short" in refusal(data[: int(len(data) * share)])


@given(st.integers(2, 500))
def test_wherever_a_file_is_cut_it_is_refused(length: int) -> None:
    assert "a.json" in refusal(encode(BENCH, bench())[:length])


@pytest.mark.parametrize("data", [b"tok/s 238\n", b"<html>", b"\xff\xfe\x00", b"{]", b"\x89PNG\r\n"])
def test_a_file_of_another_kind_is_not_json(data: bytes) -> None:
    assert "not JSON" in refusal(data)


@given(st.binary(min_size=1, max_size=200))
def test_any_bytes_give_one_line(data: bytes) -> None:
    refusal(data)


@pytest.mark.parametrize("data", [b"[]", b"3", b'"text"', b"null", b"{}", b'{"kind": 3, "schema": 1}'])
def test_json_of_another_kind_is_no_result(data: bytes) -> None:
    assert "not a result of idlegap" in refusal(data)


def test_json_nested_without_end_is_refused() -> None:
    head, _ = encode(BENCH, bench()).split(b'"result":')
    assert "nested too deeply" in refusal(head + b'"result":' + b"[" * 200_000)


def changed(**changes: object) -> bytes:
    return json.dumps({**json.loads(encode(BENCH, bench())), **changes}).encode()


def test_a_newer_schema_asks_for_an_upgrade() -> None:
    text = refusal(changed(schema=SCHEMA_VERSION + 1, something="new"))
    assert f"newer idlegap (schema {SCHEMA_VERSION + 1}" in text
    assert "upgrade" in text


def test_a_schema_that_never_was_and_a_kind_that_never_was_are_refused() -> None:
    assert "Expected `int` >= 1 - at `$.schema`" in refusal(changed(schema=0))
    assert "'idlegap-song' is no kind of result" in refusal(changed(kind="idlegap-song"))


def test_an_edited_figure_is_noticed() -> None:
    document = json.loads(encode(BENCH, bench()))
    document["result"]["arms"][0]["runs"][1]["tokens"]["wall_ns"][3] += 1
    assert "edited or damaged" in refusal(json.dumps(document).encode())


def test_an_edited_type_or_length_names_the_place() -> None:
    document = json.loads(encode(BENCH, bench()))
    tokens = document["result"]["arms"][0]["runs"][1]["tokens"]
    tokens["wall_ns"][3] = "fast"
    assert "$.arms[0].runs[1].tokens.wall_ns[3]" in refusal(json.dumps(document).encode())
    del tokens["wall_ns"][3]
    text = refusal(json.dumps(document).encode())
    assert "start_ns has 20 entries, wall_ns 19" in text
    assert "$.arms[0].runs[1].tokens" in text


def test_a_missing_checksum_counts_as_edited() -> None:
    document = json.loads(encode(BENCH, bench()))
    del document["sha256"]
    assert "checksum" in refusal(json.dumps(document).encode())


def test_an_unknown_field_is_refused_rather_than_dropped() -> None:
    document = json.loads(encode(BENCH, bench()))
    document["result"]["mood"] = "sunny"
    assert "mood" in refusal(json.dumps(document).encode())


def test_files_that_cannot_be_opened_say_why(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="cannot be read: No such file"):
        read(tmp_path / "none.json")
    with pytest.raises(ResultError, match="cannot be read: Is a directory"):
        read(tmp_path)
    with pytest.raises(FileError, match=r"cannot be written: there is no folder .*/none"):
        write(tmp_path / "none" / "a.json", BENCH, bench())
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(ResultError, match=r"pipe\.json: cannot be read: not a regular file: copy it"):
        read(tmp_path / "pipe.json")


def test_a_file_that_no_memory_would_hold_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    for size, told in ((MOST_BYTES + 1, "larger than 512 MB"), (1, "not JSON")):
        # Sparse: it takes no room on the disk.
        path.touch()
        os.truncate(path, size)
        with pytest.raises(ResultError, match=told):
            read(path)


def test_samples_that_cannot_be_are_refused() -> None:
    for impossible, told in (
        ({"wall_ns": [0]}, r"`int` >= 1 - at `\$\.wall_ns\[0\]`"),
        ({"dispatch_ns": [-1]}, r"`int` >= 0 - at `\$\.dispatch_ns\[0\]`"),
        ({"excluded": [-1]}, r"`int` >= 0 - at `\$\.excluded\[0\]`"),
    ):
        with pytest.raises(msgspec.ValidationError, match=told):
            msgspec.convert({"start_ns": [0], "wall_ns": [5], "dispatch_ns": [1]} | impossible, Columns)
    with pytest.raises(ValueError, match="outside"):
        Columns((0,), (5,), (0,), excluded=(1,))
    with pytest.raises(ValueError, match="dispatch_ns has 2"):
        Columns((0,), (5,), (0, 1))


def test_the_envelope_can_be_told_from_its_first_fields() -> None:
    head = msgspec.json.decode(encode(BENCH, bench()))
    assert list(head)[:2] == ["kind", "schema"]
