"""The outbox never makes the decode thread wait, and counts what it had to drop."""

from idlegap.core.engine.outbox import Outbox
from idlegap.core.protocol.events import Dropped, EngineStage


def stage(n):
    return EngineStage(n, "decoding")


def test_events_come_out_in_order_and_the_end_is_none():
    outbox = Outbox(lambda: 0)
    outbox.put(stage(1))
    outbox.put(stage(2))
    outbox.close()
    assert [outbox.take(), outbox.take(), outbox.take()] == [stage(1), stage(2), None]


def test_what_does_not_fit_is_dropped_and_reported_once_there_is_room():
    outbox = Outbox(lambda: 7, capacity=2)
    for n in range(5):
        outbox.put(stage(n))
    assert outbox.drain() == [stage(0), stage(1)]
    outbox.put(stage(5))
    outbox.put(stage(6))
    assert outbox.drain() == [Dropped(7, 3), stage(5)]
    outbox.put(stage(7))
    assert outbox.drain() == [Dropped(7, 4), stage(7)]


def test_closing_a_full_outbox_still_marks_the_end():
    outbox = Outbox(lambda: 0, capacity=2)
    outbox.put(stage(1))
    outbox.put(stage(2))
    outbox.close()
    assert [outbox.take(), outbox.take()] == [stage(2), None]
