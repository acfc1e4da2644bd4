"""CPU time now and at best: falsified by waiting, spinning, spikes, and too few tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.measure.cpu_time import RECENT_LEAST_TOKENS, CpuWork, LeastCpu, cpu_work
from idlegap.core.measure.typical_token import LEAST_TOKENS
from idlegap.core.phrasing.sentence import limiting_sentence
from idlegap.core.protocol.events import AnyEvent, EngineStage, ModeEntered, ProfileWindow, Token, TokenBatch
from idlegap.core.protocol.reasons import because
from idlegap.core.session.build import snapshot_of
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.session.state import State
from tests.ready import engine_ready

MS = 1_000_000
BUSY_NS = 4 * MS


def tokens(
    *cpu_ms: float, wait_ms: float = 0.1, delay_ms: float = 0.0, from_ns: int = 0
) -> tuple[Token, ...]:
    """Tokens one after the other that computed for `cpu_ms` each to submit; then the device was
    waited for, and a core for `delay_ms` of the submission."""
    made, start_ns = [], from_ns
    for cpu in cpu_ms:
        dispatched_ns = start_ns + round((cpu + delay_ms) * MS)
        done_ns = dispatched_ns + round(wait_ms * MS)
        made.append(Token(start_ns, dispatched_ns, done_ns, round(cpu * MS), round(delay_ms * MS), 0, 0))
        start_ns = done_ns
    return tuple(made)


def least(*blocks: tuple[Token, ...]) -> LeastCpu:
    kept = LeastCpu()
    for block in blocks:
        kept.add(block)
    return kept


@pytest.mark.parametrize(("now_ms", "slow"), [(46.0, True), (29.0, True), (28.0, False), (20.0, False)])
def test_the_same_work_at_more_cpu_time_than_noise_makes_is_slow(now_ms: float, slow: bool) -> None:
    best = least(tokens(*[23.0] * 40))
    work = cpu_work(tokens(*[now_ms] * 40), best, BUSY_NS)
    assert work == CpuWork(round(now_ms * MS), round(min(now_ms, 23.0) * MS), slow)


def test_waiting_for_a_core_is_not_the_host_s_speed() -> None:
    best = least(tokens(*[23.0] * 40))
    assert cpu_work(tokens(*[23.0] * 40, delay_ms=23.0), best, BUSY_NS) == CpuWork(
        23 * MS, 23 * MS, slow=False
    )


def test_a_few_slow_tokens_are_not_the_host_s_speed_either() -> None:
    best = least(tokens(*[23.0] * 40))
    assert cpu_work(tokens(*[23.0] * 11, *[90.0] * 10), best, BUSY_NS) == CpuWork(
        23 * MS, 23 * MS, slow=False
    )


def test_a_host_that_has_become_faster_is_not_slow_now() -> None:
    best = least(tokens(*[23.0] * 40))
    newest_first = tokens(*[24.0] * 8, *[36.0] * 30)
    assert cpu_work(newest_first, best, BUSY_NS) == CpuWork(36 * MS, 23 * MS, slow=False)
    assert cpu_work(newest_first[5:], best, BUSY_NS) == CpuWork(36 * MS, 23 * MS, slow=True)


def test_one_lucky_token_makes_no_best() -> None:
    assert least(tokens(5.0, *[23.0] * (LEAST_TOKENS - 1))).ns == 23 * MS


def test_where_the_thread_spins_for_the_device_cpu_time_tells_nothing() -> None:
    spun = tuple(Token(at * 5 * MS, at * 5 * MS + MS, (at + 1) * 5 * MS, 5 * MS, 0, 0, 0) for at in range(40))
    assert least(spun).ns is None
    assert cpu_work(spun, least(tokens(*[23.0] * 40)), BUSY_NS) == because("waits-for-gpu")


@pytest.mark.parametrize("now_ms", [94.0, 190.0])
def test_a_gpu_that_slowed_down_is_no_slow_host_though_the_thread_spins(now_ms: float) -> None:
    """Launches wait for a full queue, so dispatch and CPU time are the whole token; the window is older
    than the slowdown."""
    best = least(tokens(*[63.0] * 40))
    assert cpu_work(tokens(*[now_ms] * 40), best, 63 * MS) == because("gpu-fills-token")
    assert cpu_work(tokens(*[now_ms] * 40), best, None) == because("needs-window")
    assert cpu_work(tokens(*[now_ms] * 40), best, 31 * MS) == CpuWork(round(now_ms * MS), 63 * MS, slow=True)


def test_how_much_of_a_token_the_gpu_works_is_judged_at_the_fastest_tokens_known() -> None:
    slow_before = least(tokens(*[190.0] * 40))
    assert cpu_work(tokens(*[63.0] * 40), slow_before, 63 * MS) == because("gpu-fills-token")


def test_without_a_clock_of_the_thread_it_says_so() -> None:
    blind = tuple(Token(at * MS, (at + 1) * MS, (at + 1) * MS) for at in range(40))
    assert least(blind).ns is None
    assert cpu_work(blind, least(blind), BUSY_NS) == because("no-thread-clock")


@pytest.mark.parametrize("count", [0, RECENT_LEAST_TOKENS - 1])
def test_of_too_few_tokens_nothing_is_claimed(count: int) -> None:
    best = least(tokens(*[23.0] * 40))
    assert cpu_work(tokens(*[46.0] * count), best, BUSY_NS) == because("few-recent-tokens", tokens=count)
    few = tokens(*[23.0] * (LEAST_TOKENS - 1))
    assert cpu_work(few, least(few), BUSY_NS) == because("few-tokens", tokens=LEAST_TOKENS)


@given(st.lists(st.floats(1, 100), min_size=LEAST_TOKENS, max_size=4 * LEAST_TOKENS))
def test_the_best_is_never_above_what_was_just_seen(cpu_ms: list[float]) -> None:
    seen = tokens(*cpu_ms, wait_ms=0)
    work = cpu_work(seen[-RECENT_LEAST_TOKENS:], least(seen), 0)
    assert isinstance(work, CpuWork)
    assert min(token.cpu_ns or 0 for token in seen) <= work.least_ns <= work.cpu_ns


def told(device: str, *cpu_ms: float, busy_ms: float = 4.0) -> Snapshot:
    """What a session shows at the end of eager-static tokens that took `cpu_ms`, in two visits."""
    half = len(cpu_ms) // 2
    first = tokens(*cpu_ms[:half])
    second = tokens(*cpu_ms[half:], from_ns=first[-1].done_ns)
    window = ProfileWindow(0, "eager-static", 4, accepted=True, busy_ns=round(busy_ms * MS), kernels=1429)
    events: list[AnyEvent] = [engine_ready(device=device), EngineStage(0, "decoding"), window]
    for visit in (first, second):
        events.append(ModeEntered(visit[0].start_ns, "eager-static"))
        events.append(TokenBatch(visit[-1].done_ns, "eager-static", 1, 0, visit, None))
    state = State(0)
    for event in events:
        state.apply(event)
    return snapshot_of(state, second[-1].done_ns, in_process=False, spec_bytes_per_s=None)


def test_the_best_outlives_a_visit_of_its_mode() -> None:
    assert told("cuda:0", *[23.0] * 40, *[46.0] * 40).cpu_work == CpuWork(46 * MS, 23 * MS, slow=True)


def test_where_the_cpu_computes_nothing_is_claimed() -> None:
    shown = told("cpu", *[23.0] * 40, *[46.0] * 40)
    assert (shown.cpu_work, shown.cpu_work_reason) == (None, because("cpu-computes"))


@pytest.mark.parametrize("slow_ms", [94.0, 190.0])
def test_the_screen_does_not_blame_the_host_for_a_gpu_that_slowed_down(slow_ms: float) -> None:
    shown = told("cuda:0", *[63.0] * 40, *[slow_ms] * 40, busy_ms=62.8)
    assert (shown.cpu_work, shown.cpu_work_reason) == (None, because("gpu-fills-token"))
    assert shown.host_changes == ()
    assert "host is slow" not in limiting_sentence(shown)
    same = told("cuda:0", *[63.0] * 40, *[slow_ms] * 40, busy_ms=3.6)
    assert "host changed speed" in limiting_sentence(same)
