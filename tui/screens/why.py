"""The page on slow tokens: which they were, what took the time, and what would help."""

from idlegap.core.measure.typical_token import LEAST_TOKENS, SLOW_MADS, SLOW_SHARE
from idlegap.core.phrasing.contention import advice, contention_words
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.slow_tokens.causes import CauseTotal
from idlegap.core.slow_tokens.explain import SlowToken
from idlegap.core.text import units
from idlegap.core.text.sanitize import shorten
from idlegap.tui.widgets.cause_marks import MARKS, MEANINGS, mark
from idlegap.tui.widgets.line import Line, title, wrapped
from idlegap.tui.widgets.palette import BAD, DIM, GOOD, HOST, SENTENCE, STRONG, TEXT, WARN
from idlegap.tui.widgets.readings import NOTHING_DECODES, cpu_work, current, own_neighbours

_SHARE_AT = 17
_BAR_CELLS = 16
_READABLE = 110
_SLOW_ROWS = 3


def why_text(snap: Snapshot, width: int) -> list[Line]:
    """The rows of the page."""
    room = min(width, _READABLE)
    lines = [Line(), title("now", "", width)]
    if snap.contention is not None:
        lines += wrapped(f"CONTENDED: {contention_words(snap.contention)}", room, 2, "   ", WARN)
    elif snap.halted:
        lines.append(Line().add(f"   {NOTHING_DECODES}", DIM))
    elif snap.cpu_work is not None and snap.cpu_work.slow:
        reason = "it does not wait for a CPU, and no counter here says why"
        lines += wrapped(f"the host is slow: CPU time {cpu_work(snap)}; {reason}", room, 2, "   ", WARN)
    else:
        lines.append(Line().add("   nothing holds the decode thread back", GOOD))
    if snap.neighbours:
        lines.append(Line().add(f"   {own_neighbours(snap.neighbours)}: keys n and N", TEXT))
    lines += wrapped(advice(snap), room, 3, " ► ", SENTENCE)
    lines += [Line(), title("what slow tokens lost", since_words(snap), width)]
    lines += share_rows(snap.slow_shares, width)
    lines += wrapped(threshold_words(snap), room, 3, "   ", DIM)
    lines += [Line(), title("slow tokens", "by round/token, newest first, explained within a second", width)]
    lines += [row for slow in snap.slow for row in slow_rows(slow, when_words(slow, snap), room)]
    if not snap.slow:
        lines.append(Line().add("   none so far", DIM))
    lines += [Line(), title("causes", "the same letters mark the strip", width)]
    for cause, letter in MARKS.items():
        lines.append(
            Line().add(f"   {letter} ", BAD).add(cause, TEXT).to(_SHARE_AT + 1).add(MEANINGS[cause], DIM)
        )
    return lines


def since_words(snap: Snapshot) -> str:
    """The span that the shares cover."""
    return f"since {snap.mode} was entered" if snap.mode is not None else ""


def threshold_words(snap: Snapshot) -> str:
    """The time above which a token counts as slow, and its formula."""
    rule = (
        f"the mode's median plus the larger of {SLOW_MADS} MAD and {SLOW_SHARE * 100:.0f} % of the median; "
        "MAD is the median distance from the median"
    )
    if snap.threshold_ns is None:
        return f"slow: {units.na(f'needs {LEAST_TOKENS} counted tokens')}; then above {rule}"
    view = current(snap)
    median = f" {units.ms(view.wall_ns)} ms" if view is not None and view.wall_ns is not None else ""
    above = units.ms(snap.threshold_ns)
    return f"slow: above {above} ms = {rule.replace('median', f'median{median}', 1)}"


def share_rows(shares: tuple[CauseTotal, ...], width: int) -> list[Line]:
    """One row for each cause: its share of all excess time as figure and bar."""
    total_ns = sum(share.ns for share in shares)
    if not total_ns:
        return [Line().add("   nothing: no slow token of this mode has been explained yet", DIM)]
    lines = []
    for share in shares:
        part = share.ns / total_ns
        line = Line().add(f"   {MARKS[share.cause]} ", BAD).add(share.cause, STRONG).to(_SHARE_AT)
        line.add(f"{units.percent(part):>5}  {units.ms(share.ns):>6} ms  ", TEXT).gauge(
            part, _BAR_CELLS, HOST
        )
        tokens = f"  {_main_cause_of(share.tokens)}"
        lines.append(line.add(shorten(tokens, max(0, width - line.cells)), DIM))
    return lines


def _main_cause_of(tokens: int) -> str:
    """The number of tokens whose largest cause it was."""
    if not tokens:
        return "no token's main cause"
    return f"main cause of {units.count(tokens)} token{'s' * (tokens != 1)}"


def when_words(slow: SlowToken, snap: Snapshot) -> str:
    """When a token was done: its position in a recording, or how long ago."""
    age_ns = max(0, snap.t_ns - slow.done_ns)
    if snap.playback is not None:
        return units.clock(snap.playback.position_ns - age_ns)
    return f"{age_ns / units.NS_PER_S:.0f} s ago"


def slow_rows(slow: SlowToken, when: str, width: int) -> list[Line]:
    """One slow token with its evidence."""
    lead = f"   {mark(slow.cause)} "
    rows = wrapped(f"{when}, {slow.text} ({slow.mode})", width, _SLOW_ROWS, " " * len(lead), TEXT)
    return [Line().add(lead, BAD).add(rows[0].plain[len(lead) :]), *rows[1:]]
