"""Slow tokens of known cause get that cause, and shares always sum to the excess."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.measure.typical_token import Typical
from idlegap.core.protocol.events import (
    CgroupSample,
    CpuSample,
    GpuSample,
    MonitorSample,
    ProfileWindow,
    Token,
    TokenBatch,
)
from idlegap.core.slow_tokens.context import Context, Loads
from idlegap.core.slow_tokens.explain import SlowToken, explain, slow_token, total_shares

MS = 1_000_000

# An eager mode on a calm host: 22 of 22.4 ms are dispatch, all of it CPU time; a blocking
# synchronisation sleeps for the rest.
EAGER = Typical(
    wall_ns=round(22.4 * MS),
    threshold_ns=round(24.64 * MS),
    dispatch_ns=22 * MS,
    wait_ns=round(0.4 * MS),
    cpu_ns=22 * MS,
    run_delay_ns=0,
    off_cpu_ns=round(0.4 * MS),
    blocked=1,
)
START = 1000 * MS
CALM_GPU = [GpuSample((1100 + 200 * i) * MS, sm_mhz=1980, event_reasons=0) for i in range(8)]
BEFORE = CpuSample(900 * MS, (5.0, 99.0))
"""Only says where the interval of the next sample begins, 200 ms before its end."""

CALM_CPU = [
    BEFORE,
    CpuSample(1100 * MS, (5.0, 99.0), engine_pct=100.0, monitor_pct=2.0, others_pct=5.0, decode_core=1),
]
CALM = Context(cpu=CALM_CPU, gpu=CALM_GPU)


def token(
    dispatch: float = 22.0,
    wait: float = 0.4,
    cpu: float | None = 22.0,
    delay: float | None = 0.0,
    blocked: int | None = 1,
) -> Token:
    dispatched = START + round(dispatch * MS)
    return Token(
        START,
        dispatched,
        dispatched + round(wait * MS),
        cpu_ns=None if cpu is None else round(cpu * MS),
        run_delay_ns=None if delay is None else round(delay * MS),
        preempted=0,
        blocked=blocked,
    )


def shares(slow: Token, around: Context = CALM, usual: Typical = EAGER) -> dict[str, float]:
    """Shares in ms, rounded to the microsecond."""
    return {share.cause: round(share.ns / MS, 3) for share in explain(slow, usual, around)}


def cpu_load(engine: float, others: float, steal: float = 0.0) -> Context:
    sample = CpuSample(1100 * MS, (5.0, 97.0), engine, 2.0, others, steal_pct=steal, decode_core=1)
    return replace(CALM, cpu=[BEFORE, sample])


# --- one injected cause at a time --------------------------------------------------

THROTTLED = replace(
    CALM, cgroup=[CgroupSample(1100 * MS, throttled=1, throttled_ns=30 * MS, interval_ns=200 * MS)]
)
HOT = replace(CALM, gpu=[GpuSample(1050 * MS, sm_mhz=1980, event_reasons=0x40), *CALM_GPU])
NVML = replace(CALM, gpu=[GpuSample(1020 * MS, sm_mhz=1980, event_reasons=0, call_ns=18 * MS), *CALM_GPU])
PROFILED = replace(CALM, profiles=[ProfileWindow(1010 * MS, "eager", 4, accepted=True, pause_ns=300 * MS)])


@pytest.mark.parametrize(
    ("slow", "around", "expected"),
    [
        (token(41.0, delay=17.6, cpu=23.4), cpu_load(90, 250), {"neighbour": 17.6, "more cpu": 1.4}),
        (token(41.0, delay=19.0), cpu_load(300, 8), {"own threads": 19.0}),
        (token(41.0, delay=19.0), CALM, {"cpu wait": 19.0}),
        (token(41.0, delay=19.0), cpu_load(100, 15), {"neighbour": 19.0}),  # 30 ms of 200 suffice for 19
        (token(81.0, delay=59.0), cpu_load(100, 12), {"cpu wait": 59.0}),  # 24 ms do not for 59
        (token(81.0, delay=59.0), cpu_load(100, 20), {"neighbour": 59.0}),  # 40 ms do
        (token(41.0, delay=19.0), replace(CALM, cpu=CALM_CPU[1:]), {"cpu wait": 19.0}),  # no interval
        (token(52.0, delay=30.0), THROTTLED, {"quota": 30.0}),
        (token(52.0), THROTTLED, {"quota": 30.0}),  # kernels that leave throttling out of run delay
        (token(52.0, cpu=52.0), CALM, {"more cpu": 30.0}),  # a long garbage collection
        (token(52.0, blocked=4), CALM, {"blocked": 30.0}),  # a lock, or stopped by a signal
        (token(41.0, blocked=3), NVML, {"probe": 18.0, "blocked": 1.0}),
        (token(31.0, blocked=1), PROFILED, {"probe": 9.0}),
        (token(wait=6.4), HOT, {"gpu clock": 6.0}),
        (token(wait=6.4, cpu=28.0), HOT, {"gpu clock": 6.0}),  # a synchronisation that spins
        (token(wait=6.4, cpu=28.0), CALM, {"unexplained": 6.0}),  # spinning is not more work
        (token(41.0), cpu_load(100, 0, steal=20.0), {"steal": 19.0}),
        (token(81.0), cpu_load(100, 0, steal=7.5), {"steal": 30.0, "unexplained": 29.0}),  # 15 % of a core
        (token(41.0), cpu_load(100, 0, steal=4.0), {"unexplained": 19.0}),  # less than a tenth of a core
        (token(41.0, blocked=3), cpu_load(100, 0, steal=20.0), {"blocked": 19.0}),
        (token(41.0), CALM, {"unexplained": 19.0}),
        (token(), CALM, {}),
        (token(20.0, cpu=20.0), CALM, {}),  # faster than usual: nothing to explain
    ],
)
def test_an_injected_cause_gets_the_excess(slow: Token, around: Context, expected: dict[str, float]) -> None:
    assert shares(slow, around) == expected


def test_two_causes_share_the_excess() -> None:
    hot_and_crowded = replace(HOT, cpu=cpu_load(90, 300).cpu)
    assert shares(token(32.0, wait=6.4, delay=10.0), hot_and_crowded) == {"gpu clock": 6.0, "neighbour": 10.0}
    both = replace(THROTTLED, cpu=cpu_load(90, 300).cpu)
    assert shares(token(67.0, delay=45.0), both) == {"quota": 30.0, "neighbour": 15.0}


def test_run_delay_is_divided_by_what_neighbours_and_our_own_threads_used() -> None:
    """Others used 3 cores; the engine used one beside the decode thread's, within 2 %."""
    divided = shares(token(41.0, delay=19.0), cpu_load(198, 300))
    assert divided == {"neighbour": 14.25, "own threads": 4.75}
    assert shares(token(31.0, delay=19.0), cpu_load(198, 300)) == {"neighbour": 6.75, "own threads": 2.25}


