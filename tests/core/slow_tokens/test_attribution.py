"""Slow tokens are explained once the samples that cover them are in, live as in a recording."""

from collections.abc import Iterable
from itertools import pairwise

import msgspec

from idlegap.core.measure.typical_token import Typical
from idlegap.core.protocol.events import (
    AnyEvent,
    CgroupSample,
    CpuSample,
    EngineStage,
    GpuSample,
    ModeEntered,
    Token,
    TokenBatch,
)
from idlegap.core.session.state import State
from idlegap.core.slow_tokens.attribution import (
    MOST_PENDING,
    PATIENCE_NS,
    Attribution,
)
from idlegap.core.slow_tokens.explain import SlowToken, total_shares
from idlegap.core.slow_tokens.samples import KEPT_SAMPLES
from tests.ready import engine_ready

MS = 1_000_000
USUAL = Typical(10 * MS, 11 * MS, 10 * MS, 0, 10 * MS, 0, 0, 0)

READY = engine_ready()


def token(start_ms: int, wall_ms: int, delay_ms: int = 0) -> Token:
    end = (start_ms + wall_ms) * MS
    return Token(start_ms * MS, end, end, (wall_ms - delay_ms) * MS, delay_ms * MS, 0, 0)


def batch(*tokens: Token, first: int = 0) -> TokenBatch:
    return TokenBatch(tokens[-1].done_ns, "eager", 1, first, tokens)


def cpu(t_ms: int, others: float = 0.0) -> CpuSample:
    return CpuSample(t_ms * MS, (90.0,), 95.0, 1.0, others, decode_core=0)


def told(attribution: Attribution, *events: AnyEvent) -> list[tuple[int, str]]:
    """The tokens that are explained at each of `events`, as index and cause."""
    found: list[SlowToken] = []
    for event in events:
        attribution.observe(event)
        found += attribution.settled()
    return [(slow.index, slow.cause) for slow in found]


# --- one after the other ---------------------------------------------------------------


def test_a_slow_token_waits_for_the_sample_that_covers_it() -> None:
    attribution = Attribution()
    assert told(attribution, cpu(750), cpu(1000)) == []
    attribution.add(batch(token(1000, 10), token(1010, 30, delay_ms=20), first=7), USUAL)
    assert told(attribution, EngineStage(1041 * MS, "decoding")) == []
    assert told(attribution, cpu(1250, others=80)) == [(8, "neighbour")]
    assert told(attribution, cpu(1500, others=80)) == []


def test_a_batch_that_comes_after_its_samples_is_explained_at_once() -> None:
    attribution = Attribution()
    assert told(attribution, cpu(1000), cpu(1250, others=80)) == []
    late = batch(token(1010, 30, delay_ms=20))
    attribution.add(late, USUAL)
    assert told(attribution, late) == [(0, "neighbour")]


def test_every_kind_of_sample_that_comes_at_all_is_waited_for() -> None:
    attribution = Attribution()
    told(attribution, cpu(1000), CgroupSample(1000 * MS), GpuSample(1000 * MS))
    attribution.add(batch(token(1010, 30, delay_ms=20)), USUAL)
    assert told(attribution, cpu(1250, others=80), GpuSample(1250 * MS)) == []
    throttled = CgroupSample(1250 * MS, throttled=1, throttled_ns=20 * MS, interval_ns=250 * MS)
    assert told(attribution, throttled) == [(0, "quota")]


def test_patience_ends_after_a_second_of_the_events_own_time() -> None:
    attribution = Attribution()
    told(attribution, cpu(1000))
    attribution.add(batch(token(1010, 30, delay_ms=20)), USUAL)
    just = 1040 * MS + PATIENCE_NS
    assert told(attribution, EngineStage(just - 1, "decoding")) == []
    assert told(attribution, EngineStage(just, "decoding")) == [(0, "cpu wait")]


def test_without_sensors_a_slow_token_is_explained_by_its_own_readings() -> None:
    attribution = Attribution()
    attribution.add(batch(token(1010, 30)), USUAL)
    assert told(attribution, EngineStage(3000 * MS, "decoding")) == [(0, "more cpu")]


def test_what_still_waits_at_the_end_is_explained_with_what_is_known() -> None:
    attribution = Attribution()
    attribution.add(batch(token(1010, 30, delay_ms=20), token(1040, 15)), USUAL)
    assert [(slow.index, slow.cause) for slow in attribution.rest()] == [(0, "cpu wait"), (1, "more cpu")]
    assert attribution.rest() == ()


def test_unjudged_tokens_are_not_explained() -> None:
    attribution = Attribution()
    slow = batch(token(1010, 30))
    attribution.add(slow, None)
    attribution.add(msgspec.structs.replace(slow, excluded="profile"), USUAL)
    assert attribution.rest() == ()


def test_excluded_tokens_still_say_what_the_decode_thread_used() -> None:
    """Half of the engine's CPU time in the sample was the profile's, on the decode thread."""
    attribution = Attribution()
    told(attribution, cpu(1000))
    idle = msgspec.structs.replace(batch(Token(1000 * MS, 0, 1200 * MS, cpu_ns=0)), excluded="profile")
    attribution.add(idle, None)
    attribution.add(batch(token(1200, 30, delay_ms=20)), USUAL)
    assert told(attribution, cpu(1250)) == [(0, "own threads")]


