"""Exports: every token is one row, in either format, with the same values."""

import csv
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import msgspec
import pytest

from idlegap.core.export.token_table import (
    COLUMNS,
    ROWS_PER_GROUP,
    export_csv,
    export_csv_file,
    export_parquet,
)
from idlegap.core.protocol.events import Token, TokenBatch
from idlegap.core.recording import RecordingError
from idlegap.core.system.files import FileError
from tests.core.recording.stories import MS, READY, REAL, START_NS, record, story
from tests.paths import ROOT


def read_csv(recording: Path) -> list[dict[str, str]]:
    out = StringIO(newline="")
    summary = export_csv(recording, out)
    rows = list(csv.DictReader(StringIO(out.getvalue())))
    assert summary.rows == len(rows)
    return rows


def test_every_token_is_a_row_with_what_it_belongs_to(tmp_path: Path) -> None:
    events = story()
    rows = read_csv(record(tmp_path / "run.jsonl", events))
    batches = [event for event in events if isinstance(event, TokenBatch)]

    assert len(rows) == sum(len(batch.tokens) for batch in batches)
    assert [row["excluded"] for row in rows[:9]] == ["warm-up"] * 8 + [""]
    assert [(row["round"], row["token"], row["mode"]) for row in rows[63:65]] == [
        ("1", "63", "eager-static"),
        ("2", "0", "graph"),
    ]
    row, token = rows[60], batches[7].tokens[4]
    assert row == {
        "engine": "1",
        "round": "1",
        "token": "60",
        "mode": "eager-static",
        "excluded": "",
        "sequences": "1",
        "prompt_tokens": "512",
        "start_ns": str(token.start_ns),
        "dispatched_ns": str(token.dispatched_ns),
        "done_ns": str(token.done_ns),
        "wall_ns": str(token.wall_ns),
        "dispatch_ns": str(token.dispatch_ns),
        "wait_ns": "40000",
        "cpu_ns": str(token.cpu_ns),
        "run_delay_ns": str(30 * MS),
        "preempted_switches": "1",
        "blocked_switches": "1",
    }


def test_columns_carry_their_units() -> None:
    without_unit = {"engine", "round", "token", "mode", "excluded", "sequences"}
    assert all(name.endswith(("_ns", "_tokens", "_switches")) for name in set(COLUMNS) - without_unit)


def test_what_is_not_known_is_an_empty_cell(tmp_path: Path) -> None:
    batch = TokenBatch(START_NS + 9, "graph", 1, 0, (Token(START_NS, START_NS + 1, START_NS + 9),))
    [row] = read_csv(record(tmp_path / "run.jsonl", [batch]))

    assert [name for name, cell in row.items() if cell == ""] == [
        "excluded",
        "sequences",
        "prompt_tokens",
        "cpu_ns",
        "run_delay_ns",
        "preempted_switches",
        "blocked_switches",
    ]
    assert row["engine"] == "0"


def test_another_shape_begins_another_engine(tmp_path: Path) -> None:
    batch = TokenBatch(START_NS + 9, "graph", 1, 0, (Token(START_NS, START_NS + 1, START_NS + 9),))
    ready = msgspec.structs.replace(READY, t_ns=START_NS)
    wider = msgspec.structs.replace(ready, batch=8)

    rows = read_csv(record(tmp_path / "run.jsonl", [ready, batch, wider, batch]))

    assert [(row["engine"], row["sequences"]) for row in rows] == [("1", "1"), ("2", "8")]


def test_a_cut_recording_gives_its_whole_rows_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(REAL.read_bytes()[:60_000])
    out = StringIO(newline="")

    summary = export_csv(path, out)

    assert 0 < summary.rows < 3749
    assert summary.ending.reason == "cut off"


def test_parquet_holds_the_same_values_as_csv(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    summary = export_parquet(REAL, tmp_path / "run.parquet")
    table = parquet.read_table(tmp_path / "run.parquet")
    rows = read_csv(REAL)

    assert summary.rows == table.num_rows == len(rows) == 3749
    assert tuple(table.column_names) == COLUMNS
    assert [{k: "" if v is None else str(v) for k, v in row.items()} for row in table.to_pylist()] == rows
    assert str(table.schema.field("wall_ns").type) == "int64"


def test_parquet_is_written_in_groups(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    token = Token(START_NS, START_NS + 1, START_NS + 2, 3)
    batch = TokenBatch(START_NS + 9, "graph", 1, 0, (token,))
    many = [batch] * (ROWS_PER_GROUP + 1)

    export_parquet(record(tmp_path / "run.jsonl", many), tmp_path / "run.parquet")

    metadata = parquet.read_metadata(tmp_path / "run.parquet")
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [ROWS_PER_GROUP, 1]


def test_an_empty_recording_is_an_empty_table(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = record(tmp_path / "run.jsonl", [])

    assert export_parquet(path, tmp_path / "run.parquet").rows == 0
    assert parquet.read_table(tmp_path / "run.parquet").num_rows == 0
    assert read_csv(path) == []


def test_a_failed_export_leaves_nothing_and_an_old_file_alone(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    bad, out = tmp_path / "bad.jsonl", tmp_path / "run.parquet"
    bad.write_bytes(record(tmp_path / "run.jsonl", story()).read_bytes() + b"garbage\n")

    with pytest.raises(RecordingError, match="goes on after its end marker"):
        export_parquet(bad, out)
    assert not out.exists()
    out.write_text("precious")
    for export in (export_parquet, export_csv_file):
        with pytest.raises(FileError, match=r"run\.parquet: cannot be written: it exists already"):
            export(REAL, out)
    assert out.read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir()} == {"bad.jsonl", "run.jsonl", "run.parquet"}


def test_a_recording_may_come_through_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", str(REAL), str(pipe)]) as writer:
        # `cp` opens it for writing first, so that reading does not find it without a writer.
        held = os.open(pipe, os.O_RDONLY)
        rows = read_csv(pipe)
        os.close(held)
    assert writer.returncode == 0
    assert len(rows) == 3749


def test_a_pipe_that_nobody_writes_into_is_empty_and_no_endless_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RecordingError, match="pipe: the file is empty"):
        read_csv(tmp_path / "pipe")


def test_without_pyarrow_the_message_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from pathlib import Path; from idlegap.core.export.token_table import ExportError, export_parquet\n"
        "try: export_parquet(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "except ExportError as error: print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, str(REAL), str(tmp_path / "out")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert result.stdout == "Parquet needs pyarrow: pip install 'idlegap[parquet]', or export CSV\n"
    assert not (tmp_path / "out").exists()


def test_exporting_and_replaying_load_nothing_heavy() -> None:
    heavy = ("torch", "textual", "pyarrow", "matplotlib", "prometheus_client", "numpy", "pynvml")
    script = (
        "import sys, idlegap.core.export.token_table, idlegap.core.sources.recording\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert result.stdout == "[]\n"
