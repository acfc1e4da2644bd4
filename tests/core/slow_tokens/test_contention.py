"""Running shares, the badge for now, and the advice that follows."""

from collections.abc import Iterable
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.protocol.events import CgroupSample, CpuSample, HostInfo, Token
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.settings import Wait
from idlegap.core.session.mode_history import KEPT_TOKENS, ModeHistory
from idlegap.core.slow_tokens.causes import Cause, CauseTotal, RecentTokens
from idlegap.core.slow_tokens.contention import (
    ADVISED_SLOW,
    KEPT_SLOW,
    RECENT_NS,
    Contention,
    Pressure,
    Situation,
    SlowLog,
    advice,
    contention_now,
    mean_token,
    quiet_core,
    recently_begun,
)
from idlegap.core.slow_tokens.cpu_users import Loads, Rivals
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
    assert [view.token for view in log.recent] == list(range(KEPT_SLOW + 4, 4, -1))
    newest = log.recent[0]
    assert (newest.round, newest.mode, newest.wall_ns, newest.excess_ns) == (3, "eager", 15 * MS, 5 * MS)
    assert (newest.cause, newest.text) == ("blocked", f"token 3/{KEPT_SLOW + 4}: 15.0 ms, +5.00 ms: blocked!")
    assert newest.done_ns == NOW


def test_entering_a_mode_begins_its_shares_anew_and_leaves_the_log() -> None:
    log = SlowLog()
    log.add(slow(1, ("neighbour", 7)), "eager")
    log.entered()
    assert log.shares() == ()
    assert [view.token for view in log.recent] == [1]


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


def rivals(own: float, others: float) -> Rivals:
    return Rivals(round(own * 250 * MS), round(others * 250 * MS), 0, 250 * MS, 1, 99.0)


CPU = CpuSample(NOW, (5.0, 99.0, 60.0, 10.0), 95.0, 2.0, 20.0, steal_pct=0.0, decode_core=1)
HOST = HostInfo(0, "Xeon", 4, (0, 1, 2, 3), 4.0, None)


def now(
    recent: list[Token],
    who: Rivals | None = None,
    cpu: CpuSample | None = CPU,
    cgroup: CgroupSample | None = None,
    host: HostInfo | None = HOST,
    usual: Loads | None = None,
) -> Contention | None:
    lately = mean_token_of(recent, NOW)
    return contention_now(lately, rivals=(who, usual), cpu=cpu, cgroup=cgroup, host=host)


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        (rivals(0.0, 1.0), Contention("neighbour", "neighbour: waits 40 % for a CPU", 1.0)),
        (rivals(1.5, 1.0), Contention("own threads", "own threads: waits 40 % for a CPU", 1.5)),
        (rivals(0.05, 0.05), Contention("cpu wait", "waits 40 % for a CPU")),
        (None, Contention("cpu wait", "waits 40 % for a CPU")),
    ],
)
def test_waiting_for_a_cpu_is_contention_and_names_who_has_it(
    who: Rivals | None, expected: Contention
) -> None:
    assert now(tokens(8.0), who) == expected


def test_who_is_always_busy_elsewhere_is_not_blamed_for_a_new_wait() -> None:
    """Our own threads use one core at all times; now somebody uses half of another."""
    found = now(tokens(8.0), rivals(1.0, 0.5), usual=Loads(1.0, 0.0))
    assert found is not None
    assert found.pressure == "neighbour"