def test_what_others_have_explained_already_is_not_divided_again() -> None:
    """Run delay that hid behind the device is longer than the excess; each used one core."""
    both = cpu_load(198, 100)
    ten = CgroupSample(1100 * MS, throttled=1, throttled_ns=10 * MS, interval_ns=200 * MS)
    throttled = replace(both, cgroup=[ten])
    assert shares(token(wait=20.4, delay=50.0), throttled) == {
        "quota": 10.0,
        "neighbour": 5.0,
        "own threads": 5.0,
    }
    hot = replace(HOT, cpu=both.cpu)
    assert shares(token(18.0, wait=16.4, delay=6.0), hot) == {
        "gpu clock": 10.0,
        "neighbour": 1.0,
        "own threads": 1.0,
    }


@pytest.mark.parametrize(
    ("usual", "expected"),
    [
        (None, {"neighbour": 9.5, "own threads": 9.5}),
        (Loads(0.0, 0.0), {"neighbour": 9.5, "own threads": 9.5}),
        (Loads(1.0, 0.0), {"neighbour": 19.0}),
        (Loads(0.0, 1.0), {"own threads": 19.0}),
        (Loads(0.5, 0.0), {"neighbour": 12.667, "own threads": 6.333}),
        (Loads(1.0, 1.0), {"neighbour": 9.5, "own threads": 9.5}),  # nothing is unusual
        (Loads(2.0, 2.0), {"neighbour": 9.5, "own threads": 9.5}),
    ],
)
def test_of_two_who_used_the_cpu_the_one_who_did_more_than_usual_is_named(
    usual: Loads | None, expected: dict[str, float]
) -> None:
    """Each used one core beside the decode thread's."""
    assert shares(token(41.0, delay=19.0), replace(cpu_load(198, 100), usual=usual)) == expected


def test_what_is_usual_does_not_excuse_the_only_one_who_used_the_cpu() -> None:
    around = replace(cpu_load(100, 300), usual=Loads(0.0, 3.0))
    assert shares(token(41.0, delay=19.0), around) == {"neighbour": 19.0}


