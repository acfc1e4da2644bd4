"""A comparison as text: the table, what limits whom, the differences, and the plot."""

from collections.abc import Callable, Sequence

from idlegap.core.compare.differences import Difference, differences, inversions
from idlegap.core.compare.machines import CONTENDED, Machine, ceiling_slope
from idlegap.core.text.units import NA, US, percent, rate, shown, tenths, us
from idlegap.tui.tables.compare_words import difference_words, inversion_words, limit_reason, limit_words
from idlegap.tui.tables.layout import NARROW, paragraph, table
from idlegap.tui.tables.scatter import LINE_MARK, Point, scatter

THREAD = "+"
TWO_SPEEDS = "="
NAME_WIDTHS = (40, 24, 18, 14, 11, 8)
"""Longest name of a GPU or CPU, tried in turn; what is cut ends in a tilde."""

HEAD_ABOVE = ["", "", "host", "GB/s", "GB/s", "eager", "graph", "MBU", "GPU", f"{US} per", ""]
HEAD = ["", "GPU", "CPU", "spec", "copy", "tok/s", "tok/s", "%", "idle", "launch", "limit"]
GRAPH_MARKS = "abcdefghijklmnopqrstuvwxyz"


def compare_text(machines: Sequence[Machine], width: int = NARROW) -> str:
    """All of it, in lines of at most `width` (not less than 80) characters."""
    width = max(width, NARROW)
    lines = [*_table(machines, width), *_sources(machines, width), "", "what limits whom in eager decode:"]
    for number, machine in enumerate(machines, 1):
        lines += paragraph(f"{machine.gpu}: {limit_reason(machine)}.", width, first=f"{number:>2}  ")
    for found in inversions(machines):
        lines += ["", *paragraph(inversion_words(found), width)]
    lines += _differences(differences(machines), width)
    lines += _plot(machines, width)
    return "\n".join(lines) + "\n"


def points(machines: Sequence[Machine]) -> list[tuple[float, float, str]]:
    """Specified bandwidth in GB/s, tok/s and mark of every rate: digits for eager decode, letters
    for graphs."""
    found = []
    for number, machine in enumerate(machines):
        if machine.spec_bytes_per_s is None:
            continue
        for speed, mark in (
            (machine.eager_rate, str((number + 1) % 10)),
            (machine.graph_rate, GRAPH_MARKS[number % len(GRAPH_MARKS)]),
        ):
            if speed is not None:
                found.append((machine.spec_bytes_per_s / 1e9, speed, mark))
    return found


def _table(machines: Sequence[Machine], width: int) -> list[str]:
    """The table with names as long as the width allows."""
    lines: list[str] = []
    for longest in NAME_WIDTHS:
        rows = [HEAD_ABOVE, HEAD, *(_row(n, machine, longest) for n, machine in enumerate(machines, 1))]
        for gap in (2, 1):
            lines = table(rows, left=3, gap=gap)
            if max(map(len, lines)) <= width:
                return lines
    return lines


def _row(number: int, machine: Machine, longest: int) -> list[str]:
    return [
        f"{number}{_marks(machine)}",
        _cut(machine.gpu, longest),
        _cut(machine.cpu, longest),
        _gigabytes(machine.spec_bytes_per_s),
        _gigabytes(machine.copy_bytes_per_s),
        shown(machine.eager_rate, rate),
        shown(machine.graph_rate, rate),
        shown(machine.mbu_spec, lambda share: tenths(share).removesuffix(" %")),
        shown(machine.idle_share, percent),
        shown(machine.dispatch_per_kernel_ns, us),
        limit_words(machine),
    ]


def _marks(machine: Machine) -> str:
    """The marks of all footnotes that a row has."""
    noted = (
        ("*", machine.source),
        (CONTENDED, machine.contended),
        (THREAD, machine.thread),
        (TWO_SPEEDS, machine.two_speeds),
    )
    return "".join(mark for mark, note in noted if note)


def _cut(name: str, longest: int) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}~"