def test_waiting_a_twentieth_of_the_time_is_noise_and_old_tokens_do_not_count() -> None:
    assert now(tokens(1.0), rivals(0, 1)) is None
    assert now(tokens(1.1), rivals(0, 1)) is not None
    calm = tokens(0.0, count=RECENT_NS // (20 * MS))
    before = tokens(20.0, until_ns=NOW - RECENT_NS)
    assert now([*calm, *before], rivals(0, 1)) is None


def test_nothing_decoded_lately_is_no_contention() -> None:
    assert now(tokens(19.0, until_ns=NOW - RECENT_NS), rivals(0, 1)) is None
    assert now([]) is None
    assert contention_now(None, rivals=(None, None), cpu=None, cgroup=None, host=None) is None


def test_tokens_without_a_reading_of_run_delay_do_not_count_as_waiting() -> None:
    blind = [Token(t.start_ns, t.dispatched_ns, t.done_ns) for t in tokens(0)]
    assert now(blind, rivals(0, 1)) is None
    assert mean_token_of(blind, NOW) == RecentTokens(100, 20 * MS, None)
    half = [*blind[:50], *tokens(8.0)[50:]]
    assert mean_token_of(half, NOW) == RecentTokens(100, 20 * MS, 8 * MS)
    mostly = [*blind[:90], *tokens(8.0)[90:]]
    assert now(mostly, rivals(0, 1)) == Contention("neighbour", "neighbour: waits 40 % for a CPU", 1.0)


def test_no_more_than_the_token_is_waited_for() -> None:
    spiky = tokens(24.0)
    assert mean_token_of(spiky, NOW) == RecentTokens(100, 20 * MS, 20 * MS)
    assert now(spiky) == Contention("cpu wait", "waits 100 % for a CPU")


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
    assert now(waiting, cgroup=held(100)) == Contention("quota", "CPU quota: stopped 40 % of the time")
    assert now(waiting, cgroup=held(600)) == Contention("quota", "CPU quota: stopped 100 % of the time")
    found = now(waiting, cgroup=held(12))
    assert found is not None
    assert found.pressure == "cpu wait"


def test_steal_and_full_cores_are_contention_even_if_no_token_waits() -> None:
    stolen = replace_cpu(steal_pct=12.0)
    assert now(tokens(0), cpu=stolen) == Contention("steal", "steal: 12 % of this machine")
    full = replace_cpu(others_pct=360.0)
    assert now(tokens(0), cpu=full) == Contention("crowded", "others use 3.6 of 4 cores", 3.6)
    assert now(tokens(0), cpu=full, host=None) == Contention("crowded", "others use 3.6 of 4 cores", 3.6)
    assert now(tokens(0), cpu=replace_cpu(others_pct=350.0)) is None
    assert now(tokens(0), cpu=CpuSample(NOW, (), others_pct=50.0), host=None) is None


def replace_cpu(**changes: float) -> CpuSample:
    return msgspec.structs.replace(CPU, **changes)


# --- advice --------------------------------------------------------------------------------


def test_a_mode_that_cannot_run_here_is_no_advice() -> None:
    shares = (CauseTotal("more cpu", 90 * MS, ADVISED_SLOW),)
    assert "graph mode needs the CPU only once" in advice(None, shares, PLAIN)
    assert "graph" not in advice(None, shares, replace(PLAIN, graphs=False))


PLAIN = Situation("eager-static", CPU, None, HOST)


@pytest.mark.parametrize(
    ("pressure", "situation", "words"),
    [
        ("neighbour", PLAIN, "Core 0 is free: pin the decode thread there with --pin 0; graph mode"),
        ("cpu wait", PLAIN, "--pin 0"),
        ("crowded", replace(PLAIN, cpu=None), "No usable core is free: move the neighbours away"),
        ("neighbour", replace(PLAIN, ours=1), "One neighbour is of our own making: remove it"),
        ("neighbour", replace(PLAIN, ours=3), "3 neighbours are of our own making: remove them"),
        ("own threads", PLAIN, "OMP_NUM_THREADS=1) and pin the decode thread: --pin 0."),
        ("own threads", replace(PLAIN, cpu=None), "OMP_NUM_THREADS=1)."),
        ("quota", PLAIN, "Raise the container's CPU limit, or"),
        ("quota", replace(PLAIN, cgroup=CgroupSample(0, 1.5)), "CPU limit from 1.5 cores, or"),
        ("steal", PLAIN, "oversold"),
    ],
)
def test_advice_follows_what_contends_now(pressure: Pressure, situation: Situation, words: str) -> None:
    assert words in advice(Contention(pressure, ""), (), situation)


GIVES_AWAY = "; --wait block gives the core away while the GPU computes."


@pytest.mark.parametrize("mode", ["graph", "fused-graph"])
@pytest.mark.parametrize("pressure", ["neighbour", "cpu wait", "crowded"])
def test_who_submits_once_and_spins_is_advised_to_sleep_instead(mode: ModeName, pressure: Pressure) -> None:
    spins = replace(PLAIN, mode=mode)
    for situation, words in (
        (spins, "Core 0 is free: pin the decode thread there with --pin 0"),
        (
            replace(spins, cpu=None),
            "No usable core is free: move the neighbours away, or rent CPUs of your own",
        ),
        (replace(spins, ours=2), "2 neighbours are of our own making: remove them to compare"),
    ):
        assert advice(Contention(pressure, ""), (), situation) == words + GIVES_AWAY
        assert advice(Contention(pressure, ""), (), replace(situation, wait="block")) == words + "."


@pytest.mark.parametrize("mode", ["eager", "eager-static", "fused", "compiled", None])
@pytest.mark.parametrize("wait", ["spin", "block"])
def test_who_submits_all_the_time_is_advised_to_use_graphs_however_it_waits(
    mode: ModeName | None, wait: Wait
) -> None:
    said = advice(Contention("neighbour", ""), (), replace(PLAIN, mode=mode, wait=wait))
    assert said.endswith("--pin 0; graph mode needs the CPU only once a token.")
    assert "--wait" not in said


@pytest.mark.parametrize("pressure", ["own threads", "quota", "steal"])
def test_sleeping_is_not_advised_against_what_is_no_neighbour(pressure: Pressure) -> None:
    assert "--wait" not in advice(Contention(pressure, ""), (), replace(PLAIN, mode="graph"))


@pytest.mark.parametrize("cause", ["neighbour", "cpu wait"])
def test_slow_tokens_that_waited_for_a_cpu_are_a_reason_to_sleep_too(cause: Cause) -> None:
    shares = (CauseTotal(cause, 9, ADVISED_SLOW),)
    graph = replace(PLAIN, mode="graph")
    assert advice(None, shares, graph).endswith(GIVES_AWAY)
    assert "--wait" not in advice(None, shares, replace(graph, wait="block"))


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
    said = advice(None, shares, replace(PLAIN, in_process=in_process))
    assert words in said
    assert bool(said) == bool(words)


def test_a_few_slow_tokens_are_no_reason_for_advice() -> None:
    assert advice(None, (CauseTotal("blocked", 9, ADVISED_SLOW - 1),), PLAIN) == ""
    assert advice(None, (), PLAIN) == ""


def test_the_quiet_core_is_usable_nearly_idle_and_not_decodes_own() -> None:
    assert quiet_core(PLAIN) == 0
    assert quiet_core(replace(PLAIN, host=replace_affinity(1, 2, 3))) == 3
    assert quiet_core(replace(PLAIN, host=replace_affinity(1, 2))) is None
    assert quiet_core(replace(PLAIN, host=replace_affinity(1, 2, 9))) is None
    assert quiet_core(replace(PLAIN, host=None)) == 0
    assert quiet_core(replace(PLAIN, cpu=CpuSample(0, (19.0, 3.0), decode_core=1))) == 0
    assert quiet_core(replace(PLAIN, cpu=CpuSample(0, (20.0, 3.0), decode_core=1))) is None


def replace_affinity(*cores: int) -> HostInfo:
    return msgspec.structs.replace(HOST, affinity=cores)
