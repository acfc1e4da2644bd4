"""Short profiler windows: which kernels a step runs, and how long the device is busy.

The profiler cannot stay on: it slows the host several-fold. A window of a few steps is enough,
because device time repeats within a fraction of a per cent from window to window.

Known faults of repeated profiling sessions, and what is done about each:

- Later sessions lose records at their head (about one more each time): every window begins
  with marker kernels that nothing else launches; the step's records are those after the last
  marker, and a window without any marker is rejected.
- The first session of a process may deliver nothing, and any session may deliver less: a
  window is accepted only if its kernel count equals that of the mode's window before it.
- Sessions leak host memory until the collector runs: it runs after every window.
- A session leaves CUPTI attached to the driver, which slows everything after it: it is detached
  (`Detacher`).
- Another CUPTI client (nsys, ncu) leaves nothing for us: the window says so.
"""

import gc
import os
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import torch
from torch.autograd import DeviceType  # type: ignore[attr-defined]
from torch.profiler import ProfilerActivity, profile

from idlegap.core.engine.device import Device
from idlegap.core.engine.errors import first_line
from idlegap.core.measure.device_time import DeviceRecord, LaunchRecord, split_gaps, top_kernels, window_fault
from idlegap.core.protocol.events import ProfileWindow
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.reasons import Reason, because

WINDOW_STEPS = 4
"""Enough to see that counts divide evenly; about 6,000 records in eager."""

MARGIN_MARKERS = 8

TOP_KERNELS = 12

KINDS: dict[str, Literal["kernel", "copy", "fill"]] = {"Memcpy": "copy", "Memset": "fill"}
"""By the first letters of a record's name; all others are kernels."""

DETACH_SWITCH = "TEARDOWN_CUPTI"
"""Kineto reads it after each session; it has no other switch."""

DETACH_CALLS = 20
DETACH_EVERY_S = 0.001


class ProfilerError(RuntimeError):
    """The profiler itself does not work here; decoding does."""


@contextmanager
def _as_profiler_error() -> Iterator[None]:
    try:
        yield
    # Kineto, its bindings and torch's wrapper each complain in classes of their own.
    except Exception as error:
        raise ProfilerError(first_line(error)) from error


class Marker(NamedTuple):
    """A kernel that no decode step launches: how to launch it, and part of its name."""

    launch: Callable[[], Any]
    kernel: str


SPIN = Marker(lambda: torch.cuda._sleep(2000), "spin_kernel")
"""Spins for a microsecond."""


def detaching_works(cuda_version: str | None) -> bool:
    """Whether CUPTI can leave a process that replays graphs, and come back.

    Before CUDA 12.6 the next session after that crashes (pytorch/pytorch#146604).
    """
    if cuda_version is None:
        return False
    major, minor = (int(part) for part in cuda_version.split(".")[:2])
    return (major, minor) >= (12, 6)


