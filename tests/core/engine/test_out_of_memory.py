"""No memory left: told in one way on every device, at whichever point it happens."""

import queue
import time

import pytest
import torch

from idlegap.core.engine.available_modes import Lineup
from idlegap.core.engine.device import one_memory_error
from idlegap.core.engine.errors import UnsupportedError, is_out_of_memory, memory_line
from idlegap.core.engine.modes.eager import EagerStatic
from idlegap.core.engine.outbox import Outbox
from idlegap.core.engine.worker import EngineThread
from idlegap.core.protocol.events import EngineFailed, ModeRefused, TokenBatch
from idlegap.core.protocol.reasons import because
from idlegap.core.protocol.settings import Settings
from idlegap.core.text.reasons import words

BEYOND_ANY_MACHINE = 10**15
"""Elements: more bytes than a 64-bit process can address, so no allocator can promise them."""


class TooLarge(EagerStatic):
    """A mode whose prefill needs more memory than there is."""

    def prefill(self) -> None:
        torch.empty(BEYOND_ANY_MACHINE)


class ALittleTooLarge(EagerStatic):
    """A mode that finds memory for everything but a step."""

    steps = 0

    def step(self) -> torch.Tensor:
        self.steps += 1
        if self.steps > 3:
            torch.empty(BEYOND_ANY_MACHINE)
        return super().step()


def test_a_failed_allocation_on_the_cpu_is_the_error_that_cuda_has_for_it() -> None:
    with pytest.raises(torch.OutOfMemoryError) as found, one_memory_error():
        torch.empty(BEYOND_ANY_MACHINE)
    assert is_out_of_memory(found.value)
    assert memory_line(found.value).startswith(
        "can't allocate memory: you tried to allocate 4000000000000000"
    )
    with pytest.raises(torch.OutOfMemoryError), one_memory_error():
        raise MemoryError


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="size of tensor") as found, one_memory_error():
        torch.zeros(2) + torch.zeros(3)
    assert not is_out_of_memory(found.value)
    assert not is_out_of_memory(ValueError("DefaultCPUAllocator: no"))


def test_prompts_that_do_not_fit_say_for_which_batch_and_what_would(loaded, device) -> None:
    settings = Settings(device="cpu", batch=10**12)
    words = r"not enough memory for batch 1,000,000,000,000: use a smaller --batch"
    with pytest.raises(UnsupportedError, match=words):
        Lineup.build(loaded, device, settings)


def test_with_one_sequence_a_smaller_batch_is_no_advice(device) -> None:
    assert "--batch" not in words(device.memory_reason(1))


def test_a_mode_that_does_not_fit_is_refused_and_another_decodes(run_loop) -> None:
    ran = run_loop(stop_at=4, baseline=TooLarge)
    (refused,) = ran.of(ModeRefused)
    assert (refused.mode, refused.reason) == (
        "eager-static",
        because("no-memory-for-prompt", memory="memory", batch=1),
    )
    assert {batch.mode for batch in ran.of(TokenBatch)} == {"eager"}


def test_memory_that_runs_out_in_the_midst_of_decoding_ends_the_loop_recognisably(run_loop) -> None:
    with pytest.raises(RuntimeError) as found:
        run_loop(stop_at=20, baseline=ALittleTooLarge)
    assert is_out_of_memory(found.value)


def test_an_engine_without_the_memory_says_so_in_a_line_and_shows_no_trace() -> None:
    outbox = Outbox(time.perf_counter_ns)
    engine = EngineThread(Settings(device="cpu", batch=10**12), outbox, queue.SimpleQueue())
    engine.start()
    engine.join()
    (failed,) = [event for event in outbox.drain() if isinstance(event, EngineFailed)]
    assert failed.unsupported
    assert failed.reason == "not enough memory for batch 1,000,000,000,000: use a smaller --batch"
    assert failed.log_tail == ()
