"""What limits decoding: the only classifier, and the only thresholds that it and its readers use.

A token is the sum of three parts (`core.measure.device_time`): the time in which the device
works, the gap that remains between two kernels that are queued already, and the time in which it
idles because the host is late (*host gap* and *launch latency*). The share of the last one decides:

- **host**: from `HOST_SHARE` on. The device waits longer than it works.
- **mixed**: from `DEVICE_SHARE` on. Both a faster host and a faster GPU would show.
- **bandwidth** or **gpu**: below. Even a perfect host gains less than a quarter. Bandwidth it is
  where streaming the weights once takes `BANDWIDTH_SHARE` of the token.
- **unknown**: nothing tells.

Whoever shows a `Judgement` phrases it and decides nothing. What counts as contended, as a difference and
as a host of another speed is decided here too.
"""

from dataclasses import dataclass
from typing import Literal

from idlegap.core.measure.device_time import Split
from idlegap.core.measure.statistics import Ratio
from idlegap.core.protocol.reasons import ReasonOrText

Limit = Literal["host", "gpu", "bandwidth", "mixed", "unknown"]

Basis = Literal["profile", "replay", "idle time", "bandwidth", "nothing"]
"""What a judgement rests on: a profile window; the same kernels replayed from a graph; idle time
that was not split by its cause; the bandwidth in use alone; or nothing that could tell. The last
three are inferences, and are marked as such."""

HOST_SHARE = 0.50
"""The device waits for the host in at least half of the token: longer than it works."""

DEVICE_SHARE = 0.20
"""The device waits in less than a fifth: even a perfect host gains less than a quarter."""

BANDWIDTH_SHARE = 0.60
"""Well-tuned decoders reach 70 to 80 % of the weight-stream bound; from 60 % on, bandwidth is the
main cost."""

IDLE_BANDWIDTH_SHARE = 0.30
"""With less of the bandwidth in use than this, bandwidth does not set the pace."""

DISPATCH_SHARE = 0.95
"""From this share of the token on, dispatch is the token: no wait is left behind it."""

ONE_DISPATCH_SHARE = 0.05
"""Below this share of the token, dispatch does not matter."""

CONTENDED_SHARE = 0.05
"""Contended: waiting for a CPU, or stopped by a quota, for more than a twentieth of the time. Looked
at every quarter second, two seconds of a calm H200's host never had more than 1.1 %; beside 24
neighbours on 16 cores 68 of 79 looks had more than 5 %, 56 more than 10."""

CONTENDED_STEAL_PCT = 5.0
"""Steal below this share of one core is the hypervisor's ordinary housekeeping."""

LEAST_DIFFERENCE = 0.01
"""Below 1 % two rates count as equal whatever an interval says: the place in the turn alone (what
ran before, the clock that is inherited) can move one by that much."""

NOTABLE_SPEED_UP = 0.03
"""Medians of one mode differ by up to 3 % between rounds on a quiet host."""

SAME_WORK = 1.25
"""The same work at more than this times the CPU time means a slower host. On a rented H200,
eager-static stayed within 8 % while the host kept its speed (23.2 to 25.0 ms) and took 1.6 to 1.8
times as long while it was slow; what a profile window leaves behind costs 4 %."""

LIKE_WORK = 1.5
"""The same between two modes, per kernel: at one speed of the host a kernel of eager costs 0.95 to
1.15 times one of eager-static (H200), whose kernels are not quite the same."""

SLOWER_CLOCK = 0.95
"""An SM clock below this share of its usual value is slower; ordinary boost steps are 15 MHz."""

MOST = 0.80
"""Share of a difference that one cause must account for to be named as its reason."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What limits one token, with the numbers behind it; None where a number is not known.

    `late_ns` is the time in which the device idles because the host is late, `host_paced` says that
    dispatch fills the whole token besides: then no faster GPU would show. `reason` says why
    nothing is known, "" where something is.
    """

    limit: Limit
    basis: Basis
    wall_ns: int
    busy_ns: int | None = None
    late_ns: int | None = None
    device_gap_ns: int | None = None
    bound_ns: int | None = None
    host_paced: bool = False
    reason: ReasonOrText = ""

    @property
    def inferred(self) -> bool:
        """Whether it rests on less than a measurement of the device's time."""
        return self.basis in ("idle time", "bandwidth")

    @property
    def idle_ns(self) -> int | None:
        """All time in which the device does nothing."""
        return None if self.busy_ns is None else self.wall_ns - self.busy_ns

    @property
    def late_share(self) -> float | None:
        """`late_ns` as a share (0..1) of the token."""
        return None if self.late_ns is None else self.late_ns / self.wall_ns


