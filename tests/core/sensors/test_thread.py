"""The decode thread's counters, from real threads and from schedstat files."""

import os
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.protocol.reasons import because, code_of
from idlegap.core.sensors.thread import ThreadCounters


def burn_cpu(least_ns: int) -> None:
    start_ns = time.thread_time_ns()
    while time.thread_time_ns() - start_ns < least_ns:
        pass


def test_run_delay_follows_the_second_field(tmp_path: Path) -> None:
    schedstat = tmp_path / "schedstat"
    schedstat.write_text("123456789 1000 42\n")
    counters = ThreadCounters(schedstat)
    first = counters.read()
    schedstat.write_text("123456999 51000 43\n")
    second = counters.read()
    counters.close()
    assert (first.run_delay_ns, second.run_delay_ns) == (1000, 51000)


def test_a_thread_that_never_waited_is_not_mistaken_for_gvisor(tmp_path: Path) -> None:
    schedstat = tmp_path / "schedstat"
    schedstat.write_text("0 0 1\n")
    counters = ThreadCounters(schedstat)
    assert counters.read().run_delay_ns == 0
    assert counters.run_delay_reason is None
    counters.close()


@pytest.mark.parametrize("content", ["0 0 0\n", "", "7\n", "no numbers\n"])
def test_unusable_schedstat_gives_none_with_a_reason(tmp_path: Path, content: str) -> None:
    schedstat = tmp_path / "schedstat"
    schedstat.write_text(content)
    counters = ThreadCounters(schedstat)
    reading = counters.read()
    assert reading.run_delay_ns is None
    assert code_of(counters.run_delay_reason) in ("schedstat-zero", "schedstat-unreadable")
    assert reading.cpu_ns > 0


def test_absent_schedstat_names_the_cause(tmp_path: Path) -> None:
    counters = ThreadCounters(tmp_path / "absent")
    assert counters.read().run_delay_ns is None
    assert counters.run_delay_reason == because("schedstat-unreadable", detail="No such file or directory")


def test_a_file_that_turns_bad_ends_run_delay_only(tmp_path: Path) -> None:
    schedstat = tmp_path / "schedstat"
    schedstat.write_text("5 6 7\n")
    counters = ThreadCounters(schedstat)
    schedstat.write_text("")
    assert counters.read().run_delay_ns is None
    schedstat.write_text("5 6 7\n")
    assert counters.read().run_delay_ns is None
    assert counters.run_delay_reason == because("schedstat-stopped")


def test_close_releases_the_file_and_may_be_repeated(tmp_path: Path) -> None:
    schedstat = tmp_path / "schedstat"
    schedstat.write_text("5 6 7\n")
    counters = ThreadCounters(schedstat)
    assert str(schedstat) in _open_paths()
    counters.close()
    counters.close()
    assert str(schedstat) not in _open_paths()
    assert counters.read().run_delay_ns is None
    assert counters.run_delay_reason == because("closed")


def test_counts_the_calling_thread_and_no_other() -> None:
    counters = ThreadCounters()
    before = counters.read()
    other = threading.Thread(target=burn_cpu, args=(50_000_000,))
    other.start()
    other.join()
    between = counters.read()
    burn_cpu(50_000_000)
    after = counters.read()
    counters.close()
    assert between.cpu_ns - before.cpu_ns < 50_000_000
    assert after.cpu_ns - between.cpu_ns >= 50_000_000


def context_switches() -> tuple[int, int]:
    """Involuntary and voluntary switches of this thread, as /proc counts them."""
    status = Path(f"/proc/self/task/{threading.get_native_id()}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    names = ("nonvoluntary_ctxt_switches", "voluntary_ctxt_switches")
    return int(fields.get(names[0], 0)), int(fields.get(names[1], 0))


def test_switches_agree_with_the_kernel_s_other_account_of_them() -> None:
    readings: list[tuple[int, int]] = []

    def worker() -> None:
        for _ in range(20):
            # Waiting for another thread to run is a voluntary switch.
            other = threading.Thread(target=burn_cpu, args=(1_000_000,))
            other.start()
            other.join()
        counters = ThreadCounters()
        readings.append(context_switches())
        reading = counters.read()
        readings.append((reading.preempted, reading.blocked))
        readings.append(context_switches())
        counters.close()

    thread = threading.Thread(target=worker)
    thread.start()
    thread.join()
    before, told, after = readings
    assert before[0] <= told[0] <= after[0]
    assert before[1] <= told[1] <= after[1]


def test_the_default_path_is_the_creating_thread_s_own() -> None:
    outcome: list[tuple[str, set[str], str]] = []

    def worker() -> None:
        counters = ThreadCounters()
        ending = f"/task/{threading.get_native_id()}/schedstat"
        outcome.append((counters.run_delay_reason, _open_paths(), ending))
        counters.close()

    thread = threading.Thread(target=worker)
    thread.start()
    thread.join()
    reason, paths, ending = outcome[0]
    # Where the kernel keeps no run delay the file is closed at once.
    assert bool(reason) != any(path.endswith(ending) for path in paths)


@given(first=st.binary(max_size=60), second=st.binary(max_size=60))
def test_no_content_makes_it_raise(first: bytes, second: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        schedstat = Path(folder) / "schedstat"
        schedstat.write_bytes(first)
        counters = ThreadCounters(schedstat)
        schedstat.write_bytes(second)
        reading = counters.read()
        assert (reading.run_delay_ns is None) == bool(counters.run_delay_reason)
        counters.close()


def _open_paths() -> set[str]:
    """What this process's descriptors point to; the listing's own is gone when it is asked."""
    return {str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if os.path.lexists(path)}
