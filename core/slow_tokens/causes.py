"""Why a token was slow: the causes that can be told apart."""

from dataclasses import dataclass
from typing import Literal

Cause = Literal[
    "gpu clock",
    "quota",
    "neighbour",
    "own threads",
    "cpu wait",
    "steal",
    "probe",
    "more cpu",
    "blocked",
    "unexplained",
]
"""Why a token was slow; `core.slow_tokens.explain` says what each one means."""


@dataclass(frozen=True, slots=True)
class RecentTokens:
    """The mean token of those of the current mode that began within the last two seconds; of the
    last `core.session.mode_history.KEPT_TOKENS` where these do not reach back so far, which is below
    4 ms a token. The rate covers no more either.

    `run_delay_ns` is how long the decode thread was ready but had no core, in the mean of the tokens
    of which it was read, None where it was read of none; at most `wall_ns`. Badge, host panel and
    sentence all speak of these tokens, so that they agree.
    """

    tokens: int
    wall_ns: int
    run_delay_ns: int | None


@dataclass(frozen=True, slots=True)
class CauseTotal:
    """One cause's part of all excess time, and the slow tokens of which it was the largest."""

    cause: Cause
    ns: int
    tokens: int


Pressure = Literal["quota", "neighbour", "own threads", "cpu wait", "steal", "crowded"]
"""What contends now: a cause of slow tokens, or ``crowded``, cores full but no token hurt."""


@dataclass(frozen=True, slots=True)
class Contention:
    """What contends for the CPU now, with its figures where they were read.

    `share` (0..1) is the part of the time that the quota stopped us, that the decode thread waited, or
    that the hypervisor gave away. `cores` are those that others or our own other threads use
    meanwhile, where one of them is to blame.
    """

    pressure: Pressure
    share: float | None = None
    cores: float | None = None
    usable_cores: float | None = None
