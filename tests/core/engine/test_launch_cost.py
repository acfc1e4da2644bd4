"""What ends a round and what one launch costs, over the real loop on the CPU and a fake clock."""

from collections.abc import Callable

import torch

from idlegap.core.engine.device import Device
from idlegap.core.engine.microbenchmarks import BATCHES, LAUNCHES, probe_dispatch, submission_ns
from idlegap.core.engine.verify import Verifier
from idlegap.core.protocol.commands import ProbeDispatch, SetMode, TakeProfile, VerifyModes
from idlegap.core.protocol.events import DispatchProbe, RoundFinished, RoundStarted, TokenBatch
from idlegap.core.protocol.reasons import because


def test_a_round_is_finished_when_all_its_tokens_are_out(run_loop):
    ran = run_loop(stop_at=25)
    finished = ran.of(RoundFinished)
    assert [(f.round, f.tokens, f.mode) for f in finished] == [
        (1, 10, "eager-static"),
        (2, 10, "eager-static"),
    ]
    for one in finished:
        at = ran.events.index(one)
        before = [e for e in ran.events[:at] if isinstance(e, TokenBatch) and e.round == one.round]
        assert sum(len(batch.tokens) for batch in before) == 10
        after = [e for e in ran.events[at:] if isinstance(e, TokenBatch | RoundStarted)]
        assert all(e.round > one.round for e in after)


def test_a_round_that_is_cut_off_is_not_finished(run_loop):
    ran = run_loop({4: [SetMode("eager")], 9: [VerifyModes()]}, stop_at=13)
    started = {r.round for r in ran.of(RoundStarted)}
    assert len(started) >= 3
    assert ran.of(RoundFinished) == []


def test_on_the_cpu_memory_and_launches_have_a_reason_instead(run_loop):
    ran = run_loop({4: [ProbeDispatch()]}, stop_at=11)
    (finished,) = ran.of(RoundFinished)
    assert finished.peak_memory_bytes is None
    assert finished.missing == {"peak_memory_bytes": because("needs-cuda")}
    (probe,) = ran.of(DispatchProbe)
    assert (probe.launch_ns, probe.operator_ns) == (None, None)
    assert probe.missing == {"launch_ns": because("needs-cuda"), "operator_ns": because("needs-cuda")}


def test_a_probe_is_followed_by_a_warm_up(run_loop):
    ran = run_loop({6: [ProbeDispatch()]}, stop_at=10)
    assert [len(b.tokens) for b in ran.of(TokenBatch) if b.excluded == "warm-up"] == [3, 3]


def test_a_profile_without_cuda_does_not_end_a_round(run_loop):
    ran = run_loop({9: [TakeProfile()]}, stop_at=10)
    assert [f.tokens for f in ran.of(RoundFinished)] == [10]


class Host:
    """A host whose every submission takes the next of some times, and whose clock shows it."""

    def __init__(self, cost: Callable[[int], int]) -> None:
        self.now_ns = 0
        self.submitted = 0
        self.queued = 0
        self.longest_queue = 0
        self.cost = cost

    def submit(self) -> None:
        self.now_ns += self.cost(self.submitted)
        self.submitted += 1
        self.queued += 1
        self.longest_queue = max(self.longest_queue, self.queued)

    def synchronize(self) -> None:
        self.now_ns += 1_000_000
        self.queued = 0


def test_the_cost_of_a_submission_leaves_out_waiting_and_the_first_batch():
    host = Host(lambda n: 90_000 if n < LAUNCHES else 2_600)
    assert submission_ns(host.submit, host.synchronize, lambda: host.now_ns) == 2_600
    assert host.submitted == (BATCHES + 1) * LAUNCHES
    assert host.longest_queue == LAUNCHES
    assert host.queued == 0


def test_a_few_disturbed_batches_do_not_move_it():
    host = Host(lambda n: 50_000 if (n // LAUNCHES) % 4 == 0 else 2_600)
    assert submission_ns(host.submit, host.synchronize, lambda: host.now_ns) == 2_600


def test_the_probe_says_when_it_was_taken(device: Device):
    assert probe_dispatch(device, lambda: 42).t_ns == 42


def test_what_verification_keeps_is_known(run_loop, loaded, device):
    from idlegap.core.engine.available_modes import Lineup
    from tests.core.engine.scripted_loop import SETTINGS

    baseline = Lineup.build(loaded, device, SETTINGS).modes["eager-static"]
    verifier = Verifier(baseline, 4)
    logits = 4 * loaded.model.config.vocab_size * torch.finfo(loaded.model.dtype).bits // 8
    assert verifier.held_bytes == logits + 4 * torch.long.itemsize
