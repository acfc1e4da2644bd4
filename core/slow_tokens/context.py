"""What the sensors saw around one token: who had the CPU, the quota, the GPU's clock, ourselves.

Tokens and samples share one clock, so a token is joined to the samples whose interval it
overlaps, never to averages over seconds.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from idlegap.core.measure.limits import SLOWER_CLOCK
from idlegap.core.protocol import events
from idlegap.core.text.units import ms

FLOOR_SHARE = 0.10
"""CPU time below a tenth of one core is not told from nothing: ``/proc`` counts in steps of
10 ms for every core and process, which is 4 % of a quarter of a second each."""

STALE_NS = 1_500_000_000
"""A sample further away than this says nothing; the slowest tier in use reads once a second."""

NEIGHBOURING_SAMPLES = 32
"""GPU samples on either side of a token that say what is usual."""

LEAST_GPU_SAMPLES = 4
"""With fewer, usual and unusual cannot be told apart."""

HW_SLOWDOWN = 0x08
SLOWING_REASONS = {
    0x04: "software power cap",
    HW_SLOWDOWN: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}
"""NVML's clock event reasons that take speed away; the other bits are states, not limits."""

_Sample = TypeVar("_Sample", events.CpuSample, events.GpuSample, events.CgroupSample, events.MonitorSample)


@dataclass(frozen=True, slots=True)
class Loads:
    """Cores that our own other threads and that others use, usually."""

    own_cores: float
    others_cores: float


@dataclass(frozen=True, slots=True)
class CpuUsers:
    """CPU time used beside the decode thread in the samples that a token overlaps, in ns.

    `own_ns` is that of our own other threads (engine and monitor), `others_ns` that of all
    other programs, `stolen_ns` what the hypervisor kept; each over all cores. `window_ns` is how
    long the samples cover. `core` is where the decode thread ran last, `core_pct` its load.
    """

    own_ns: int
    others_ns: int
    stolen_ns: int
    window_ns: int
    core: int | None
    core_pct: float | None

    @property
    def own_cores(self) -> float:
        return self.own_ns / self.window_ns

    @property
    def others_cores(self) -> float:
        return self.others_ns / self.window_ns

    def weights(self, waited_ns: int, usual: Loads | None) -> tuple[int, int]:
        """How to divide a wait between our own threads and others, in this order; 0, 0 if
        neither can have caused it.

        Whoever had the CPU used it for half of the wait at least. If both did, what is unusual
        decides, because threads that are always busy elsewhere explain no change; if nothing is,
        everything counts.
        """
        floor_ns = FLOOR_SHARE * self.window_ns
        own, others = (
            used if used >= max(waited_ns / 2, floor_ns) else 0 for used in (self.own_ns, self.others_ns)
        )
        if own and others and usual is not None:
            more_own = max(own - round(usual.own_cores * self.window_ns), 0)
            more_others = max(others - round(usual.others_cores * self.window_ns), 0)
            if more_own + more_others >= floor_ns:
                return more_own, more_others
        return own, others


