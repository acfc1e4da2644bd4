"""The diagnosis as text of at most 80 columns."""

from collections.abc import Sequence
from itertools import groupby

from idlegap.core.doctor.diagnosis import Diagnosis, Finding
from idlegap.tui.tables.layout import NARROW, paragraph

_NAME_WIDTH = 30


def doctor_text(diagnosis: Diagnosis) -> str:
    """One line for each thing that works; what does not, by its reason and what would help."""
    if diagnosis.gpu_decode:
        lines = ["Decoding on the GPU is possible here."]
    else:
        lines = paragraph(f"Decoding on a GPU is NOT possible here: {diagnosis.reason}.", NARROW)
    for section in diagnosis.sections:
        lines += ["", section.name]
        for finding in section.findings:
            if finding.available:
                lines += paragraph(finding.text, NARROW, first=f"  yes  {finding.name:<{_NAME_WIDTH}}")
        absent = sorted((f for f in section.findings if not f.available), key=lambda finding: finding.text)
        for _, alike in groupby(absent, key=lambda finding: finding.text):
            lines += _absent(list(alike))
    return "\n".join(lines) + "\n"


def _absent(findings: Sequence[Finding]) -> list[str]:
    """What is missing for one and the same reason."""
    names = ", ".join(finding.name for finding in findings)
    return [
        *paragraph(names, NARROW, first="  no   "),
        *paragraph(findings[0].text, NARROW, first="         why    "),
        *paragraph(findings[0].remedy, NARROW, first="         needs  "),
    ]