def _sources(machines: Sequence[Machine], width: int) -> list[str]:
    """Where rows come from that were not measured here, which are in doubt, how unusual decode
    threads were run, and what no row can show."""
    lines: list[str] = []
    for source in dict.fromkeys(m.source for m in machines if m.source):
        lines += paragraph(f"*  published, not measured by idlegap: {source}", width)
    for number, machine in enumerate(machines, 1):
        if machine.contended:
            lines += paragraph(f"{CONTENDED}  row {number} CONTENDED: {machine.contended}", width)
    for number, machine in enumerate(machines, 1):
        if machine.thread:
            lines += paragraph(f"{THREAD}  row {number} decoded with {machine.thread}", width)
    for number, machine in enumerate(machines, 1):
        if machine.two_speeds:
            lines += paragraph(f"{TWO_SPEEDS}  row {number}: {'; '.join(machine.two_speeds.values())}", width)
    static = [str(n) for n, m in enumerate(machines, 1) if m.eager_mode == "eager-static"]
    middle = "median token (published: mean)" if any(m.source for m in machines) else "median token"
    lines += paragraph(
        f"tok/s: over all counted tokens; MBU: at the eager rate; GPU idle and {US} per launch: of the "
        f"{middle} with the static cache",
        width,
    )
    if static:
        lines += paragraph(f"eager: the mode eager-static in row {', '.join(static)}", width)
    if any(m.limit.inferred for m in machines):
        note = "limit: with a question mark inferred, from idle time or the bandwidth in use alone"
        lines += paragraph(note, width)
    return lines


def _differences(found: Sequence[Difference], width: int) -> list[str]:
    if not found:
        return []
    head = f"against 1 ({found[0].reference.gpu}), tok/s in the same mode, by runs:"
    lines = ["", *paragraph(head, width)]
    for number, difference in enumerate(found, 2):
        text = difference_words(difference)
        if difference.remark:
            text += f" ({difference.remark})"
        if difference.unstated:
            text += f" (not stated, may differ: {', '.join(difference.unstated)})"
        if difference.ratios:
            text += _rows(difference, number, "contended", lambda m: bool(m.contended))
            text += _rows(difference, number, "with two speeds", _mixed_in(difference))
            text += _rows(difference, number, "with --wait block", lambda m: m.wait == "block")
        text += "".join(f"; {reason}" for reason in difference.reasons)
        ours, theirs = difference.machine.software, difference.reference.software
        if ours != theirs:
            text += f"; {ours or 'software not stated'}, not {theirs or 'known for row 1'}"
        lines += paragraph(f"{difference.machine.gpu}: {text}", width, first=f"{number:>2}  ")
    return lines


def _mixed_in(difference: Difference) -> Callable[[Machine], bool]:
    """Whether a machine decoded at two speeds in a mode that is compared."""
    return lambda machine: bool(difference.ratios.keys() & machine.two_speeds.keys())


def _rows(difference: Difference, number: int, what: str, holds: Callable[[Machine], bool]) -> str:
    """Of which of both rows `what` holds, in brackets; "" for none."""
    found = [str(n) for n, m in ((1, difference.reference), (number, difference.machine)) if holds(m)]
    return f" (row{'s' * (len(found) > 1)} {' and '.join(found)} {what})" if found else ""


def _plot(machines: Sequence[Machine], width: int) -> list[str]:
    drawn = [Point(x, y, mark) for x, y, mark in points(machines)]
    absent = [str(n) for n, machine in enumerate(machines, 1) if machine.spec_bytes_per_s is None]
    left_out = f"not in the plot, without a specified bandwidth: row {', '.join(absent)}"
    note = paragraph(left_out, width) if absent else []
    if not drawn:
        return ["", *note] if note else []
    slope = ceiling_slope(machines)
    lines = scatter(drawn, x_label="GB/s specified", y_label="tok/s", slope=slope, width=min(width, NARROW))
    marks = "digits: eager decode of that row"
    if any(point.mark.isalpha() for point in drawn):
        marks += "; letters: graphs (a is row 1)"
    if slope is not None:
        marks += f"; {LINE_MARK * 3} all bandwidth streaming weights"
    return ["", *lines, *paragraph(marks, width), *note]


def _gigabytes(bytes_per_s: float | None) -> str:
    return NA if bytes_per_s is None else f"{bytes_per_s / 1e9:,.0f}"