def test_memory_stays_bounded_and_the_oldest_are_explained_first() -> None:
    attribution = Attribution()
    for i in range(2 * MOST_PENDING):
        attribution.add(batch(token(1000 + i, 30), first=i), USUAL)
    early = told(attribution, EngineStage(1, "decoding"))
    assert [index for index, _ in early] == list(range(MOST_PENDING))


def test_old_samples_are_forgotten() -> None:
    attribution = Attribution()
    told(attribution, cpu(750), cpu(1000))
    old = token(800, 30)
    assert attribution.cpu_users(old)[0] is not None
    told(attribution, *(cpu(1250 + 250 * i) for i in range(2 * KEPT_SAMPLES)))
    assert attribution.cpu_users(old)[0] is None


# --- whole recordings --------------------------------------------------------------------


def recording(slow_at: dict[int, int], at: int | None = None, said: AnyEvent = READY) -> list[AnyEvent]:
    """120 eager tokens of 10 ms in batches of ten, each followed by the sample that covers it;
    `slow_at` adds run delay (ms) to some, and `said` precedes token `at`."""
    events: list[AnyEvent] = [EngineStage(0, "decoding"), cpu(0, others=400)]
    now = 0
    for first in range(0, 120, 10):
        if first == at:
            events.append(said)
        tokens = []
        for index in range(first, first + 10):
            delay = slow_at.get(index, 0)
            tokens.append(token(now, 10 + delay, delay))
            now += 10 + delay
        events += [batch(*tokens, first=first), cpu(now, others=400)]
    return events


def found_in(events: Iterable[AnyEvent]) -> list[tuple[int, str]]:
    return [(slow.index, slow.cause) for slow in State.of(events).slow_tokens]


def test_a_calm_recording_has_no_slow_tokens() -> None:
    assert found_in(recording({})) == []


def test_the_delayed_tokens_of_a_recording_are_found_and_explained() -> None:
    found = State.of(recording({58: 8, 91: 3})).slow_tokens
    assert [(slow.index, slow.cause) for slow in found] == [(58, "neighbour"), (91, "neighbour")]
    totals = total_shares(found)
    assert totals["neighbour"] == 11 * MS
    assert sum(totals.values()) == sum(slow.excess_ns for slow in found)


def test_tokens_before_anything_is_usual_are_not_judged() -> None:
    assert found_in(recording({5: 50, 25: 50})) == []


def test_the_last_tokens_are_explained_although_no_sample_follows() -> None:
    events = recording({119: 8})
    assert found_in(events[:-1]) == [(119, "neighbour")]


def test_entering_the_mode_again_or_loading_the_model_again_begins_anew() -> None:
    assert found_in(recording({57: 8})) == [(57, "neighbour")]
    assert found_in(recording({57: 8}, 50, ModeEntered(0, "graph"))) == [(57, "neighbour")]
    assert found_in(recording({57: 8}, 50, ModeEntered(0, "eager"))) == []
    assert found_in(recording({57: 8}, 50, READY)) == []


def test_excluded_tokens_are_neither_judged_nor_usual() -> None:
    def marked(event: AnyEvent, first: int) -> AnyEvent:
        if isinstance(event, TokenBatch) and event.first >= first:
            return msgspec.structs.replace(event, excluded="profile")
        return event

    assert found_in(marked(event, 50) for event in recording({57: 8})) == []
    late = recording({57: 8})
    early = [
        msgspec.structs.replace(e, excluded="warm-up") if isinstance(e, TokenBatch) and e.first < 40 else e
        for e in late
    ]
    assert found_in(early) == []


def test_each_slow_token_is_told_once_in_order() -> None:
    found = found_in(recording(dict.fromkeys(range(60, 120, 7), 8)))
    assert [index for index, _ in found] == list(range(60, 120, 7))
    assert all(a < b for (a, _), (b, _) in pairwise(found))


def test_what_is_usual_waits_for_the_tokens_that_belong_to_it() -> None:
    """Batches come after their samples. The decode thread used half a core and another thread of
    ours the other half; now somebody else uses half a core, and a token waits."""
    attribution = Attribution()

    def sample(t_ms: int, others: float) -> CpuSample:
        return CpuSample(t_ms * MS, (100.0, 50.0), 100.0, 0.0, others, decode_core=0)

    for i in range(1, 20):
        told(attribution, sample(250 * i, 0.0))
        half = Token((i - 1) * 250 * MS, 0, i * 250 * MS, cpu_ns=125 * MS)
        attribution.add(batch(half), None)
    attribution.add(batch(token(4750, 250, delay_ms=125)), USUAL)
    assert told(attribution, sample(5000, 50.0)) == [(0, "neighbour")]


def test_of_two_busy_rivals_the_one_who_is_new_is_named() -> None:
    """Our own threads always use a core; others begin to use one when a token waits."""
    attribution = Attribution()

    def sample(t_ms: int, others: float) -> CpuSample:
        return CpuSample(t_ms * MS, (100.0, 100.0), 200.0, 0.0, others, decode_core=0)

    told(attribution, *(sample(250 * i, 0.0) for i in range(20)))
    attribution.add(batch(token(4800, 30, delay_ms=20)), USUAL)
    assert told(attribution, sample(5000, 100.0)) == [(0, "neighbour")]
    attribution.add(batch(token(5100, 30, delay_ms=20)), USUAL)
    assert told(attribution, sample(5250, 0.0)) == [(0, "own threads")]