@dataclass(frozen=True, slots=True)
class Context:
    """Sensor events of the time around some tokens, each kind oldest first.

    `tokens` are all tokens of that time, excluded ones too: they say how much of the engine's
    CPU time was the decode thread's. Without them it counts as one full core. `usual` is the
    load of the time before, where that is known.
    """

    cpu: Sequence[events.CpuSample] = ()
    cgroup: Sequence[events.CgroupSample] = ()
    gpu: Sequence[events.GpuSample] = ()
    frames: Sequence[events.MonitorSample] = ()
    profiles: Sequence[events.ProfileWindow] = ()
    tokens: Sequence[events.Token] = ()
    usual: Loads | None = None

    def cpu_users(self, token: events.Token) -> CpuUsers | None:
        """Who else used the CPU around `token`; None where that was not read.

        A neighbour must have used the CPU for as long as the decode thread waited, so whole
        samples are taken: all that the token overlaps, or the last one before it.
        """
        last = covering(self.cpu, token)
        if last is None:
            return None
        own = others = stolen = window = 0
        for at in range(last, 0, -1):
            sample, start = self.cpu[at], self.cpu[at - 1].t_ns
            interval = sample.t_ns - start
            if sample.others_pct is None or sample.engine_pct is None or not 0 < interval <= STALE_NS:
                return None
            engine = round(sample.engine_pct * interval / 100)
            own += max(engine - self._decode_cpu_ns(start, sample.t_ns), 0)
            own += round((sample.monitor_pct or 0.0) * interval / 100)
            others += round(sample.others_pct * interval / 100)
            stolen += round((sample.steal_pct or 0.0) * len(sample.core_pct) * interval / 100)
            window += interval
            if start <= token.start_ns:
                break
        if window == 0:
            return None
        now = self.cpu[last]
        core = now.decode_core
        load = now.core_pct[core] if core is not None and core < len(now.core_pct) else None
        return CpuUsers(own, others, stolen, window, core, load)

    def _decode_cpu_ns(self, start_ns: int, end_ns: int) -> int:
        """CPU time of the decode thread within an interval. Between tokens it counts as busy,
        so that our own threads are not accused of a prefill."""
        idle = 0.0
        first = bisect_right(self.tokens, start_ns, key=lambda token: token.done_ns)
        for at in range(first, len(self.tokens)):
            token = self.tokens[at]
            if token.start_ns >= end_ns:
                break
            shared = min(token.done_ns, end_ns) - max(token.start_ns, start_ns)
            if token.cpu_ns is not None and token.cpu_ns < token.wall_ns:
                idle += shared * (1 - token.cpu_ns / token.wall_ns)
        return end_ns - start_ns - round(idle)

    def throttled_ns(self, token: events.Token) -> int:
        """Time that quota throttling took in the samples that the token overlaps. The kernel
        adds it up over the group's run queues, so this is an upper bound."""
        return sum(
            sample.throttled_ns or 0
            for sample in self.cgroup
            if sample.t_ns - sample.interval_ns < token.done_ns and sample.t_ns > token.start_ns
        )

    def gpu_slowed(self, token: events.Token) -> str:
        """What was unusual about the GPU's clock at the token, or "".

        A reason that is set most of the time cannot explain why one token differs from its
        neighbours. Hardware slowdown flashes when the power state changes, so it must be set
        in two samples running.
        """
        at = covering(self.gpu, token)
        if at is None:
            return ""
        near = self.gpu[max(at - NEIGHBOURING_SAMPLES, 0) : at + NEIGHBOURING_SAMPLES]
        now = self.gpu[at]
        if len(near) < LEAST_GPU_SAMPLES:
            return ""
        found = [name for bit, name in SLOWING_REASONS.items() if self._unusual(at, bit, near)]
        clocks = [sample.sm_mhz for sample in near if sample.sm_mhz is not None]
        if now.sm_mhz is not None and now.sm_mhz < SLOWER_CLOCK * median(clocks):
            found.append(f"SM clock {now.sm_mhz:,} instead of {median(clocks):,.0f} MHz")
        return ", ".join(found)

    def _unusual(self, at: int, bit: int, near: Sequence[events.GpuSample]) -> bool:
        def is_set(sample: events.GpuSample) -> bool:
            return sample.event_reasons is not None and bool(sample.event_reasons & bit)

        beside = [*self.gpu[max(at - 1, 0) : at], *self.gpu[at + 1 : at + 2]]
        confirmed = bit != HW_SLOWDOWN or any(is_set(sample) for sample in beside)
        return is_set(self.gpu[at]) and confirmed and 2 * sum(is_set(s) for s in near) < len(near)

    def probe(self, token: events.Token) -> tuple[int, str]:
        """How long our own measurements overlapped the token, and the longest of them.

        An event of ours is stamped when its work has ended. Frames are not counted here: they
        run in another process and cost the decode thread a CPU or the GIL at most, which run
        delay and `frame` account for.
        """
        rounds = [(s.t_ns - s.call_ns, s.t_ns, "an NVML round") for s in self.gpu]
        windows = [(w.t_ns - w.pause_ns, w.t_ns, "a profile window") for w in self.profiles]
        return _overlap([*rounds, *windows], token)

    def frame(self, token: events.Token) -> tuple[int, str]:
        """How long the frame that was reported last overlapped the token."""
        return _overlap([(s.t_ns - s.frame_ns, s.t_ns, "a frame") for s in self.frames], token)


def covering(samples: Sequence[_Sample], token: events.Token) -> int | None:
    """Position of the first sample at or after the token's end, else of the last one before."""
    at = min(bisect_left(samples, token.done_ns, key=lambda sample: sample.t_ns), len(samples) - 1)
    if at < 0 or abs(samples[at].t_ns - token.done_ns) > STALE_NS:
        return None
    return at


def _overlap(spans: Sequence[tuple[int, int, str]], token: events.Token) -> tuple[int, str]:
    total, longest, name = 0, 0, ""
    for start, end, label in spans:
        shared = min(end, token.done_ns) - max(start, token.start_ns)
        if shared > 0:
            total += shared
            if shared > longest:
                longest, name = shared, f"{label} of {ms(end - start)} ms"
    return min(total, token.wall_ns), name
