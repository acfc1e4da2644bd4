"""Slow tokens of known cause get that cause, and shares always sum to the excess."""

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.slow import SlowToken, explain, judge, slow_tokens, total_shares
from core.analysis.surroundings import Surroundings
from core.analysis.typical import Typical
from core.events import (
    AnyEvent,
    CgroupSample,
    CpuSample,
    EngineReady,
    EngineStage,
    GpuSample,
    ModeEntered,
    MonitorSample,
    ProfileWindow,
    Token,
    TokenBatch,
)

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
CALM_CPU = [
    CpuSample(1100 * MS, (5.0, 99.0), engine_pct=100.0, monitor_pct=2.0, others_pct=5.0, decode_core=1)
]
CALM = Surroundings(cpu=CALM_CPU, gpu=CALM_GPU)


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


def shares(slow: Token, around: Surroundings = CALM, usual: Typical = EAGER) -> dict[str, float]:
    """Shares in ms, rounded to the microsecond."""
    return {share.cause: round(share.ns / MS, 3) for share in explain(slow, usual, around)}


def cpu_load(engine: float, others: float, steal: float = 0.0) -> Surroundings:
    sample = CpuSample(1100 * MS, (5.0, 97.0), engine, 2.0, others, steal_pct=steal, decode_core=1)
    return replace(CALM, cpu=[sample])


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
        (token(41.0, delay=19.0), cpu_load(300, 10), {"own threads": 19.0}),
        (token(41.0, delay=19.0), CALM, {"cpu wait": 19.0}),
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
        (token(41.0, blocked=3), cpu_load(100, 0, steal=20.0), {"blocked": 19.0}),
        (token(41.0), CALM, {"unexplained": 19.0}),
        (token(), CALM, {}),
        (token(20.0, cpu=20.0), CALM, {}),  # faster than usual: nothing to explain
    ],
)
def test_an_injected_cause_gets_the_excess(
    slow: Token, around: Surroundings, expected: dict[str, float]
) -> None:
    assert shares(slow, around) == expected


def test_two_causes_share_the_excess() -> None:
    hot_and_crowded = replace(HOT, cpu=cpu_load(90, 300).cpu)
    assert shares(token(32.0, wait=6.4, delay=10.0), hot_and_crowded) == {"gpu clock": 6.0, "neighbour": 10.0}
    both = replace(THROTTLED, cpu=cpu_load(90, 300).cpu)
    assert shares(token(67.0, delay=45.0), both) == {"quota": 30.0, "neighbour": 15.0}


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
    (share,) = explain(blind, EAGER, Surroundings())
    assert (share.cause, share.ns) == ("unexplained", 30 * MS)
    assert share.evidence == "unexplained: CPU time, run delay, switches n/a"


# --- what is said --------------------------------------------------------------------


def slow_token(slow: Token, around: Surroundings) -> SlowToken:
    (found,) = judge(TokenBatch(0, "eager-static", 7, 1204, (slow,)), EAGER, around)
    return found


def test_the_text_names_the_token_its_excess_and_the_evidence() -> None:
    found = slow_token(token(40.9, delay=17.6), cpu_load(90, 250))
    assert found.cause == "neighbour"
    assert found.text == (
        "token 1,204: 41.3 ms, +18.9 ms: the decode thread waited 17.6 ms for a CPU; "
        "core 1 was 97 % busy, others used 2.5 cores"
    )


@pytest.mark.parametrize(
    ("slow", "around", "words"),
    [
        (token(wait=6.4), HOT, "the GPU was held back: hardware thermal slowdown"),
        (token(52.0, delay=30.0), THROTTLED, "the CPU quota stopped the process for 30.0 ms"),
        (token(41.0, delay=19.0), cpu_load(300, 10), "our own other threads used 2.0 cores"),
        (token(41.0, delay=19.0), CALM, "who had it is not known"),
        (token(41.0, blocked=3), NVML, "an NVML round of 18.0 ms overlapped it for 18.0 ms"),
        (token(52.0, cpu=52.0), CALM, "the same work took 30.0 ms more CPU time"),
        (token(52.0, blocked=4), CALM, "the thread slept 30.0 ms longer, in 3 more switches"),
        (
            token(41.0),
            cpu_load(100, 0, steal=20.0),
            "off the CPU for 19.0 ms without a switch; steal was 20 %",
        ),
        (token(41.0), CALM, "unexplained: no reading accounts for it"),
    ],
)
def test_each_cause_brings_its_evidence(slow: Token, around: Surroundings, words: str) -> None:
    assert words in slow_token(slow, around).text


