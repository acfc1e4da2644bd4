"""Verification must pass what is equal and catch what is broken."""

import pytest
import torch

from idlegap.core.engine.model import make_prompt
from idlegap.core.engine.modes import Workload
from idlegap.core.engine.modes.base import positions, rewind
from idlegap.core.engine.modes.eager import Eager, EagerStatic
from idlegap.core.engine.modes.fused import Fused
from idlegap.core.engine.verify import Verifier
from idlegap.core.text.reasons import logit_diff_words

STEPS = 16


@pytest.fixture
def workload(loaded, device):
    return Workload.build(loaded.model, device, make_prompt(loaded, device, 12, 2), 12 + STEPS)


@pytest.fixture
def verifier(workload):
    return Verifier(EagerStatic(workload), STEPS)


class FrozenPosition(EagerStatic):
    """What a capture looks like that has the position built in: every step writes to one slot."""

    def step(self) -> torch.Tensor:
        before = positions(self.workload.static)
        logits = super().step()
        rewind(self.workload.static, before)
        return logits


class Grouped(EagerStatic):
    enter = Fused.enter  # the way that the fused modes choose their attention


def test_the_dynamic_cache_decodes_the_same_tokens(workload, verifier):
    verified = verifier.verify(Eager(workload))
    assert (verified.agree, verified.steps) == (STEPS, STEPS)
    assert not verified.flagged


def test_grouped_attention_decodes_the_same_tokens(workload, verifier):
    verified = verifier.verify(Grouped(workload))
    assert verified.agree == STEPS
    assert not verified.flagged


def test_the_baseline_is_compared_with_itself_once(workload):
    class Counted(EagerStatic):
        rounds = 0

        def prefill(self) -> None:
            super().prefill()
            Counted.rounds += 1

    baseline = Counted(workload)
    verifier = Verifier(baseline, STEPS)
    verified = verifier.verify(baseline)
    assert (verified.agree, verified.logit_diff) == (verified.noise_agree, verified.noise_diff)
    assert Counted.rounds == 2


def test_a_frozen_position_is_flagged(workload, verifier):
    verified = verifier.verify(FrozenPosition(workload))
    assert verified.flagged
    assert verified.logit_diff > 10 * verified.noise_diff


def test_logits_that_are_not_numbers_are_flagged(workload, verifier):
    class Broken(EagerStatic):
        def step(self) -> torch.Tensor:
            return super().step() * float("nan")

    verified = verifier.verify(Broken(workload))
    assert verified.flagged
    assert verified.logit_diff is None
    assert logit_diff_words(verified) == "logits that are not numbers"


def test_rewinding_gives_the_same_logits_again(workload):
    mode = EagerStatic(workload)
    mode.enter()
    mode.prefill()
    saved, token = positions(workload.static), workload.token.clone()
    first = [mode.step().clone() for _ in range(3)]
    rewind(workload.static, saved)
    workload.token.copy_(token)
    again = [mode.step().clone() for _ in range(3)]
    for a, b in zip(first, again, strict=True):
        torch.testing.assert_close(a, b)


def test_a_difference_of_rounding_is_not_flagged_where_eager_repeats_bitwise(workload, verifier):
    class Rounded(EagerStatic):
        def step(self) -> torch.Tensor:
            logits = super().step()
            return logits * (1 + 8 * torch.finfo(logits.dtype).eps)

    verified = verifier.verify(Rounded(workload))
    assert verified.noise_diff == 0
    assert verified.logit_diff > 0
    assert not verified.flagged


def test_what_verification_keeps_is_known(run_loop, loaded, device):
    from idlegap.core.engine.available_modes import Lineup
    from tests.core.engine.scripted_loop import SETTINGS

    baseline = Lineup.build(loaded, device, SETTINGS).modes["eager-static"]
    verifier = Verifier(baseline, 4)
    logits = 4 * loaded.model.config.vocab_size * torch.finfo(loaded.model.dtype).bits // 8
    assert verifier.held_bytes == logits + 4 * torch.long.itemsize
