"""Between which of a session's visits the host changed speed (`core.measure.host_speed`), and since when."""

from collections.abc import Sequence
from dataclasses import replace

from idlegap.core.measure.host_speed import Windows, changed_within, kernel_ns, told_by_cpu_time
from idlegap.core.protocol.events import EngineReady
from idlegap.core.protocol.modes import EAGER, MODE_NAMES
from idlegap.core.session.snapshot import HostChange
from idlegap.core.session.visits import VisitLog
from idlegap.core.text.units import ms, us


def host_changes(
    now_ns: int,
    log: VisitLog,
    engine: EngineReady | None,
    windows: Windows,
    known: Sequence[HostChange] = (),
) -> tuple[HostChange, ...]:
    """Between which of the last visits the host changed speed: those of one mode, and those of the two
    modes that launch kernel by kernel. What is `known` keeps its time, what is new was found at `now_ns`.

    Whoever asks does so as events come in, not as frames are drawn: a replay then finds the same
    changes at the same times.
    """
    if not told_by_cpu_time(engine):
        return ()
    found = []
    for mode in MODE_NAMES:
        last = log.of(mode)[-2:]
        if changed_within(last, windows):
            before, after = last
            was, now = ms(before.usual.wall_ns), ms(after.usual.wall_ns)
            text = (
                f"{mode} took {was} ms a token in one visit, {now} in the next, without waiting for a CPU: "
                "the host changed speed; visit the modes again to compare."
            )
            found.append(HostChange((mode,), after.since_ns, now_ns, text))
    pair = [visit for mode in EAGER for visit in log.of(mode)[-1:]]
    if changed_within(pair, windows):
        eager, base = pair
        slower_first = sorted(pair, key=lambda visit: -kernel_ns(visit, windows))
        modes = tuple(visit.mode for visit in slower_first)
        since_ns = max(visit.since_ns for visit in pair)
        text = (
            f"To submit a kernel the host took {us(kernel_ns(eager, windows))} µs in {eager.mode}, "
            f"{us(kernel_ns(base, windows))} in {base.mode}, without waiting for a CPU: it changed speed; "
            "visit both again to compare."
        )
        found.append(HostChange(modes, since_ns, now_ns, text))
    return tuple(
        next((replace(new, found_ns=old.found_ns) for old in known if _is_one(old, new)), new)
        for new in found
    )


def _is_one(old: HostChange, new: HostChange) -> bool:
    """Whether `new` tells again what `old` told. Between visits of one mode each later visit makes a
    new change. Between two modes it stays the same while the same one is slower: to visit the
    other one again adds nothing."""
    return old.modes == new.modes and (len(new.modes) > 1 or old.since_ns == new.since_ns)
