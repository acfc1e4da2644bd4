"""Result files: one JSON document with its kind, its schema version and a checksum.

The checksum covers the content, not its spelling: a file may be reformatted but not edited. It guards
against accidents, not against forgery. Published figures are typed in by hand and have none.
"""

import hashlib
import os
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from idlegap.core.bench.schema import BenchResult, PublishedFigures
from idlegap.core.check.check import CheckResult
from idlegap.core.system.files import FileError, open_input, whole_file

SCHEMA_VERSION = 2
"""Raised whenever a reader of the version before could not read a new file. 2: reasons are codes with
fields; they were words in 1."""

BENCH = "idlegap-bench"
CHECK = "idlegap-check"
PUBLISHED = "idlegap-published"

MOST_BYTES = 512_000_000
"""A token takes some 40 bytes, so this is a bench of twelve million; reading it takes several times as
much memory, and what is larger was most likely never a result."""

Result = BenchResult | CheckResult | PublishedFigures
"""Whatever can be compared."""

_TYPES: dict[str, type[Result]] = {BENCH: BenchResult, CHECK: CheckResult, PUBLISHED: PublishedFigures}

T = TypeVar("T")


class ResultError(FileError):
    """A file that cannot be used as a result; the message is one line and names the file."""


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The outermost object of a result file; `result` is decoded once its kind is known."""

    kind: str
    schema: int
    result: msgspec.Raw
    sha256: str = ""


class Head(msgspec.Struct, frozen=True):
    """The part of the envelope that stays the same in all versions."""

    kind: str
    schema: Annotated[int, msgspec.Meta(ge=1)]


def encode(kind: str, result: msgspec.Struct) -> bytes:
    """The file's content for `result`, one line of JSON."""
    body = msgspec.json.encode(result)
    return msgspec.json.encode(Envelope(kind, SCHEMA_VERSION, msgspec.Raw(body), _digest(body))) + b"\n"


def write(path: Path, kind: str, result: msgspec.Struct) -> None:
    """Write `result` to `path`, whole or not at all.

    Raises:
        FileError: the file cannot be written.
    """
    with whole_file(path) as out:
        out.write(encode(kind, result))


def read(path: Path) -> BenchResult | PublishedFigures:
    """The benchmark in `path`, be it a bench's, a check's or a publication's.

    Raises:
        ResultError: the file is missing, empty, too large, cut short, edited, from a newer version
            or no result at all.
    """
    return benchmark(read_whole(path))


def read_whole(path: Path) -> Result:
    """What `path` holds: of a check its card too, as it was judged then.

    Raises:
        ResultError: see `read`.
    """
    try:
        with open_input(path) as file:
            if os.fstat(file.fileno()).st_size > MOST_BYTES:
                raise ResultError(f"{path}: larger than {MOST_BYTES // 10**6} MB, which no result is")
            data = file.read()
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}") from error
    return decode(data, str(path))


def benchmark(result: Result) -> BenchResult | PublishedFigures:
    """The benchmark that `result` is, or was read from."""
    return result.bench if isinstance(result, CheckResult) else result


def decode(data: bytes, name: str) -> Result:
    """The result in `data`; `name` is what errors call it.

    Raises:
        ResultError: see `read`.
    """
    if not data.strip():
        raise ResultError(f"{name}: the file is empty")
    head = _parse(data, Head, name)
    if head.kind not in _TYPES:
        raise ResultError(f"{name}: {head.kind!r} is no kind of result that can be compared")
    if head.schema > SCHEMA_VERSION:
        raise ResultError(
            f"{name}: written by a newer idlegap (schema {head.schema}; this one reads up to "
            f"{SCHEMA_VERSION}): upgrade idlegap"
        )
    envelope = _parse(data, Envelope, name)
    body = bytes(envelope.result)
    result = _parse(body, _TYPES[head.kind], name)
    if head.kind != PUBLISHED and envelope.sha256 != _digest(body):
        raise ResultError(f"{name}: edited or damaged: its content does not match its checksum")
    return result


def _parse(data: bytes, kind: type[T], name: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise ResultError(f"{name}: not a result of idlegap, or edited: {error}") from error
    except msgspec.DecodeError as error:
        # Only a file that begins as JSON can have been cut short.
        cut = "truncated" in str(error) and data.lstrip()[:1] == b"{"
        what = "cut short: the JSON ends too early" if cut else f"not JSON: {error}"
        raise ResultError(f"{name}: {what}") from error
    except UnicodeDecodeError as error:
        raise ResultError(f"{name}: not JSON: not UTF-8 text") from error
    except RecursionError as error:
        raise ResultError(f"{name}: not a result of idlegap: nested too deeply") from error


def _digest(body: bytes) -> str:
    """SHA-256 of the content in one canonical spelling, whatever spaces and order it came with."""
    canonical = msgspec.json.encode(msgspec.json.decode(body), order="deterministic")
    return hashlib.sha256(canonical).hexdigest()
