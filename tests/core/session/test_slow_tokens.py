"""From events to the screen's picture of slow tokens, and how the bench judges what was named."""

from collections.abc import Iterable

import msgspec
import pytest

from benchmarks.confusion import Injection, Row, Scenario, tally
from idlegap.core.phrasing.contention import advice, contention_words
from idlegap.core.phrasing.sentence import limiting_sentence
from idlegap.core.protocol.events import (
    AnyEvent,
    CpuSample,
    EngineStage,
    HostInfo,
    ModeEntered,
    Neighbours,
    Notice,
    Token,
    TokenBatch,
)
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.settings import Wait
from idlegap.core.session.build import snapshot_of
from idlegap.core.session.snapshot import STRIP_BUCKET_NS, Snapshot
from idlegap.core.session.state import State
from idlegap.core.slow_tokens.causes import Cause, CauseTotal
from idlegap.core.slow_tokens.explain import Share, SlowToken
from tests.ready import engine_ready

MS = 1_000_000
READY = engine_ready()


class Decoding:
    """Writes the events of a decode with one rival, in time: a batch of ten every 100 ms or
    more, and a CPU sample after every second batch."""

    def __init__(self) -> None:
        self.events: list[AnyEvent] = [
            HostInfo(0, "Xeon", 2, (0, 1), 2.0, None),
            READY,
            ModeEntered(1, "eager"),
            EngineStage(1, "decoding"),
            CpuSample(1, (0.0, 0.0)),
        ]
        self.now = 1
        self.mode: ModeName = "eager"
        self._batches = 0

    def batch(self, delay_ms: int = 0, more_cpu_ms: int = 0, others: float = 0.0) -> "Decoding":
        """The first of ten tokens waits for a CPU for `delay_ms` and works for `more_cpu_ms` more."""
        tokens = []
        for index in range(10):
            waits, works = (delay_ms * MS, more_cpu_ms * MS) if index == 0 else (0, 0)
            end = self.now + 10 * MS + waits + works
            tokens.append(Token(self.now, end, end, 10 * MS + works, waits, 0, 0))
            self.now = end
        self.events.append(TokenBatch(self.now, self.mode, 1, self._batches * 10, tuple(tokens)))
        self._batches += 1
        if self._batches % 2 == 0:
            sample = CpuSample(self.now, (5.0, 95.0), 95.0, 2.0, others, steal_pct=0.0, decode_core=1)
            self.events.append(sample)
        return self

    def calm(self, batches: int = 10) -> "Decoding":
        for _ in range(batches):
            self.batch()
        return self

    def say(self, event: AnyEvent) -> "Decoding":
        self.events.append(event)
        return self

    def enter(self, mode: ModeName) -> "Decoding":
        self.mode = mode
        return self.say(ModeEntered(self.now, mode))


def remembered(events: Iterable[AnyEvent]) -> State:
    state = State(0)
    for event in events:
        state.apply(event)
    return state


def shown(decoding: Decoding, later_ns: int = 0) -> Snapshot:
    now = decoding.now + later_ns
    return snapshot_of(remembered(decoding.events), now, in_process=False, spec_bytes_per_s=None)


# --- the snapshot -------------------------------------------------------------------------


def test_a_slow_token_is_listed_with_its_cause_once_its_sample_is_in() -> None:
    decoding = Decoding().calm().batch(delay_ms=20, others=50)
    assert shown(decoding).slow == ()
    snapshot = shown(decoding.batch(others=50))
    (view,) = snapshot.slow
    assert (view.index, view.round, view.mode, view.cause) == (100, 1, "eager", "neighbour")
    assert (view.wall_ns, view.excess_ns) == (30 * MS, 20 * MS)
    assert view.text == (
        "token 1/100: 30.0 ms, +20.0 ms: the decode thread waited 20.0 ms for a CPU; "
        "core 1 was 95 % busy, others used 0.5 cores"
    )
    assert snapshot.slow_shares == (CauseTotal("neighbour", 20 * MS, 1),)
    assert snapshot.threshold_ns == 11 * MS


def test_the_newest_slow_token_stands_first() -> None:
    decoding = Decoding().calm().batch(delay_ms=20).batch(others=50).batch(more_cpu_ms=9).batch()
    assert [(view.index, view.cause) for view in shown(decoding).slow] == [
        (120, "more cpu"),
        (100, "neighbour"),
    ]


def test_the_strip_names_the_largest_cause_of_each_bucket_that_had_slow_tokens() -> None:
    decoding = Decoding().calm().batch(delay_ms=20, more_cpu_ms=9, others=50).batch(others=50).calm(6)
    first = next(e for e in decoding.events if isinstance(e, TokenBatch) and e.first == 100)
    expected = first.tokens[0].done_ns // STRIP_BUCKET_NS
    causes = {column.bucket: (column.slow, column.cause) for column in shown(decoding).strip.columns}
    assert causes.pop(expected) == (1, "neighbour")
    assert set(causes.values()) == {(0, None)}