def test_the_decode_threads_own_cpu_time_is_not_taken_for_that_of_our_other_threads() -> None:
    """Decode ran for half of the time, because one of our own threads had its core otherwise."""
    half = [Token(900 * MS + i * 50 * MS, 0, 950 * MS + i * 50 * MS, cpu_ns=25 * MS) for i in range(4)]
    alone = cpu_load(100, 2)
    assert shares(token(41.0, delay=19.0), alone) == {"cpu wait": 19.0}
    assert shares(token(41.0, delay=19.0), replace(alone, tokens=half)) == {"own threads": 19.0}


def test_time_that_one_cause_has_explained_is_not_given_to_the_next() -> None:
    """Beside each cause the wait spun for 10 ms, which nothing explains."""
    throttled = replace(THROTTLED, cpu=cpu_load(90, 300).cpu)
    assert shares(token(wait=45.4, cpu=32.0, blocked=3), throttled) == {
        "quota": 30.0,
        "blocked": 5.0,
        "unexplained": 10.0,
    }
    assert shares(token(wait=45.4, cpu=32.0, delay=35.0), throttled) == {
        "quota": 30.0,
        "neighbour": 5.0,
        "unexplained": 10.0,
    }
    assert shares(token(wait=21.4, cpu=32.0, blocked=3), PROFILED) == {
        "probe": 10.0,
        "blocked": 1.0,
        "unexplained": 10.0,
    }


def test_run_delay_in_the_wait_is_not_taken_for_a_slow_gpu() -> None:
    assert shares(token(wait=6.4, delay=6.0), replace(HOT, cpu=cpu_load(90, 300).cpu)) == {"neighbour": 6.0}


def test_delay_that_hid_behind_the_gpu_explains_no_more_than_the_excess() -> None:
    assert shares(token(wait=3.4, delay=20.0), cpu_load(90, 300)) == {"neighbour": 3.0}


def test_what_is_usual_for_the_mode_explains_nothing() -> None:
    crowded = replace(EAGER, run_delay_ns=5 * MS, off_cpu_ns=0)
    assert shares(token(32.0, cpu=27.0, delay=5.4, blocked=1), cpu_load(90, 300), crowded) == {
        "neighbour": 0.4,
        "more cpu": 5.0,
        "unexplained": 4.6,
    }


def test_missing_readings_leave_the_excess_unexplained_and_say_so() -> None:
    blind = token(52.0, cpu=None, delay=None, blocked=None)
    (share,) = explain(blind, EAGER, Context())
    assert (share.cause, share.ns) == ("unexplained", 30 * MS)
    assert share.evidence == "unexplained: CPU time, run delay, switches n/a"


# --- what is said --------------------------------------------------------------------


def judged(slow: Token, around: Context) -> SlowToken:
    return slow_token(TokenBatch(0, "eager-static", 7, 1200, (token(),) * 4 + (slow,)), 4, EAGER, around)


def test_the_text_names_the_token_its_excess_and_the_evidence() -> None:
    found = judged(token(40.9, delay=17.6), cpu_load(90, 250))
    assert found.cause == "neighbour"
    assert (found.mode, found.round, found.index) == ("eager-static", 7, 1204)
    assert (found.wall_ns, found.excess_ns) == (round(41.3 * MS), round(18.9 * MS))
    assert found.text == (
        "token 7/1,204: 41.3 ms, +18.9 ms: the decode thread waited 17.6 ms for a CPU; "
        "core 1 was 97 % busy, others used 2.5 cores"
    )


@pytest.mark.parametrize(
    ("slow", "around", "words"),
    [
        (token(wait=6.4), HOT, "the GPU was held back: hardware thermal slowdown"),
        (token(52.0, delay=30.0), THROTTLED, "the CPU quota stopped the process for 30.0 ms"),
        (token(41.0, delay=19.0), cpu_load(300, 10), "our own other threads used 2.0 cores"),
        (
            token(41.0, delay=19.0),
            cpu_load(198, 300),
            "core 1 was 97 % busy, others used 3.0 cores, our own other threads used 1.0 cores",
        ),
        (token(41.0, delay=19.0), CALM, "who had it is not known"),
        (token(41.0, blocked=3), NVML, "an NVML round of 18.0 ms overlapped it for 18.0 ms"),
        (
            token(52.0, cpu=52.0),
            CALM,
            "the same work took 30.0 ms more CPU time; little else ran on this machine meanwhile",
        ),
        (token(52.0, cpu=52.0), cpu_load(100, 30), "CPU time; others used 0.3 cores meanwhile"),
        (token(52.0, cpu=52.0), cpu_load(100, 100), "more CPU time; others used 1.0 cores meanwhile"),
        (token(52.0, cpu=52.0), cpu_load(250, 60), "; our own other threads used 1.5 cores meanwhile"),
        (
            token(52.0, cpu=52.0),
            cpu_load(100, 10, steal=30.0),
            "; the hypervisor gave away 0.6 cores meanwhile",
        ),
        (token(52.0, blocked=4), CALM, "the thread slept 30.0 ms longer, in 3 more switches"),
        (
            token(41.0),
            cpu_load(100, 0, steal=20.0),
            "off the CPU for 19.0 ms without a switch; the hypervisor gave 0.4 cores away",
        ),
        (token(41.0), CALM, "unexplained: no reading accounts for it"),
    ],
)
def test_each_cause_brings_its_evidence(slow: Token, around: Context, words: str) -> None:
    assert words in judged(slow, around).text


