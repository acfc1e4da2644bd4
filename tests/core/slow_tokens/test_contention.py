"""Running shares, and what contends now."""

from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.protocol.events import CgroupSample, CpuSample, HostInfo, Token
from idlegap.core.protocol.modes import ModeName
from idlegap.core.session.mode_history import KEPT_TOKENS, ModeHistory
from idlegap.core.slow_tokens.causes import Cause, CauseTotal, Contention, RecentTokens
from idlegap.core.slow_tokens.contention import (
    KEPT_SLOW,
    RECENT_NS,
    SlowLog,
    contention_now,
    mean_token,
    quiet_core,
    recently_begun,
)
from idlegap.core.slow_tokens.context import CpuUsers, Loads
from idlegap.core.slow_tokens.explain import Share, SlowToken

MS = 1_000_000
NOW = 10_000 * MS


def slow(index: int, *shares: tuple[Cause, int], mode: ModeName = "eager") -> SlowToken:
    excess = sum(ns for _, ns in shares)
    return SlowToken(
        mode,
        3,
        index,
        NOW,
        10 * MS + excess,
        excess,
        tuple(Share(cause, ns, f"{cause}!") for cause, ns in shares),
    )


# --- running shares ---------------------------------------------------------------------


def test_shares_sum_all_excess_and_count_tokens_by_their_largest_cause() -> None:
    log = SlowLog()
    log.add(slow(1, ("neighbour", 7), ("more cpu", 2)), "eager")
    log.add(slow(2, ("neighbour", 1), ("more cpu", 3)), "eager")
    log.add(slow(3, ("quota", 20)), "eager")
    assert log.shares() == (
        CauseTotal("quota", 20, 1),
        CauseTotal("neighbour", 8, 1),
        CauseTotal("more cpu", 5, 1),
    )


def test_the_log_is_newest_first_bounded_and_keeps_the_whole_line() -> None:
    log = SlowLog()
    for index in range(KEPT_SLOW + 5):
        log.add(slow(index, ("blocked", 5 * MS)), "eager")
    assert [view.index for view in log.recent] == list(range(KEPT_SLOW + 4, 4, -1))
    newest = log.recent[0]
    assert (newest.round, newest.mode, newest.wall_ns, newest.excess_ns) == (3, "eager", 15 * MS, 5 * MS)
    assert (newest.cause, newest.text) == ("blocked", f"token 3/{KEPT_SLOW + 4}: 15.0 ms, +5.00 ms: blocked!")
    assert newest.done_ns == NOW


def test_entering_a_mode_begins_its_shares_anew_and_leaves_the_log() -> None:
    log = SlowLog()
    log.add(slow(1, ("neighbour", 7)), "eager")
    log.entered()
    assert log.shares() == ()
    assert [view.index for view in log.recent] == [1]


def test_a_token_that_is_explained_after_its_mode_was_left_is_listed_but_not_counted() -> None:
    log = SlowLog()
    log.add(slow(1, ("neighbour", 7), mode="eager"), "graph")
    assert log.shares() == ()
    assert [view.mode for view in log.recent] == ["eager"]


# --- the badge ---------------------------------------------------------------------------


def tokens(delay_ms: float, count: int = 100, until_ns: int = NOW) -> list[Token]:
    """Newest first, 20 ms each, one after the other up to `until_ns`."""
    ends = [until_ns - i * 20 * MS for i in range(count)]
    return [Token(end - 20 * MS, end, end, run_delay_ns=round(delay_ms * MS)) for end in ends]


def mean_token_of(newest_first: Iterable[Token], now_ns: int) -> RecentTokens | None:
    return mean_token(recently_begun(newest_first, now_ns))


def cpu_users(own: float, others: float) -> CpuUsers:
    return CpuUsers(round(own * 250 * MS), round(others * 250 * MS), 0, 250 * MS, 1, 99.0)


CPU = CpuSample(NOW, (5.0, 99.0, 60.0, 10.0), 95.0, 2.0, 20.0, steal_pct=0.0, decode_core=1)
HOST = HostInfo(0, "Xeon", 4, (0, 1, 2, 3), 4.0, None)


def now(
    recent: list[Token],
    who: CpuUsers | None = None,
    cpu: CpuSample | None = CPU,
    cgroup: CgroupSample | None = None,
    host: HostInfo | None = HOST,
    usual: Loads | None = None,
) -> Contention | None:
    lately = mean_token_of(recent, NOW)
    return contention_now(lately, cpu_users=(who, usual), cpu=cpu, cgroup=cgroup, host=host)


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        (cpu_users(0.0, 1.0), Contention("neighbour", share=0.4, cores=1.0)),
        (cpu_users(1.5, 1.0), Contention("own threads", share=0.4, cores=1.5)),
        (cpu_users(0.05, 0.05), Contention("cpu wait", share=0.4)),
        (None, Contention("cpu wait", share=0.4)),
    ],
)
def test_waiting_for_a_cpu_is_contention_and_names_who_has_it(
    who: CpuUsers | None, expected: Contention
) -> None:
    assert now(tokens(8.0), who) == expected


def test_who_is_always_busy_elsewhere_is_not_blamed_for_a_new_wait() -> None:
    """Our own threads use one core at all times; now somebody uses half of another."""
    found = now(tokens(8.0), cpu_users(1.0, 0.5), usual=Loads(1.0, 0.0))
    assert found is not None
    assert found.pressure == "neighbour"