def test_a_bucket_that_is_still_open_when_its_token_is_explained_keeps_the_cause() -> None:
    decoding = Decoding().calm()
    # The sample comes right after the token, long before the bucket of 250 ms is over.
    slow = Token(decoding.now, decoding.now + 30 * MS, decoding.now + 30 * MS, 30 * MS, 0, 0, 0)
    decoding.now += 30 * MS
    decoding.say(TokenBatch(decoding.now, "eager", 1, 100, (slow,)))
    decoding.say(CpuSample(decoding.now, (5.0, 95.0), 95.0, 2.0, 0.0))
    assert shown(decoding).slow[0].cause == "more cpu"
    columns = shown(decoding, later_ns=STRIP_BUCKET_NS).strip.columns
    assert columns[-1].cause == "more cpu"


def test_a_bucket_that_was_closed_long_ago_gets_its_cause_when_it_is_known() -> None:
    decoding = Decoding().calm()
    sampled = len(decoding.events)
    decoding.batch(more_cpu_ms=9).calm(7)
    late = [e for e in decoding.events[sampled:] if not isinstance(e, CpuSample)]
    slow = next(e for e in late if isinstance(e, TokenBatch)).tokens[0]
    state = remembered([*decoding.events[:sampled], *late])
    bucket = slow.done_ns // STRIP_BUCKET_NS

    def causes() -> list[Cause | None]:
        return [column.cause for column in state.strip.columns(decoding.now) if column.bucket == bucket]

    assert causes() == [None]
    before = [column for column in state.strip.columns(decoding.now) if column.bucket != bucket]
    state.apply(CpuSample(decoding.now, (5.0, 95.0), 95.0, 2.0, 0.0))
    assert causes() == ["more cpu"]
    assert [column for column in state.strip.columns(decoding.now) if column.bucket != bucket] == before


def test_what_the_decode_thread_used_in_a_profile_is_not_taken_for_our_other_threads() -> None:
    """The engine used one core all the time; in the profile's part the decode thread slept."""
    decoding = Decoding().calm()
    start = decoding.now
    decoding.now += 200 * MS
    asleep = Token(start, decoding.now, decoding.now, 0, 0, 0, 0)
    decoding.say(TokenBatch(decoding.now, "eager", 1, 100, (asleep,), "profile"))
    decoding.batch(delay_ms=20).batch(delay_ms=20)
    assert {view.cause for view in shown(decoding).slow} == {"own threads"}


def test_shares_are_those_since_the_mode_was_entered() -> None:
    decoding = Decoding().calm().batch(delay_ms=20, others=50).batch(others=50)
    decoding.enter("graph").calm().batch(more_cpu_ms=5).batch()
    snapshot = shown(decoding)
    assert snapshot.slow_shares == (CauseTotal("more cpu", 5 * MS, 1),)
    assert [view.mode for view in snapshot.slow] == ["graph", "eager"]
    assert shown(decoding.say(READY)).slow_shares == ()


def test_the_badge_and_the_advice_come_and_go_with_the_rival() -> None:
    decoding = Decoding().calm()
    assert (contention_words(shown(decoding).contention), advice(shown(decoding))) == ("", "")
    for _ in range(10):
        decoding.batch(delay_ms=80, others=45)
    contended = shown(decoding)
    recent = contended.recent
    assert recent is not None
    assert recent.run_delay_ns is not None
    assert (
        contention_words(contended.contention) == "neighbour: waits 40 % for a CPU"
    )  # the calm before does not count
    assert round(recent.run_delay_ns / recent.wall_ns, 2) == 0.40
    assert "go to waiting for a CPU" in limiting_sentence(contended)
    assert "--pin 0" in advice(contended)
    assert contention_words(shown(decoding.calm(30)).contention) == ""


@pytest.mark.parametrize(("wait", "advised"), [("spin", True), ("block", False)])
def test_the_advice_knows_how_the_engine_waits(wait: Wait, advised: bool) -> None:
    decoding = Decoding().say(engine_ready(wait=wait)).enter("graph").calm()
    for _ in range(10):
        decoding.batch(delay_ms=80, others=45)
    contended = shown(decoding)
    assert contention_words(contended.contention).startswith("neighbour: waits ")
    assert ("--wait block gives the core away" in advice(contended)) == advised


def test_neighbours_of_our_own_are_counted_marked_and_named_in_the_advice() -> None:
    decoding = Decoding().calm().say(Neighbours(300 * MS, 2)).say(Neighbours(600 * MS, 3, (1,)))
    decoding.say(Neighbours(900 * MS, 0))
    assert [mark.label for mark in shown(decoding).strip.marks][1:] == [
        "+2 neighbours",
        "+1 neighbour",
        "-3 neighbours",
    ]
    assert shown(decoding).neighbours == 0
    decoding.say(Neighbours(decoding.now, 2))
    for _ in range(10):
        decoding.batch(delay_ms=80, others=45)
    snapshot = shown(decoding)
    assert snapshot.neighbours == 2
    assert advice(snapshot) == "2 neighbours are of our own making: remove them to compare."