def test_a_frame_beside_a_blocked_token_is_mentioned() -> None:
    drawn = replace(CALM, frames=[MonitorSample(1020 * MS, 5.0, 9 * MS, None, 4.0)])
    assert slow_token(token(32.0, blocked=4), drawn).text.endswith(
        "in 3 more switches while a frame of 9.0 ms was drawn"
    )
    assert slow_token(token(32.0), drawn).cause == "unexplained"


def test_a_named_cause_no_larger_than_the_unexplained_rest_does_not_win() -> None:
    found = slow_token(token(32.0, delay=5.0), cpu_load(90, 300))
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
    Surroundings,
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
)


@given(TOKENS, TYPICALS, AROUND)
def test_shares_are_positive_and_sum_to_the_excess(slow: Token, usual: Typical, around: Surroundings) -> None:
    found = explain(slow, usual, around)
    assert all(share.ns > 0 for share in found)
    assert sum(share.ns for share in found) == max(slow.wall_ns - usual.wall_ns, 0)
    assert len({share.cause for share in found}) == len(found)
    assert all(share.evidence for share in found)


@given(TOKENS, TYPICALS)
def test_without_samples_nobody_outside_the_thread_is_accused(slow: Token, usual: Typical) -> None:
    causes = {share.cause for share in explain(slow, usual, Surroundings())}
    assert causes <= {"cpu wait", "more cpu", "blocked", "unexplained"}


# --- whole recordings --------------------------------------------------------------------


READY = EngineReady(
    t_ns=0,
    pid=1,
    tid=1,
    model="synthetic:tiny",
    shape="tiny",
    random_weights=True,
    dtype="float16",
    attention="sdpa",
    device="cuda:0",
    device_name="NVIDIA H200",
    device_uuid=None,
    weight_bytes=1,
    parameters=1,
    prompt_tokens=512,
    new_tokens=255,
    cache_len=767,
    batch=1,
    modes=(),
    torch="2.11.0",
    transformers="5.17.0",
    python="3.12.3",
)


def recording(slow_at: dict[int, float], at: int | None = None, said: AnyEvent = READY) -> list[AnyEvent]:
    """120 eager tokens of about 10 ms in batches of ten; `slow_at` adds run delay (ms) to some, and
    `said` precedes token `at`."""
    events: list[AnyEvent] = [EngineStage(0, "decoding")]
    now = 0
    for first in range(0, 120, 10):
        if first == at:
            events.append(said)
        batch = []
        for index in range(first, first + 10):
            delay = round(slow_at.get(index, 0.0) * MS)
            end = now + 10 * MS + delay + (index % 3) * MS // 10
            batch.append(Token(now, end, end, cpu_ns=10 * MS, run_delay_ns=delay, preempted=0, blocked=0))
            now = end
        events.append(TokenBatch(now, "eager", 1, first, tuple(batch)))
        events.append(CpuSample(now, (), engine_pct=95.0, monitor_pct=1.0, others_pct=400.0))
    return events


def test_a_calm_recording_has_no_slow_tokens() -> None:
    assert slow_tokens(recording({})) == ()


def test_the_delayed_tokens_of_a_recording_are_found_and_explained() -> None:
    found = slow_tokens(recording({58: 8.0, 91: 3.0}))
    assert [(token.index, token.cause) for token in found] == [(58, "neighbour"), (91, "neighbour")]
    totals = total_shares(found)
    assert totals["neighbour"] == 11 * MS
    assert sum(totals.values()) == sum(token.excess_ns for token in found)


def test_tokens_before_anything_is_usual_are_not_judged() -> None:
    assert slow_tokens(recording({5: 50.0, 25: 50.0})) == ()


def test_entering_the_mode_again_or_loading_the_model_again_begins_anew() -> None:
    assert len(slow_tokens(recording({57: 8.0}))) == 1
    assert len(slow_tokens(recording({57: 8.0}, 50, ModeEntered(0, "graph")))) == 1
    assert slow_tokens(recording({57: 8.0}, 50, ModeEntered(0, "eager"))) == ()
    assert slow_tokens(recording({57: 8.0}, 50, READY)) == ()


def test_excluded_tokens_are_neither_judged_nor_usual() -> None:
    def marked(event: AnyEvent, first: int) -> AnyEvent:
        if isinstance(event, TokenBatch) and event.first >= first:
            return msgspec.structs.replace(event, excluded="profile")
        return event

    events = recording({57: 8.0})
    assert slow_tokens(marked(event, 50) for event in events) == ()
    only_usual = [event for event in events if isinstance(event, TokenBatch)]
    assert judge(msgspec.structs.replace(only_usual[5], excluded="verify"), EAGER, CALM) == ()
