"""Do two modes decode the same? A teacher-forced comparison over a round.

Free-running greedy outputs of random weights diverge between two eager runs too, where cuBLAS is
not bitwise repeatable (it was not on an H200); after the first different token nothing can be
compared. So the baseline's tokens are fed to every run, and each step's logits are compared on
the device.
"""

import math
import time
from collections.abc import Callable

import torch

from idlegap.core.engine.modes import Mode
from idlegap.core.protocol.events import Verified
from idlegap.core.protocol.reasons import because

FLAG_FACTOR = 10.0
"""A mode that differs from eager by more than this many times eager's own noise is flagged."""

LEAST_NOISE_ULPS = 4.0
"""Where eager repeats bitwise, a mode that adds in another order is still right: differences of a
few units in the last place of the largest logit count as noise."""


class Verifier:
    """Compares modes with `baseline` over `steps` tokens.

    The baseline runs twice, at the first comparison: once freely, for the tokens, and once
    more over them, for its own run-to-run difference. Keeps steps x batch x vocabulary logits
    on the device until it is dropped.
    """

    def __init__(self, baseline: Mode, steps: int, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._clock = clock
        self._steps = steps
        self._baseline = baseline
        self._fed, self._logits = _run_freely(baseline, steps)
        ulp = torch.finfo(self._logits.dtype).eps * float(self._logits.abs().max())
        self._least_noise = LEAST_NOISE_ULPS * ulp
        self._noise_agree, self._noise = self._compare(baseline)

    @property
    def held_bytes(self) -> int:
        """Memory that the kept tokens and logits take on the device."""
        return self._fed.nbytes + self._logits.nbytes

    def verify(self, mode: Mode) -> Verified:
        """Feed the baseline's tokens to `mode`; the caller begins a new round afterwards.

        The baseline itself was compared already: that is its noise.
        """
        is_baseline = mode is self._baseline
        agree, difference = (self._noise_agree, self._noise) if is_baseline else self._compare(mode)
        finite = math.isfinite(difference)
        return Verified(
            self._clock(),
            mode=mode.name,
            steps=self._steps,
            agree=agree,
            logit_diff=difference if finite else None,
            noise_agree=self._noise_agree,
            noise_diff=self._noise,
            missing={} if finite else {"logit_diff": because("logits-not-numbers")},
            flagged=not finite or difference > FLAG_FACTOR * max(self._noise, self._least_noise),
        )

    def _compare(self, mode: Mode) -> tuple[int, float]:
        """(steps whose argmax is equal in all rows, largest absolute logit difference)."""
        mode.enter()
        mode.prefill()
        agree = torch.zeros((), dtype=torch.long, device=self._logits.device)
        worst = torch.zeros((), dtype=torch.float32, device=self._logits.device)
        for token, expected in zip(self._fed, self._logits, strict=True):
            mode.workload.token.copy_(token)
            got = mode.step()
            agree += (got.argmax(-1) == expected.argmax(-1)).all()
            worst = torch.maximum(worst, (got.float() - expected.float()).abs().max())
        mode.workload.device.synchronize()
        return int(agree), float(worst)


def _run_freely(mode: Mode, steps: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The tokens fed, shape (steps, batch, 1), and the logits, (steps, batch, vocabulary)."""
    mode.enter()
    mode.prefill()
    fed, logits = [], []
    for _ in range(steps):
        fed.append(mode.workload.token.clone())
        logits.append(mode.step().clone())
    mode.workload.device.synchronize()
    return torch.stack(fed), torch.stack(logits)
