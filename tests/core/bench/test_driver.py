"""Single steps of the driver: profile windows, and rounds that begin twice."""

from itertools import pairwise

import pytest

from idlegap.core.bench.driver import PROFILE_TRIES, SNAPSHOT_NS, Driver, EngineEndedError
from idlegap.core.protocol.commands import TakeProfile
from idlegap.core.protocol.events import ModeEntered, ModeRefused, TokenBatch
from idlegap.core.protocol.reasons import because
from idlegap.core.session.snapshot import Snapshot
from tests.core.bench.fake_engine import H200, READY, FakeEngine, drive, replace_struct


def started(engine: FakeEngine) -> Driver:
    driver = drive(engine)
    driver.start()
    return driver


def test_a_rejected_window_is_asked_for_again() -> None:
    engine = FakeEngine(window_faults=["1,430 kernels per step, 1,429 in the window before"])
    windows = started(engine).profile(1)
    assert [window.accepted for window in windows] == [False, False, True]
    assert engine.commands.count(TakeProfile()) == 2


def test_a_mode_that_cannot_be_profiled_is_given_up_with_its_reasons() -> None:
    engine = FakeEngine(window_faults=["no kernel records"] * 10)
    windows = started(engine).profile(1)
    assert engine.commands.count(TakeProfile()) == PROFILE_TRIES
    assert not any(window.accepted for window in windows)
    assert windows[-1].reason == "no kernel records"


def test_as_many_windows_are_taken_as_asked_for() -> None:
    engine = FakeEngine()
    windows = started(engine).profile(3)
    assert sum(window.accepted for window in windows) == 3


def test_on_the_cpu_one_request_is_enough() -> None:
    engine = FakeEngine(ready=replace_struct(READY, device="cpu"))
    windows = started(engine).profile(1)
    assert len(windows) == 1
    assert engine.commands.count(TakeProfile()) == 1


def test_a_round_of_the_mode_asked_for_is_taken_whole() -> None:
    driver = started(FakeEngine())
    for mode in ("graph", "eager", "graph", "graph"):
        assert isinstance(driver.enter(mode), ModeEntered)
        taken = driver.decode_round(mode)
        assert taken.finished is not None
        assert taken.finished.mode == taken.started.mode == mode
        assert {batch.round for batch in taken.batches} == {taken.started.round}
        assert {batch.mode for batch in taken.batches} == {mode}
        assert sum(len(batch.tokens) for batch in taken.batches) == READY.new_tokens


def test_entering_a_mode_that_cannot_run_is_refused_and_decoding_it_is_an_error() -> None:
    driver = started(FakeEngine({"eager-static": H200["eager-static"]}))
    answer = driver.enter("graph")
    assert isinstance(answer, ModeRefused)
    assert answer.reason == because("needs-cuda")
    with pytest.raises(EngineEndedError, match="graph: needs CUDA"):
        driver.decode_round("graph")


def test_closing_ends_the_engine() -> None:
    engine = FakeEngine()
    started(engine).close()
    assert engine.closed


def test_who_watches_gets_a_snapshot_each_second_and_nobody_else_any() -> None:
    shown: list[Snapshot] = []
    engine = FakeEngine()
    driver = drive(engine, spec_bytes_per_s=5e12)
    driver.watch(shown.append)
    driver.start()
    for mode in ("graph", "eager", "graph"):
        driver.enter(mode)
        driver.decode_round(mode)
    times = [snapshot.t_ns for snapshot in shown]
    assert len(times) >= 2
    assert all(later - earlier >= SNAPSHOT_NS for earlier, later in pairwise(times))
    assert engine.now_ns - times[-1] < 2 * SNAPSHOT_NS
    last = shown[-1]
    assert last.engine is not None
    assert last.rate is not None
    assert {row.name for row in last.modes if row.visited} >= {"graph", "eager"}
    assert last.ceiling is not None
    assert last.ceiling.spec_bytes_per_s == 5e12


def test_watching_changes_nothing_of_what_is_measured() -> None:
    def rounds(*, watched: bool) -> list[list[TokenBatch]]:
        driver = drive(FakeEngine())
        if watched:
            driver.watch(lambda snapshot: None)
        driver.start()
        return [driver.decode_round("eager-static").batches for _ in range(3)]

    assert rounds(watched=True) == rounds(watched=False)