def test_a_restarted_engine_still_has_its_neighbours() -> None:
    state = remembered([*Decoding().say(Neighbours(5, 2)).events, EngineStage(10, "starting")])
    assert state.facts.neighbours == 2
    assert state.slow.shares() == ()


def test_the_engines_notice_is_shown() -> None:
    assert shown(Decoding().say(Notice(1, "--pin 9: not done"))).notice == "--pin 9: not done"


def test_a_recording_gives_the_same_picture_as_the_live_session() -> None:
    decoding = Decoding().calm()
    for _ in range(4):
        decoding.batch(delay_ms=20, others=50).batch(more_cpu_ms=9, others=50).calm(3)
    decoding.enter("graph").calm()
    encoded = [msgspec.json.encode(event) for event in decoding.events]
    live = State(0)
    frames = 0
    for event in decoding.events:
        live.apply(event)
        # Looking at it must not change it.
        snapshot_of(live, event.t_ns, in_process=False, spec_bytes_per_s=None)
        frames += 1
    replayed = remembered(msgspec.json.decode(line, type=AnyEvent) for line in encoded)
    now = decoding.now
    assert frames == len(encoded)
    assert snapshot_of(live, now, in_process=False, spec_bytes_per_s=None) == snapshot_of(
        replayed, now, in_process=False, spec_bytes_per_s=None
    )
    assert len(live.slow.recent) == 8


# --- the bench's judgement -------------------------------------------------------------------


def named(start_ms: int, wall_ms: int, excess_ms: int, cause: Cause) -> SlowToken:
    end = (start_ms + wall_ms) * MS
    return SlowToken("eager", 1, 0, end, wall_ms * MS, excess_ms * MS, (Share(cause, excess_ms * MS, "!"),))


def decoded(*slow: SlowToken) -> list[Token]:
    return [Token(found.done_ns - found.wall_ns, found.done_ns, found.done_ns) for found in slow]


def judged(scenario: Scenario, *slow: SlowToken, others: float = 0.0) -> Row:
    loads = [CpuSample(99 * MS, ()), CpuSample(2000 * MS, (), others_pct=others)]
    return tally(scenario, decoded(*slow), slow, loads)


BURST = Injection(("neighbour",), 100 * MS, 200 * MS)


def scenario(*injections: Injection) -> Scenario:
    return Scenario("neighbour", 0, 1000 * MS, list(injections))


def test_a_token_is_slowed_by_a_fault_that_acted_during_half_of_its_excess() -> None:
    row = judged(
        scenario(BURST),
        named(110, 40, 20, "neighbour"),
        named(150, 40, 20, "more cpu"),
        named(190, 40, 20, "neighbour"),  # 10 of 20 ms
        named(191, 40, 20, "quota"),  # 9 of 20 ms
        named(500, 40, 20, "unexplained"),
        named(600, 40, 20, "more cpu"),
        named(700, 40, 20, "more cpu"),
    )
    assert (row.tokens, row.touched, row.slowed, row.right) == (7, 4, 3, 2)
    assert row.named == {"neighbour": 2, "more cpu": 1}
    assert row.background == {"quota": 1, "unexplained": 1, "more cpu": 2}
    assert row.share_right == pytest.approx(2 / 3)
    assert row.share_accused == pytest.approx(1 / 7)
    assert row.share_more_cpu == pytest.approx(2 / 7)


def test_of_a_pair_either_cause_is_right_where_both_acted() -> None:
    both = scenario(BURST, Injection(("blocked",), 150 * MS, 180 * MS))
    row = judged(
        both, named(110, 30, 20, "blocked"), named(150, 40, 20, "blocked"), named(151, 40, 20, "quota")
    )
    assert (row.slowed, row.right) == (3, 1)


def test_tokens_outside_the_scenario_are_not_its_own() -> None:
    row = judged(scenario(BURST), named(980, 40, 20, "neighbour"))
    assert (row.tokens, row.slowed, row.share_right) == (0, 0, None)
    assert row.share_accused == row.share_more_cpu == 0.0


def test_uninvited_load_spoils_a_sample_and_invited_load_does_not() -> None:
    slow = named(110, 40, 20, "neighbour")
    spoilt = judged(scenario(BURST), slow, others=40.0)
    assert (spoilt.disturbed, spoilt.tokens, spoilt.slowed) == (1, 0, 0)
    guests = Injection(("more cpu",), 100 * MS, 200 * MS, invited_pct=100.0)
    assert judged(scenario(BURST, guests), slow, others=120.0).slowed == 1
    assert judged(scenario(BURST, guests), slow, others=140.0).disturbed == 1
    gone = Injection(("more cpu",), 10 * MS, 20 * MS, invited_pct=100.0)
    assert judged(scenario(BURST, gone), slow, others=120.0).disturbed == 1