def judge(
    split: Split | None, *, wall_ns: int, dispatch_ns: int | None = None, reason: ReasonOrText = ""
) -> Judgement:
    """Judge the token of `wall_ns` whose parts are `split`; without one, `reason` says why."""
    if split is None or wall_ns <= 0:
        return Judgement("unknown", "nothing", wall_ns, reason=reason or "no profile window")
    late_ns = split.host_gap_ns + split.launch_latency_ns
    limit = _limit(late_ns, split.bound_ns, wall_ns)
    return Judgement(
        limit,
        "profile",
        wall_ns,
        busy_ns=split.busy_ns,
        late_ns=late_ns,
        device_gap_ns=split.device_gap_ns,
        bound_ns=split.bound_ns,
        host_paced=limit == "host" and dispatch_ns is not None and dispatch_ns >= DISPATCH_SHARE * wall_ns,
    )


def judge_by_replay(wall_ns: int, replayed_ns: float) -> Judgement:
    """Judge a token of `wall_ns` by what it takes when the same kernels are replayed from a graph:
    whatever that saves was the host's. It shows nothing of bandwidth."""
    late_ns = max(round(wall_ns - replayed_ns), 0)
    return Judgement(_limit(late_ns, None, wall_ns), "replay", wall_ns, late_ns=late_ns)


def judge_by_idle_time(wall_ns: int, busy_ns: int, bound_ns: int | None = None) -> Judgement:
    """Judge a token by its device busy time alone, as publications give it: the gaps between
    queued kernels count as the host's, so this errs towards the host."""
    busy_ns = min(busy_ns, wall_ns)
    late_ns = wall_ns - busy_ns
    limit = _limit(late_ns, bound_ns, wall_ns)
    return Judgement(limit, "idle time", wall_ns, busy_ns=busy_ns, late_ns=late_ns, bound_ns=bound_ns)


def judge_by_bandwidth(wall_ns: int, mbu: float | None) -> Judgement:
    """Judge a token by the share of the specified bandwidth that its weights take, and by no more."""
    if mbu is None:
        reason = "neither a profile nor a specified bandwidth"
        return Judgement("unknown", "nothing", wall_ns, reason=reason)
    limit: Limit = "mixed"
    if mbu < IDLE_BANDWIDTH_SHARE:
        limit = "host"
    elif mbu >= BANDWIDTH_SHARE:
        limit = "bandwidth"
    return Judgement(limit, "bandwidth", wall_ns)


def _limit(late_ns: int, bound_ns: int | None, wall_ns: int) -> Limit:
    if late_ns >= HOST_SHARE * wall_ns:
        return "host"
    if late_ns >= DEVICE_SHARE * wall_ns:
        return "mixed"
    if bound_ns is not None and bound_ns >= BANDWIDTH_SHARE * wall_ns:
        return "bandwidth"
    return "gpu"


def host_sets_pace(wall_ns: int, dispatch_ns: int, busy_ns: int | None) -> bool:
    """Whether CPU time says something about the host's speed in such a token: dispatch fills it, and
    the device is known to work for less than half of it.

    Dispatch alone does not show that: a step that waits for the device within itself, or whose
    launches wait for a full queue, spins on the CPU while the device sets the pace.
    """
    if busy_ns is None:
        return False
    return dispatch_ns >= DISPATCH_SHARE * wall_ns and busy_ns <= (1 - HOST_SHARE) * wall_ns


def is_different(ratio: Ratio) -> bool:
    """Whether the interval leaves 1 out and the difference is large enough to matter."""
    return ratio.significant and abs(ratio.value - 1) >= LEAST_DIFFERENCE


def is_contended(held_ns: float, time_ns: float) -> bool:
    """Whether the decode thread was held back (it waited for a CPU, or a quota stopped it) for so much
    of some time that others share the machine."""
    return held_ns > CONTENDED_SHARE * time_ns


def is_stolen(steal_pct: float) -> bool:
    """Whether so much of the machine's time went to other guests."""
    return steal_pct >= CONTENDED_STEAL_PCT
