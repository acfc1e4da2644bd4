"""Recordings as tables: one row per token, with its round, mode and why it is left out, if it is.

Units stand in the column names. A reading that is missing is an empty cell in CSV and null in
Parquet. Both are written as the recording is read, in bounded memory.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TextIO

from idlegap.core.protocol.events import EngineReady, TokenBatch
from idlegap.core.recording import Ending, RecordingReader
from idlegap.core.system.files import FileError, whole_file

ROWS_PER_GROUP = 65_536
"""Rows of one Parquet row group: a few MB in memory."""


class ExportError(FileError):
    """The table cannot be written; the message says why and what would help."""


COLUMNS = (
    *("engine", "round", "token", "mode", "excluded", "sequences", "prompt_tokens"),
    *("start_ns", "dispatched_ns", "done_ns", "wall_ns", "dispatch_ns", "wait_ns"),
    *("cpu_ns", "run_delay_ns", "preempted_switches", "blocked_switches"),
)
"""Of a row. Times of day are CLOCK_MONOTONIC of the recorded machine.

`engine` counts engine starts and changes of shape, from 1: figures on either side of one do
not compare. `excluded` is empty for a counted token. Those from `start_ns` on are `_FIGURES` of
`core.protocol.events.Token`.
"""

_FIGURES = attrgetter(
    *("start_ns", "dispatched_ns", "done_ns", "wall_ns", "dispatch_ns", "wait_ns"),
    *("cpu_ns", "run_delay_ns", "preempted", "blocked"),
)
_TEXT = ("mode", "excluded")

Row = tuple[int | str | None, ...]


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """How many rows were written, and how the recording ends."""

    rows: int
    ending: Ending


def token_rows(reader: RecordingReader) -> Iterator[Row]:
    """The rows of an open recording, in the order of its tokens.

    Raises:
        RecordingError: it is damaged; the rows before were good.
    """
    engine = 0
    shape: tuple[int | None, int | None] = (None, None)
    for event in reader:
        if isinstance(event, EngineReady):
            engine, shape = engine + 1, (event.batch, event.prompt_tokens)
        elif isinstance(event, TokenBatch):
            for index, token in enumerate(event.tokens, event.first):
                yield (engine, event.round, index, event.mode, event.excluded or "", *shape, *_FIGURES(token))


def export_csv(recording: Path, out: TextIO) -> ExportSummary:
    """Write the tokens of `recording` to `out` as CSV with a header line (RFC 4180, but lines
    end in a newline alone). `out` should be opened with ``newline=""``.

    Raises:
        RecordingError: the recording cannot be read.
        OSError: `out` cannot be written.
    """
    with RecordingReader(recording, pipe=True) as reader:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        rows = 0
        for row in token_rows(reader):
            writer.writerow(row)
            rows += 1
        return ExportSummary(rows, reader.ending)


def export_csv_file(recording: Path, path: Path) -> ExportSummary:
    """`export_csv` into a new file at `path`, which must not exist; nothing is left there if it fails.

    Raises:
        FileError: `path` cannot be written.
        RecordingError: the recording cannot be read.
    """
    with whole_file(path, new=True) as out, TextIOWrapper(out, encoding="utf-8", newline="") as text:
        return export_csv(recording, text)


def export_parquet(recording: Path, path: Path) -> ExportSummary:
    """Write the tokens of `recording` to a new Parquet file at `path`, which must not exist;
    nothing is left there if it fails.

    Raises:
        ExportError: pyarrow is not installed.
        FileError: `path` cannot be written.
        RecordingError: the recording cannot be read.
    """
    try:
        # An extra, and 80 ms.
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ExportError("Parquet needs pyarrow: pip install 'idlegap[parquet]', or export CSV") from error
    schema = pyarrow.schema(
        [(name, pyarrow.string() if name in _TEXT else pyarrow.int64()) for name in COLUMNS]
    )
    with (
        RecordingReader(recording, pipe=True) as reader,
        whole_file(path, new=True) as out,
        parquet.ParquetWriter(out, schema) as writer,
    ):
        rows = 0
        for group in _groups(token_rows(reader)):
            columns = zip(*group, strict=True)
            arrays = [pyarrow.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            rows += len(group)
        return ExportSummary(rows, reader.ending)


def _groups(rows: Iterator[Row]) -> Iterator[list[Row]]:
    for first in rows:
        yield [first, *islice(rows, ROWS_PER_GROUP - 1)]
