"""A recording as one page to send around: what machine, what it did, and why tokens were slow.

The page needs no network and no script; its charts are drawn with matplotlib (the extra
``report``), which is loaded only when a report is written.
"""

from pathlib import Path

from idlegap.core.report.gather import gather

__all__ = ["ReportError", "report_page"]


class ReportError(ValueError):
    """The report cannot be made; the message says why and what would help."""


def report_page(recording: Path) -> bytes:
    """The report on `recording` as HTML in UTF-8.

    Raises:
        RecordingError: the recording cannot be read.
        ReportError: the extra is not installed.
    """
    try:
        from idlegap.core.report.page import render
    except ImportError as error:
        raise ReportError(f"a report needs {error.name}: pip install 'idlegap[report]'") from error
    return render(gather(recording)).encode()
