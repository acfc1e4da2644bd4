"""A recording of an H200 whose host changed speed: the program says between which visits.

It is older than the marks of new cache lengths, so the first round of eager counts in it."""

from functools import cache
from pathlib import Path

from idlegap.core.phrasing.sentence import limiting_sentence
from idlegap.core.protocol.reasons import because
from idlegap.core.recording import RecordingReader
from idlegap.core.report.gather import Report, gather
from idlegap.core.report.tables import remarks
from idlegap.core.session.build import snapshot_of
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.session.state import State

RECORDED = Path(__file__).parents[1] / "recording" / "h200-two-speeds.jsonl.gz"
MS = 1_000_000
SECOND = 1_000 * MS


def at(*seconds: int) -> list[Snapshot]:
    """What the live screen knows at these times, from the recording's events alone."""
    found = []
    with RecordingReader(RECORDED) as reader:
        start_ns = reader.header.started_ns
        state = State(start_ns)
        due = [start_ns + second * SECOND for second in seconds]
        for event in reader:
            while len(found) < len(due) and event.t_ns > due[len(found)]:
                shown = snapshot_of(state, due[len(found)], in_process=False, spec_bytes_per_s=None)
                found.append(shown)
            state.apply(event)
    return found


@cache
def report() -> Report:
    return gather(RECORDED)


def test_the_screen_tells_of_the_changes_while_they_stand() -> None:
    first, second, eager, third, last = at(33, 54, 70, 155, 190)

    def modes(snap: Snapshot) -> list[str]:
        return [" ".join(change.modes) for change in snap.host_changes]

    assert first.host_changes == ()
    assert modes(second) == ["eager-static"]
    assert limiting_sentence(second) == second.host_changes[0].text
    assert "eager-static took 42.4 ms a token in one visit, 23.6 in the next" in limiting_sentence(second)
    assert modes(eager) == ["eager-static", "eager eager-static"]
    assert "µs in eager, 16.5 in eager-static" in limiting_sentence(eager)
    # The third and fourth visits of eager-static agree with those before; eager was not seen again.
    assert modes(third) == modes(last) == ["eager eager-static"]
    assert limiting_sentence(third) != third.host_changes[0].text


def test_the_screen_tells_while_the_host_is_slow_within_a_visit() -> None:
    slow, fast, graph, last = at(28, 53, 60, 184)
    assert slow.cpu_work is not None
    assert (slow.cpu_work.cpu_ns // MS, slow.cpu_work.least_ns // MS) == (43, 30)
    assert limiting_sentence(slow).startswith(
        "The host is slow now: 43.1 ms of CPU time a token, 30.7 at best"
    )
    assert fast.cpu_work is not None
    assert not fast.cpu_work.slow
    assert (graph.cpu_work, graph.cpu_work_reason) == (None, because("waits-for-gpu"))
    assert limiting_sentence(last).startswith("The GPU computes 3.68 ms of each 23.2 ms token")


def test_the_report_names_the_visits() -> None:
    base, kernels = [remark for remark in remarks(report()) if "in waiting for a CPU" in remark]
    assert "eager-static took 42.4 ms at 19 s, 23.7 ms at 48 s, 24.5 ms at 148 s, 23.3 ms at 180 s." in base
    assert "65.3 µs at 64 s in eager" in kernels
    assert "29.6 µs at 19 s, 16.5 µs at 48 s, 17.1 µs at 148 s, 16.2 µs at 180 s in eager-static" in kernels


def test_the_visits_beside_our_neighbours_are_left_out() -> None:
    start_ns = report().header.started_ns
    graph = report().setup.visits.of("graph")
    assert [round((visit.since_ns - start_ns) / SECOND) for visit in graph] == [35, 54, 176, 186]
