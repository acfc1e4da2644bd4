"""Where a step's time goes: device busy, and the idle time split by its cause.

A short profiler window delivers device records (kernels, copies, fills) and the host's launch
calls, tied together by correlation id. Between two device activities the device is idle, for
one of three causes, told apart by the moment L at which the launch call of the *next*
activity ended:

    previous activity            L                   next activity
    ─────────────────┤  host gap ┊  launch latency  ├──────────────     L inside the idle time
    ─────────────────┤            device gap         ├──────────────     L before it

- **host gap**: nothing was queued, and the next launch call had not ended. The host is late.
- **launch latency**: the call had ended and the queue was empty, yet nothing ran. This is the
  price of feeding an empty queue; it exists only because the host is late.
- **device gap**: the activity was already queued when its predecessor ended. This remains
  however fast the host is.

All nodes of a graph replay share one launch call, so only the first node can wait for it. A record
without a launch record says nothing about the host, so the idle time before it counts as device
gap: the host is never blamed without evidence. Busy time and the three gaps sum to the window's
length, to the nanosecond.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from idlegap.core.protocol.events import KernelTotal, ProfileWindow
from idlegap.core.protocol.reasons import Reason, because

MAX_UNMATCHED_SHARE = 0.01
"""Every record matched in all windows tried so far; above 1 % the split is guesswork."""

_NEVER = 2**63
"""Sorts records without a launch behind those with one; later than any clock reading."""


class DeviceRecord(NamedTuple):
    """One activity on the device, on whichever stream."""

    start_ns: int
    end_ns: int
    kind: Literal["kernel", "copy", "fill"]
    name: str
    correlation: int


class LaunchRecord(NamedTuple):
    """One host call that put work on the device; a graph launch covers many records."""

    start_ns: int
    end_ns: int
    correlation: int


@dataclass(frozen=True, slots=True)
class GapReport:
    """Totals of one window over `steps` steps; see the module's text for the gaps.

    Attributes:
        window_ns: length of the window; busy_ns and the three gaps sum to it.
        busy_ns: union of the device intervals over all streams.
        busy_sum_ns: their plain sum; more than busy_ns where streams overlap.
        copy_ns: the copies' part of busy_sum_ns.
        unmatched: device records whose launch record is missing.
        invalid: device records that end before they start (timestamps gone wrong).
    """

    steps: int
    window_ns: int
    busy_ns: int = 0
    busy_sum_ns: int = 0
    kernels: int = 0
    copies: int = 0
    fills: int = 0
    copy_ns: int = 0
    host_gap_ns: int = 0
    launch_latency_ns: int = 0
    device_gap_ns: int = 0
    unmatched: int = 0
    invalid: int = 0

    @property
    def records(self) -> int:
        return self.kernels + self.copies + self.fills

    def per_step(self) -> "GapReport":
        """The mean step. Times are rounded down and the host gap takes up the remainder, so
        that the parts still sum to window_ns; `unmatched` and `invalid` stay totals."""
        times = ("window_ns", "busy_ns", "busy_sum_ns", "copy_ns", "launch_latency_ns", "device_gap_ns")
        mean = {name: getattr(self, name) // self.steps for name in times}
        mean |= {name: round(getattr(self, name) / self.steps) for name in ("kernels", "copies", "fills")}
        idle = mean["window_ns"] - mean["busy_ns"]
        host_gap_ns = idle - mean["launch_latency_ns"] - mean["device_gap_ns"]
        return replace(self, steps=1, host_gap_ns=host_gap_ns, **mean)


@dataclass(frozen=True, slots=True)
class Split:
    """Where one token of a mode goes; the parts sum to the mode's median wall time.

    `bound_ns` is the weight-stream bound and `other_ns` the rest of device busy; with no
    measured bandwidth `bound_ns` is None and `other_ns` is all of device busy.
    """

    bound_ns: int | None
    other_ns: int
    launch_latency_ns: int
    device_gap_ns: int
    host_gap_ns: int

    @property
    def busy_ns(self) -> int:
        return (self.bound_ns or 0) + self.other_ns

    @property
    def idle_ns(self) -> int:
        return self.launch_latency_ns + self.device_gap_ns + self.host_gap_ns


def split_gaps(device: Iterable[DeviceRecord], launches: Iterable[LaunchRecord], steps: int) -> GapReport:
    """Measure busy time and the three gaps of one window of `steps` decode steps, from the first launch
    call that has a record to the last record's end. Records come in any order, on one clock.

    Raises:
        ValueError: for fewer than one step.
    """
    if steps < 1:
        raise ValueError(f"steps {steps}: must be at least 1")
    records, calls = list(device), list(launches)
    queued = _queue_times(records, calls)
    start, end = _window(records, calls)
    # Of records that start together, the one queued first had the device waiting least.
    records.sort(key=lambda record: (record.start_ns, queued.get(record.correlation, _NEVER)))

    busy = busy_sum = copies_ns = host = latency = device_gap = 0
    covered = start  # everything before this is accounted for
    for record in records:
        begin, finish = record.start_ns, record.end_ns
        length = max(finish - begin, 0)
        if begin > covered:
            idle = begin - covered
            launch_end = queued.get(record.correlation)
            if launch_end is None or launch_end <= covered:
                device_gap += idle
            else:
                host += min(launch_end, begin) - covered
                latency += begin - min(launch_end, begin)
            covered = begin
        busy += max(finish - covered, 0)
        covered = max(covered, finish)
        busy_sum += length
        copies_ns += length if record.kind == "copy" else 0
    kinds = Counter(record.kind for record in records)
    return GapReport(
        steps=steps,
        window_ns=end - start,
        busy_ns=busy,
        busy_sum_ns=busy_sum,
        kernels=kinds["kernel"],
        copies=kinds["copy"],
        fills=kinds["fill"],
        copy_ns=copies_ns,
        host_gap_ns=host + end - covered,
        launch_latency_ns=latency,
        device_gap_ns=device_gap,
        unmatched=sum(record.correlation not in queued for record in records),
        invalid=sum(record.end_ns < record.start_ns for record in records),
    )


def _queue_times(records: Sequence[DeviceRecord], launches: Sequence[LaunchRecord]) -> dict[int, int]:
    """When the work of each correlation id was queued: at the end of its launch call, and at
    the latest when its first record started (a graph's first nodes may run before the call
    returns; the nodes after them wait for the device, not for the host)."""
    queued: dict[int, int] = {}
    for launch in launches:
        # A runtime call and the driver call within it may share an id: the inner one counts.
        queued[launch.correlation] = min(launch.end_ns, queued.get(launch.correlation, _NEVER))
    for record in records:
        if record.correlation in queued:
            queued[record.correlation] = min(queued[record.correlation], record.start_ns)
    return queued


def _window(records: Sequence[DeviceRecord], launches: Sequence[LaunchRecord]) -> tuple[int, int]:
    if not records:
        return 0, 0
    present = {record.correlation for record in records}
    starts = [launch.start_ns for launch in launches if launch.correlation in present]
    start = min(min(record.start_ns for record in records), min(starts, default=_NEVER))
    return start, max(max(record.start_ns, record.end_ns) for record in records)


def top_kernels(records: Iterable[DeviceRecord], steps: int, n: int) -> tuple[KernelTotal, ...]:
    """The `n` kernel names with the most device time: launches and time per step, largest first."""
    counts: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for record in records:
        if record.kind == "kernel":
            counts[record.name] += 1
            totals[record.name] += max(record.end_ns - record.start_ns, 0)
    ranked = sorted(totals, key=lambda name: (-totals[name], name))[:n]
    return tuple(KernelTotal(name, counts[name] / steps, round(totals[name] / steps)) for name in ranked)


def window_fault(report: GapReport, expected_kernels_per_step: int | None) -> Reason | None:
    """Why this window must not be believed, or None where nothing speaks against it.

    Profilers lose records in repeated sessions, so the count is checked: it must be the
    same in each step, and the same as in the last accepted window of the same mode.
    """
    if report.records == 0:
        return because("no-device-records")
    if report.kernels % report.steps:
        return because("records-lost", kernels=report.kernels, steps=report.steps)
    count = report.kernels // report.steps
    if expected_kernels_per_step is not None and count != expected_kernels_per_step:
        return because("kernels-differ", kernels=count, expected=expected_kernels_per_step)
    if report.invalid:
        return because("records-reversed", records=report.invalid)
    if report.unmatched > MAX_UNMATCHED_SHARE * report.records:
        return because("no-launch-records", unmatched=report.unmatched, records=report.records)
    return None


def split_token(wall_ns: int, profile: ProfileWindow, bound_ns: int | None) -> Split:
    """Split the median wall time of unprofiled tokens with the device times of a window.

    Busy time, launch latency and device gap are carried over, because they repeat; the host
    gap is what remains of `wall_ns`, because profiling slows the host. Where the window's
    times exceed `wall_ns` (another clock or load than now), launch latency and device gap
    shrink in proportion, then busy time, and the host gap is 0. The bound is capped at the busy time.

    Raises:
        ValueError: for a rejected window or a negative wall time.
    """
    if not profile.accepted:
        raise ValueError("the window was rejected")
    if wall_ns < 0:
        raise ValueError(f"wall {wall_ns} ns: negative")
    busy = min(profile.busy_ns, wall_ns)
    latency, device = profile.launch_latency_ns, profile.device_gap_ns
    room = wall_ns - busy
    if latency + device > room:
        latency = room * latency // (latency + device)
        device = room - latency
    bound = None if bound_ns is None else min(bound_ns, busy)
    return Split(
        bound_ns=bound,
        other_ns=busy - (bound or 0),
        launch_latency_ns=latency,
        device_gap_ns=device,
        host_gap_ns=room - latency - device,
    )
