"""A recording as one page to send around: what machine, what it did, and why tokens were slow.

The page needs no network and no script; its charts are drawn with matplotlib (the extra
``report``), which is loaded only when a report is written.
"""

from pathlib import Path

from core.report.gather import gather

__all__ = ["ReportError", "write_report"]


class ReportError(ValueError):
    """The report cannot be written; the message says why and what would help."""


def write_report(recording: Path, path: Path) -> None:
    """Write the report on `recording` as HTML to `path`; an older one there is replaced.

    Raises:
        RecordingError: the recording cannot be read.
        ReportError: the extra is not installed, or `path` cannot be written.
    """
    try:
        from core.report.page import render
    except ImportError as error:
        raise ReportError(f"a report needs {error.name}: pip install 'idlegap[report]'") from error
    page = render(gather(recording))
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{path}: cannot be written: {error.strerror}") from error
