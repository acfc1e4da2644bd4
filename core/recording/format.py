"""What the lines of a recording are: one header, then events, then one end marker.

Each line is one JSON object with a ``type``. Events are those of `core.protocol.events`; the other
types are here. See docs/recording.md for the rules of versions.
"""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from idlegap.core.protocol.events import SCHEMA_VERSION, AnyEvent
from idlegap.core.protocol.quantities import Count, Ns
from idlegap.core.protocol.settings import LEAST_BYTES_PER_S, MOST_BYTES_PER_S
from idlegap.core.text.sanitize import printable, shorten

MAX_LINE_BYTES = 4 << 20
"""A thousand times the longest line of real recordings (a profile window of 4 KB)."""

LONGEST_PROBLEM = 400
"""Characters of an error message: a hostile file may quote itself in it."""

LATE_NS = 10_000_000_000
"""Lines may be this much earlier than the newest before them: an engine's batches wait for a
frame, and for seconds while a compilation holds the GIL. Anything earlier needs a `Late` line."""

EndReason = Literal["stopped", "size limit"]


class RecordingError(ValueError):
    """A recording cannot be written or read. `line` counts from 1 and is None where the file
    as a whole is at fault; the message names both."""

    def __init__(self, path: Path, problem: str, line: int | None = None) -> None:
        where = f"{path}, line {line:,}" if line is not None else str(path)
        super().__init__(shorten(printable(f"{where}: {problem}"), LONGEST_PROBLEM))
        self.path, self.line, self.problem = path, line, problem


class Header(msgspec.Struct, frozen=True, tag="recording", tag_field="type", forbid_unknown_fields=True):
    """The first line: how to read the rest, and what the session knew beside its events.

    Attributes:
        schema: version of the format, `core.protocol.events.SCHEMA_VERSION` of the writer.
        idlegap: version of the program that wrote it.
        created: wall-clock time of the start, ISO 8601 in UTC.
        host: name of the machine.
        started_ns: CLOCK_MONOTONIC at the start. Events before it say what held already.
        in_process: the engine shared the monitor's process, so the times include the screen.
        spec_bytes_per_s: the user's own figure for the memory bandwidth, if any.
    """

    schema: Count
    idlegap: str
    created: str
    host: str
    started_ns: Ns
    in_process: bool = False
    spec_bytes_per_s: Annotated[float, Meta(ge=LEAST_BYTES_PER_S, le=MOST_BYTES_PER_S)] | None = None


class Late(msgspec.Struct, frozen=True, tag="late", tag_field="type", forbid_unknown_fields=True):
    """The next line was said at `t_ns`, long before those above it: the monitor was stopped or
    suspended, and has only now read what the engine had said meanwhile."""

    t_ns: Ns


class End(msgspec.Struct, frozen=True, tag="end", tag_field="type", forbid_unknown_fields=True):
    """The last line of a recording that was not cut off.

    `events` have been written; `lost` more could not be, because the disk was too slow.
    """

    t_ns: Ns
    reason: EndReason
    events: Count
    lost: Count = 0


Line = AnyEvent | Late | End
"""Every line but the first."""


class _Claim(msgspec.Struct):
    """As much of a header as any version must have, whatever else stands beside it."""

    type: str
    schema: Annotated[int, Meta(ge=1)]
    idlegap: str = "an unknown version"


def decode_header(line: bytes, path: Path) -> Header:
    """Read the first line.

    Raises:
        RecordingError: for anything that is no header of a version that can be read here.
    """
    try:
        claim = msgspec.json.decode(line, type=_Claim)
    except DECODE_ERRORS as error:
        raise RecordingError(path, "not an idlegap recording", 1) from error
    if claim.type != "recording":
        raise RecordingError(path, "not an idlegap recording: its header is missing", 1)
    if claim.schema > SCHEMA_VERSION:
        raise RecordingError(
            path,
            f"written by idlegap {claim.idlegap} in format {claim.schema}; "
            f"this one reads up to format {SCHEMA_VERSION}: a newer idlegap is needed",
            1,
        )
    try:
        return msgspec.json.decode(line, type=Header)
    except DECODE_ERRORS as error:
        raise RecordingError(path, f"damaged header: {error}", 1) from error


DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for text that is no JSON, no UTF-8, of the wrong form, or too deep."""


def own_version() -> str:
    """Version of the installed distribution; ``unknown`` in a bare source tree."""
    # It brings a mail parser along, which only a recording that is made has a use for.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("idlegap")
    except PackageNotFoundError:
        return "unknown"