def test_waiting_a_twentieth_of_the_time_is_noise_and_old_tokens_do_not_count() -> None:
    assert now(tokens(1.0), cpu_users(0, 1)) is None
    assert now(tokens(1.1), cpu_users(0, 1)) is not None
    calm = tokens(0.0, count=RECENT_NS // (20 * MS))
    before = tokens(20.0, until_ns=NOW - RECENT_NS)
    assert now([*calm, *before], cpu_users(0, 1)) is None


def test_nothing_decoded_lately_is_no_contention() -> None:
    assert now(tokens(19.0, until_ns=NOW - RECENT_NS), cpu_users(0, 1)) is None
    assert now([]) is None
    assert contention_now(None, cpu_users=(None, None), cpu=None, cgroup=None, host=None) is None


def test_tokens_without_a_reading_of_run_delay_do_not_count_as_waiting() -> None:
    blind = [Token(t.start_ns, t.dispatched_ns, t.done_ns) for t in tokens(0)]
    assert now(blind, cpu_users(0, 1)) is None
    assert mean_token_of(blind, NOW) == RecentTokens(100, 20 * MS, None)
    half = [*blind[:50], *tokens(8.0)[50:]]
    assert mean_token_of(half, NOW) == RecentTokens(100, 20 * MS, 8 * MS)
    mostly = [*blind[:90], *tokens(8.0)[90:]]
    assert now(mostly, cpu_users(0, 1)) == Contention("neighbour", share=0.4, cores=1.0)


def test_no_more_than_the_token_is_waited_for() -> None:
    spiky = tokens(24.0)
    assert mean_token_of(spiky, NOW) == RecentTokens(100, 20 * MS, 20 * MS)
    assert now(spiky) == Contention("cpu wait", share=1.0)


@given(st.lists(st.none() | st.integers(0, 100), min_size=1, max_size=100))
def test_the_mean_delay_lies_among_those_that_were_read(delays_ms: list[int | None]) -> None:
    read = [delay for delay in delays_ms if delay is not None]
    waited = [
        msgspec.structs.replace(token, run_delay_ns=None if delay is None else delay * MS)
        for token, delay in zip(tokens(0), delays_ms, strict=False)
    ]
    lately = mean_token_of(waited, NOW)
    assert lately is not None
    assert lately.tokens == len(delays_ms)
    if not read:
        assert lately.run_delay_ns is None
    else:
        assert lately.run_delay_ns is not None
        assert min(min(read) * MS, lately.wall_ns) <= lately.run_delay_ns <= max(read) * MS
        assert lately.run_delay_ns <= lately.wall_ns


@pytest.mark.parametrize(("wall_ms", "expected"), [(20, 100), (4, 500), (2, KEPT_TOKENS)])
def test_short_tokens_reach_back_less_far_and_the_rate_covers_the_same(wall_ms: int, expected: int) -> None:
    history = ModeHistory()
    starts = range(0, NOW, wall_ms * MS)
    history.add(tuple(Token(at, at + wall_ms * MS, at + wall_ms * MS) for at in starts))
    lately = mean_token_of(reversed(history.tokens), NOW)
    assert lately is not None
    assert lately.tokens == expected
    assert abs(len(history.recent_walls_ns()) - lately.tokens) <= 1


def test_throttling_comes_first_and_never_exceeds_the_time() -> None:
    def held(ms: int) -> CgroupSample:
        return CgroupSample(NOW, 0.5, 3, ms * MS, interval_ns=250 * MS)

    waiting = tokens(8.0)
    assert now(waiting, cgroup=held(100)) == Contention("quota", share=0.4)
    assert now(waiting, cgroup=held(600)) == Contention("quota", share=1.0)
    found = now(waiting, cgroup=held(12))
    assert found is not None
    assert found.pressure == "cpu wait"


def test_steal_and_full_cores_are_contention_even_if_no_token_waits() -> None:
    stolen = replace_cpu(steal_pct=12.0)
    assert now(tokens(0), cpu=stolen) == Contention("steal", share=0.12)
    full = replace_cpu(others_pct=360.0)
    assert now(tokens(0), cpu=full) == Contention("crowded", cores=3.6, usable_cores=4)
    assert now(tokens(0), cpu=full, host=None) == Contention("crowded", cores=3.6, usable_cores=4)
    assert now(tokens(0), cpu=replace_cpu(others_pct=350.0)) is None
    assert now(tokens(0), cpu=CpuSample(NOW, (), others_pct=50.0), host=None) is None


def replace_cpu(**changes: float) -> CpuSample:
    return msgspec.structs.replace(CPU, **changes)


def test_the_quiet_core_is_usable_nearly_idle_and_not_decodes_own() -> None:
    assert quiet_core(CPU, HOST) == 0
    assert quiet_core(CPU, replace_affinity(1, 2, 3)) == 3
    assert quiet_core(CPU, replace_affinity(1, 2)) is None
    assert quiet_core(CPU, replace_affinity(1, 2, 9)) is None
    assert quiet_core(CPU, None) == 0
    assert quiet_core(CpuSample(0, (19.0, 3.0), decode_core=1), HOST) == 0
    assert quiet_core(CpuSample(0, (20.0, 3.0), decode_core=1), HOST) is None


def replace_affinity(*cores: int) -> HostInfo:
    return msgspec.structs.replace(HOST, affinity=cores)
