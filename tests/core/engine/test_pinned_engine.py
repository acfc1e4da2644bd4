"""The real decode thread, pinned: where it runs, where the others run, and what it says."""

import os
import queue
import time

from idlegap.core.engine.outbox import Outbox
from idlegap.core.engine.worker import EngineThread
from idlegap.core.protocol.commands import AnyCommand, Stop
from idlegap.core.protocol.events import EngineReady, Notice, TokenBatch
from idlegap.core.protocol.reasons import code_of
from idlegap.core.protocol.settings import Settings
from idlegap.core.text.reasons import words

CORE = max(os.sched_getaffinity(0))


def test_the_decode_thread_is_pinned_alone_and_a_refused_nice_value_does_not_stop_it() -> None:
    usable = os.sched_getaffinity(0)
    commands: queue.SimpleQueue[AnyCommand] = queue.SimpleQueue()
    settings = Settings(device="cpu", prompt_tokens=4, new_tokens=8, pin_core=CORE + 1)
    refused = EngineThread(settings, Outbox(time.perf_counter_ns), commands)
    commands.put(Stop())
    refused.start()
    refused.join()
    said = refused.outbox.drain()
    (ready,) = [event for event in said if isinstance(event, EngineReady)]
    assert code_of(ready.missing["pin_core"]) == "pin-outside"
    assert [event.text for event in said if isinstance(event, Notice)] == [words(ready.missing["pin_core"])]
    assert not refused.failed
    assert os.sched_getaffinity(0) == usable

    pinned = EngineThread(
        Settings(device="cpu", prompt_tokens=4, new_tokens=8, pin_core=CORE),
        Outbox(time.perf_counter_ns),
        commands,
    )
    pinned.start()
    try:
        tid = 0
        while (event := pinned.outbox.take()) is not None:
            if isinstance(event, EngineReady):
                tid = event.tid
            if isinstance(event, TokenBatch):
                break
        assert os.sched_getaffinity(tid) == {CORE}
        assert os.sched_getaffinity(0) == usable
    finally:
        commands.put(Stop())
        pinned.join()
    assert not pinned.failed
