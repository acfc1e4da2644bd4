"""What contends in a few words, and the advice that follows."""

from dataclasses import replace
from typing import Any

import pytest

from idlegap.core.phrasing.contention import ADVISED_SLOW, advice, contention_words
from idlegap.core.protocol.events import CgroupSample, CpuSample, HostInfo
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.settings import Wait
from idlegap.core.session.snapshot import ModeView, Snapshot, StageView
from idlegap.core.slow_tokens.causes import Cause, CauseTotal, Contention, Pressure
from tests.ready import engine_ready

MS = 1_000_000
CPU = CpuSample(0, (5.0, 99.0, 60.0, 10.0), 95.0, 2.0, 20.0, steal_pct=0.0, decode_core=1)
HOST = HostInfo(0, "Xeon", 4, (0, 1, 2, 3), 4.0, None)


@pytest.mark.parametrize(
    ("contention", "words"),
    [
        (None, ""),
        (Contention("neighbour", share=0.4, cores=1.0), "neighbour: waits 40 % for a CPU"),
        (Contention("own threads", share=0.4, cores=1.5), "own threads: waits 40 % for a CPU"),
        (Contention("cpu wait", share=1.0), "waits 100 % for a CPU"),
        (Contention("quota", share=0.4), "CPU quota: stopped 40 % of the time"),
        (Contention("steal", share=0.12), "steal: 12 % of this machine"),
        (Contention("crowded", cores=3.6, usable_cores=4), "others use 3.6 of 4 cores"),
    ],
)
def test_a_badge_names_who_contends_and_how_much(contention: Contention | None, words: str) -> None:
    assert contention_words(contention) == words


def test_a_mode_that_cannot_run_here_is_no_advice() -> None:
    slow = plain(slow_shares=(CauseTotal("more cpu", 90 * MS, ADVISED_SLOW),))
    assert "graph mode needs the CPU only once" in advice(slow)
    cannot = ModeView("3", "graph", "", reason="needs CUDA")
    assert "graph" not in advice(replace(slow, modes=(cannot,)))


def plain(**changes: Any) -> Snapshot:
    """Eager-static decodes on a quiet machine."""
    return replace(
        Snapshot(0, StageView("decoding", "", None, 0), mode="eager-static", cpu=CPU, host=HOST), **changes
    )


def waiting(mode: ModeName | None, wait: Wait, **changes: Any) -> Snapshot:
    """`mode` decodes, and its thread waits for the GPU like this."""
    return plain(mode=mode, engine=engine_ready(wait=wait), **changes)


def contended(pressure: Pressure, snap: Snapshot) -> str:
    return advice(replace(snap, contention=Contention(pressure)))


@pytest.mark.parametrize(
    ("pressure", "snap", "words"),
    [
        ("neighbour", plain(), "Core 0 is free: pin the decode thread there with --pin 0; graph mode"),
        ("cpu wait", plain(), "--pin 0"),
        ("crowded", plain(cpu=None), "No usable core is free: move the neighbours away"),
        ("neighbour", plain(neighbours=1), "One neighbour is of our own making: remove it"),
        ("neighbour", plain(neighbours=3), "3 neighbours are of our own making: remove them"),
        ("own threads", plain(), "OMP_NUM_THREADS=1) and pin the decode thread: --pin 0."),
        ("own threads", plain(cpu=None), "OMP_NUM_THREADS=1)."),
        ("quota", plain(), "Raise the container's CPU limit, or"),
        ("quota", plain(cgroup=CgroupSample(0, 1.5)), "CPU limit from 1.5 cores, or"),
        ("steal", plain(), "oversold"),
    ],
)
def test_advice_follows_what_contends_now(pressure: Pressure, snap: Snapshot, words: str) -> None:
    assert words in contended(pressure, snap)


GIVES_AWAY = "; --wait block gives the core away while the GPU computes."


@pytest.mark.parametrize("mode", ["graph", "fused-graph"])
@pytest.mark.parametrize("pressure", ["neighbour", "cpu wait", "crowded"])
def test_who_submits_once_and_spins_is_advised_to_sleep_instead(mode: ModeName, pressure: Pressure) -> None:
    for changes, words in (
        ({}, "Core 0 is free: pin the decode thread there with --pin 0"),
        ({"cpu": None}, "No usable core is free: move the neighbours away, or rent CPUs of your own"),
        ({"neighbours": 2}, "2 neighbours are of our own making: remove them to compare"),
    ):
        assert contended(pressure, waiting(mode, "spin", **changes)) == words + GIVES_AWAY
        assert contended(pressure, waiting(mode, "block", **changes)) == words + "."


@pytest.mark.parametrize("mode", ["eager", "eager-static", "fused", "compiled", None])
@pytest.mark.parametrize("wait", ["spin", "block"])
def test_who_submits_all_the_time_is_advised_to_use_graphs_however_it_waits(
    mode: ModeName | None, wait: Wait
) -> None:
    said = contended("neighbour", waiting(mode, wait))
    assert said.endswith("--pin 0; graph mode needs the CPU only once a token.")
    assert "--wait" not in said


@pytest.mark.parametrize("pressure", ["own threads", "quota", "steal"])
def test_sleeping_is_not_advised_against_what_is_no_neighbour(pressure: Pressure) -> None:
    assert "--wait" not in contended(pressure, waiting("graph", "spin"))


@pytest.mark.parametrize("cause", ["neighbour", "cpu wait"])
def test_slow_tokens_that_waited_for_a_cpu_are_a_reason_to_sleep_too(cause: Cause) -> None:
    shares = (CauseTotal(cause, 9, ADVISED_SLOW),)
    assert advice(waiting("graph", "spin", slow_shares=shares)).endswith(GIVES_AWAY)
    assert "--wait" not in advice(waiting("graph", "block", slow_shares=shares))


@pytest.mark.parametrize(
    ("cause", "in_process", "words"),
    [
        ("probe", False, "--no-nvml"),
        ("more cpu", False, "garbage collection; graph mode"),
        ("blocked", False, "a lock, a debugger"),
        ("blocked", True, "leave out --in-process"),
        ("gpu clock", False, "cooling"),
        ("quota", False, "CPU limit"),
        ("unexplained", False, ""),
    ],
)
def test_without_contention_advice_follows_the_main_cause_of_slow_tokens(
    cause: Cause, in_process: bool, words: str
) -> None:
    shares = (CauseTotal(cause, 9, ADVISED_SLOW - 1), CauseTotal("neighbour", 3, 1))
    said = advice(plain(slow_shares=shares, in_process=in_process))
    assert words in said
    assert bool(said) == bool(words)


def test_a_few_slow_tokens_are_no_reason_for_advice() -> None:
    assert advice(plain(slow_shares=(CauseTotal("blocked", 9, ADVISED_SLOW - 1),))) == ""
    assert advice(plain()) == ""
