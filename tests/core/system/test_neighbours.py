"""Noisy neighbours are busy, are counted, and never outlive the app that started them."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import psutil
import pytest

from idlegap.core.protocol.events import Neighbours
from idlegap.core.system.neighbours import NoisyNeighbours, busy_command

END_S = 20.0
CORE = min(os.sched_getaffinity(0))
NewChildren = Callable[[], list[psutil.Process]]


@pytest.fixture
def said() -> list[Neighbours]:
    return []


@pytest.fixture
def neighbours(said: list[Neighbours]) -> Iterator[NoisyNeighbours]:
    times = iter(range(1, 1000))
    made = NoisyNeighbours(said.append, clock=lambda: next(times))
    yield made
    made.remove_all()


def ended(pid_fd: int) -> bool:
    """Whether a process ends within a bound; a pidfd is readable once it has."""
    return bool(select.select([pid_fd], [], [], END_S)[0])


def test_every_change_is_said_with_its_count_and_its_pinned_cores(
    neighbours: NoisyNeighbours, said: list[Neighbours]
) -> None:
    neighbours.add(2)
    neighbours.add(core=CORE)
    assert neighbours.count == 3
    neighbours.remove()
    neighbours.remove_all()
    assert said == [
        Neighbours(1, 2),
        Neighbours(2, 3, (CORE,)),
        Neighbours(3, 2),
        Neighbours(4, 0),
    ]


def test_removing_from_none_says_nothing(neighbours: NoisyNeighbours, said: list[Neighbours]) -> None:
    neighbours.remove()
    neighbours.remove_all()
    assert neighbours.count == 0
    assert said == []


def test_they_are_busy_each_in_its_own_session_and_on_the_core_that_was_asked_for(
    new_children: NewChildren, neighbours: NoisyNeighbours
) -> None:
    neighbours.add(1, core=CORE)
    neighbours.add(1)
    pinned, free = new_children()
    for process in (pinned, free):
        # Uses CPU time for as long as anyone cares to look: it cannot end or sleep by itself.
        while sum(process.cpu_times()[:2]) < 0.1:
            assert process.is_running()
        assert os.getsid(process.pid) == process.pid
        assert process.nice() == 0
    assert pinned.cpu_affinity() == [CORE]
    assert set(free.cpu_affinity()) == os.sched_getaffinity(0)


def test_one_killed_from_outside_no_longer_counts(
    new_children: NewChildren, neighbours: NoisyNeighbours
) -> None:
    neighbours.add(2)
    victim, survivor = new_children()
    victim.kill()
    victim.wait(END_S)
    assert neighbours.count == 1
    neighbours.remove()
    assert not survivor.is_running()


def test_a_core_that_this_process_may_not_use_is_refused_by_name(
    neighbours: NoisyNeighbours, said: list[Neighbours]
) -> None:
    with pytest.raises(ValueError, match="core 9999: this process may use"):
        neighbours.add(1, core=9999)
    assert neighbours.count == 0
    assert said == []


APP = """
import sys, psutil
from idlegap.core.system.neighbours import NoisyNeighbours
neighbours = NoisyNeighbours(lambda said: None)
neighbours.add(2)
neighbours.add(1, core=int(sys.argv[1]))
print(*(child.pid for child in psutil.Process().children()), flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGKILL, -signal.SIGKILL),
        (signal.SIGTERM, -signal.SIGTERM),
        (None, 0),  # the app ends by itself and removes nobody
    ],
)
def test_they_die_with_the_app_however_it_ends(number: signal.Signals | None, status: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", APP, str(CORE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as app:
        assert app.stdout is not None
        assert app.stdin is not None
        pids = [int(pid) for pid in app.stdout.readline().split()]
        watched = [os.pidfd_open(pid) for pid in pids]
        try:
            assert len(watched) == 3
            if number is None:
                app.stdin.write("\n")
                app.stdin.flush()
            else:
                app.send_signal(number)
            assert app.wait(END_S) == status
            assert all(ended(fd) for fd in watched)
        finally:
            for fd in watched:
                os.close(fd)


def test_the_end_of_the_pipe_alone_ends_one() -> None:
    with subprocess.Popen(busy_command(), stdin=subprocess.PIPE) as busy:
        try:
            busy.communicate(timeout=END_S)
        finally:
            busy.kill()
        assert busy.returncode == 0


def test_the_death_of_the_parent_alone_ends_one_while_the_pipe_stays_open() -> None:
    read_end, write_end = os.pipe()
    parent = f"""
import subprocess, sys
busy = subprocess.Popen({busy_command()!r}, stdin={read_end})
print(busy.pid, flush=True)
sys.stdin.readline()
"""
    with subprocess.Popen(
        [sys.executable, "-c", parent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=(read_end,),
        text=True,
    ) as app:
        assert app.stdout is not None
        busy = psutil.Process(int(app.stdout.readline()))
        # It has set its signal before it does any work worth a tenth of a second.
        while sum(busy.cpu_times()[:2]) < 0.1:
            assert busy.is_running()
        watched = os.pidfd_open(busy.pid)
        try:
            app.kill()
            app.wait(END_S)
            assert ended(watched)
        finally:
            os.close(watched)
            os.close(read_end)
            os.close(write_end)