def test_a_frame_beside_a_blocked_token_is_mentioned() -> None:
    drawn = replace(CALM, frames=[MonitorSample(1020 * MS, 5.0, 9 * MS, None, 4.0)])
    assert judged(token(32.0, blocked=4), drawn).text.endswith(
        "in 3 more switches while a frame of 9.00 ms was drawn"
    )
    assert judged(token(32.0), drawn).cause == "unexplained"


def test_a_named_cause_no_larger_than_the_unexplained_rest_does_not_win() -> None:
    found = judged(token(32.0, delay=5.0), cpu_load(90, 300))
    assert [(share.cause, share.ns) for share in found.shares] == [
        ("neighbour", 5 * MS),
        ("unexplained", 5 * MS),
    ]
    assert found.cause == "unexplained"


# --- properties ------------------------------------------------------------------------

NS = st.integers(0, 50 * MS)
READING = st.none() | NS
TOKENS = st.builds(
    lambda dispatch, wait, cpu, delay, blocked: Token(
        START, START + dispatch, START + dispatch + wait, cpu, delay, 0, blocked
    ),
    NS,
    NS,
    READING,
    READING,
    st.none() | st.integers(0, 9),
)
TYPICALS = st.builds(Typical, NS, NS, NS, NS, READING, READING, READING, st.none() | st.integers(0, 5))
TIMES = st.integers(900 * MS, 1300 * MS)
PERCENT = st.none() | st.floats(0, 1000)


def in_order(*parts: st.SearchStrategy[object]) -> st.SearchStrategy[list[object]]:
    return st.lists(st.one_of(*parts), max_size=6).map(lambda found: sorted(found, key=lambda e: e.t_ns))


AROUND = st.builds(
    Context,
    cpu=in_order(
        st.builds(CpuSample, TIMES, st.just((50.0,)), PERCENT, PERCENT, PERCENT, PERCENT, st.integers(0, 3))
    ),
    cgroup=in_order(st.builds(CgroupSample, TIMES, throttled_ns=READING, interval_ns=NS)),
    gpu=in_order(
        st.builds(
            GpuSample,
            TIMES,
            sm_mhz=st.none() | st.integers(200, 2000),
            event_reasons=st.none() | st.integers(0, 0x3FF),
            call_ns=NS,
        )
    ),
    frames=in_order(st.builds(MonitorSample, TIMES, st.just(1.0), NS, st.none(), st.just(4.0))),
    profiles=in_order(
        st.builds(ProfileWindow, TIMES, st.just("graph"), st.just(4), st.booleans(), pause_ns=NS)
    ),
    tokens=st.lists(TOKENS, max_size=3),
    usual=st.none() | st.builds(Loads, st.floats(0, 20), st.floats(0, 20)),
)


@given(TOKENS, TYPICALS, AROUND)
def test_shares_are_positive_and_sum_to_the_excess(slow: Token, usual: Typical, around: Context) -> None:
    found = explain(slow, usual, around)
    assert all(share.ns > 0 for share in found)
    assert sum(share.ns for share in found) == max(slow.wall_ns - usual.wall_ns, 0)
    assert len({share.cause for share in found}) == len(found)
    assert all(share.evidence for share in found)


@given(TOKENS, TYPICALS)
def test_without_samples_nobody_outside_the_thread_is_accused(slow: Token, usual: Typical) -> None:
    causes = {share.cause for share in explain(slow, usual, Context())}
    assert causes <= {"cpu wait", "more cpu", "blocked", "unexplained"}


def test_totals_are_over_all_shares_of_all_tokens() -> None:
    found = [judged(token(67.0, delay=45.0), cpu_load(90, 300)), judged(token(52.0, cpu=52.0), CALM)]
    assert total_shares(found) == {"neighbour": 45 * MS, "more cpu": 30 * MS}
