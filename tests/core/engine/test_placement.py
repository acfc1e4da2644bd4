"""A pin and a nice value reach the calling thread only, and what they refuse is said."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from idlegap.core.engine.placement import Placement
from idlegap.core.protocol.reasons import Reason, because

T = TypeVar("T")
USABLE = os.sched_getaffinity(0)
CORE = max(USABLE)


def on_a_thread(work: Callable[[], T]) -> T:
    """The result of `work` on a thread of its own, whose affinity and priority die with it."""
    found: list[T] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_the_pin_confines_the_thread_that_asked_and_no_other() -> None:
    def pinned() -> tuple[dict[str, Reason], set[int]]:
        return Placement(CORE, None).apply(), os.sched_getaffinity(0)

    assert on_a_thread(pinned) == ({}, {CORE})
    assert os.sched_getaffinity(0) == USABLE


def test_what_starts_while_the_pin_is_lifted_has_all_cores_and_the_pin_comes_back() -> None:
    def work() -> list[set[int]]:
        placement = Placement(CORE, None)
        placement.apply()
        seen = [on_a_thread(lambda: os.sched_getaffinity(0))]
        with placement.released():
            seen.append(os.sched_getaffinity(0))
            seen.append(on_a_thread(lambda: os.sched_getaffinity(0)))
        seen.append(os.sched_getaffinity(0))
        return seen

    assert on_a_thread(work) == [{CORE}, USABLE, USABLE, {CORE}]


def test_the_pin_comes_back_after_a_mode_that_failed_to_prepare() -> None:
    def work() -> set[int]:
        placement = Placement(CORE, None)
        placement.apply()
        with pytest.raises(RuntimeError), placement.released():
            raise RuntimeError("no such kernel")
        return os.sched_getaffinity(0)

    assert on_a_thread(work) == {CORE}


def test_without_a_pin_nothing_is_touched() -> None:
    def work() -> tuple[dict[str, Reason], set[int]]:
        placement = Placement(None, None)
        refused = placement.apply()
        with placement.released():
            return refused, os.sched_getaffinity(0)

    assert on_a_thread(work) == ({}, USABLE)


def test_a_core_outside_the_affinity_is_refused_and_the_usable_ones_are_named() -> None:
    def work() -> tuple[dict[str, Reason], set[int]]:
        os.sched_setaffinity(0, {CORE})
        placement = Placement(CORE + 1, None)
        refused = placement.apply()
        with placement.released():
            return refused, os.sched_getaffinity(0)

    refused, usable = on_a_thread(work)
    assert refused == {"pin_core": because("pin-outside", core=CORE + 1, usable=str(CORE))}
    assert usable == {CORE}


def test_nice_is_the_threads_own(tmp_path: Path) -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)

    def work() -> tuple[dict[str, Reason], int]:
        refused = Placement(None, before + 1, autogroup=tmp_path / "autogroup").apply()
        return refused, os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    assert on_a_thread(work) == ({}, before + 1)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


@pytest.mark.parametrize(
    ("nice", "expected"),
    [
        (-5, because("nice-needs-root", nice=-5, detail="Permission denied")),
        (5, because("nice-refused", nice=5, detail="Permission denied")),
    ],
)
def test_a_refused_nice_value_is_said_and_the_pin_still_holds(nice: int, expected: Reason) -> None:
    def forbid(_: int) -> None:
        raise PermissionError(13, "Permission denied")

    def work() -> tuple[dict[str, Reason], set[int]]:
        return Placement(CORE, nice, set_nice=forbid).apply(), os.sched_getaffinity(0)

    assert on_a_thread(work) == ({"nice": expected}, {CORE})


SESSION = """
import sys
from pathlib import Path
from idlegap.core.engine.placement import Placement
Placement(None, 3, set_nice=lambda nice: None, autogroup=Path(sys.argv[1])).apply()
"""


@pytest.mark.parametrize(("leads", "written"), [(True, "3"), (False, "0")])
def test_only_a_session_of_our_own_is_niced(tmp_path: Path, *, leads: bool, written: str) -> None:
    autogroup = tmp_path / "autogroup"
    autogroup.write_text("0")
    subprocess.run([sys.executable, "-c", SESSION, str(autogroup)], check=True, start_new_session=leads)
    assert autogroup.read_text() == written