class Detacher:
    """Gets the profiler out of the driver again, where that works and the user has not decided otherwise.

    A session leaves CUPTI attached, and everything after it is slower: on an H200 graph replays by
    0.3 ms and eager tokens by 4 ms and more (``benchmarks/window_residue.py``). Kineto detaches it
    when the environment says so, within the CUDA calls that follow a session and from a thread of
    its own.
    """

    def __init__(
        self,
        device: Device,
        *,
        cuda_version: str | None = torch.version.cuda,
        environment: MutableMapping[str, str] = os.environ,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        if detaching_works(cuda_version):
            environment.setdefault(DETACH_SWITCH, "1")
        self._on = device.is_cuda and environment.get(DETACH_SWITCH) == "1"
        self._device = device
        self._pause = pause

    def detach(self) -> None:
        """Make some driver calls after a session, so that it is over before tokens or the next
        session come."""
        if not self._on:
            return
        for _ in range(DETACH_CALLS):
            self._device.synchronize()
            self._pause(DETACH_EVERY_S)


class Profiler:
    """Takes windows and remembers each mode's kernel count. Used on the decode thread."""

    def __init__(
        self, device: Device, clock: Callable[[], int] = time.perf_counter_ns, marker: Marker = SPIN
    ) -> None:
        self._device = device
        self._clock = clock
        self._marker = marker
        self._windows = 0
        self._counts: dict[ModeName, int] = {}
        self._detacher = Detacher(device)

    def take(self, mode: ModeName, step: Callable[[], Any], steps: int = WINDOW_STEPS) -> ProfileWindow:
        """Profile `steps` synchronised calls of `step` and judge the window.

        The first window of a mode can only set the count that the next must repeat, so it is
        rejected with that reason; ask again.
        """
        started = self._clock()
        device_records: list[DeviceRecord] = []
        launches: list[LaunchRecord] = []
        broken: Reason | None = None
        try:
            device_records, launches = self._record(step, steps)
        except ProfilerError as error:
            broken = because("profiler-broken", detail=str(error))
        # A step that fails goes past this: the driver may be past answering then.
        self._detacher.detach()
        if broken is not None:
            pause_ns = self._clock() - started
            return ProfileWindow(self._clock(), mode, steps, accepted=False, reason=broken, pause_ns=pause_ns)
        report = split_gaps(device_records, launches, steps)
        count = report.kernels // steps
        no_records = because("no-kernel-records") if report.records == 0 else None
        fault = no_records or window_fault(report, self._counts.get(mode))
        if fault is None and mode not in self._counts:
            fault = because("first-window", kernels=count)
        if report.records:
            self._counts[mode] = count
        mean = report.per_step()
        return ProfileWindow(
            self._clock(),
            mode=mode,
            steps=steps,
            accepted=fault is None,
            reason=fault or "",
            busy_ns=mean.busy_ns,
            busy_sum_ns=mean.busy_sum_ns,
            kernels=mean.kernels,
            copies=mean.copies,
            fills=mean.fills,
            copy_ns=mean.copy_ns,
            host_gap_ns=mean.host_gap_ns,
            launch_latency_ns=mean.launch_latency_ns,
            device_gap_ns=mean.device_gap_ns,
            unmatched=mean.unmatched,
            pause_ns=self._clock() - started,
            top=top_kernels(device_records, steps, TOP_KERNELS),
        )

    def _record(self, step: Callable[[], Any], steps: int) -> tuple[list[DeviceRecord], list[LaunchRecord]]:
        markers = self._windows + MARGIN_MARKERS
        self._windows += 1
        self._device.synchronize()
        session = profile(activities=[ProfilerActivity.CUDA])
        with _as_profiler_error():
            session.start()
        try:
            for _ in range(markers):
                self._marker.launch()
            self._device.synchronize()
            for _ in range(steps):
                step()
                self._device.synchronize()
        finally:
            with _as_profiler_error():
                session.stop()
        # prof.events() builds a Python object tree for seconds; the raw list takes milliseconds.
        result: Any = session.profiler
        records = read_records(result.kineto_results.events(), self._marker.kernel) if result else ([], [])
        del session, result
        gc.collect()
        return records


def read_records(events: Any, marker: str) -> tuple[list[DeviceRecord], list[LaunchRecord]]:
    """Sort raw kineto events into device records after the last kernel called `marker`, and
    launch calls.

    Without any marker among them both lists are empty: the head of the session was lost.
    """
    device: list[DeviceRecord] = []
    launches: list[LaunchRecord] = []
    last_marker: int | None = None
    cuda = DeviceType.CUDA
    for event in events:
        name, start = event.name(), event.start_ns()
        end = start + event.duration_ns()
        if event.device_type() != cuda:
            launches.append(LaunchRecord(start, end, event.correlation_id()))
        elif marker in name:
            last_marker = max(end, last_marker or end)
        else:
            kind = KINDS.get(name[:6], "kernel")
            device.append(DeviceRecord(start, end, kind, name, event.correlation_id()))
    if last_marker is None:
        return [], []
    return [record for record in device if record.start_ns >= last_marker], launches
