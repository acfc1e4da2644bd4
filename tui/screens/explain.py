"""The explanation page: each number on the screen, what it is, and its value now."""

from idlegap.core.measure.device_time import Split
from idlegap.core.session.snapshot import ModeView, Snapshot
from idlegap.core.text import units
from idlegap.core.text.sanitize import shorten
from idlegap.tui.widgets import readings
from idlegap.tui.widgets.line import Line, wrapped
from idlegap.tui.widgets.palette import DIM, STRONG, TEXT
from idlegap.tui.widgets.readings import NOTHING_DECODES, current
from idlegap.tui.widgets.work_panel import ceiling_rows

Entry = tuple[str, str, str]
"""What a number is called, its value now, and what it means."""

_NAME_CELLS = 22
NO_TOKENS = units.na(readings.NO_TOKENS)


def explain_text(snap: Snapshot, width: int) -> list[Line]:
    """The rows of the explanation page."""
    lines = [Line()]
    for name, value, meaning in (*speed(snap), *device(snap), *host(snap), *itself(snap)):
        lines.append(
            Line().add(f" {name}", STRONG).to(_NAME_CELLS).add(shorten(value, width - _NAME_CELLS - 1), TEXT)
        )
        lines += wrapped(meaning, min(width, 100), 4, "   ", DIM)
    return lines


def speed(snap: Snapshot) -> list[Entry]:
    """How fast it decodes, and where the host spends the time."""
    view, rate = current(snap), snap.rate
    batch = snap.engine.batch if snap.engine else 1
    prompt = f" of {units.count(snap.engine.prompt_tokens)} tokens" if snap.engine else ""

    last = f" (the last ones: {NOTHING_DECODES})" if snap.halted else ""

    def milliseconds(ns: int | None) -> str:
        return NO_TOKENS if ns is None else f"{units.ms(ns)} ms"

    return [
        ("tok/s", f"{units.rate(rate.tok_per_s, 4).strip()}{last}" if rate else NO_TOKENS,
         f"Batch size ({batch}) times tokens, divided by the sum of their times; pauses and tokens "
         "under the profiler do not count."),
        ("ms/token, p50, p99", f"{_three(snap)}{last if rate else ''}",
         "Time per output token (TPOT), or inter-token latency: from before a token's first kernel is "
         "submitted until after the device has finished it; mean, median and the slowest hundredth."),
        ("dispatch", milliseconds(view.dispatch_ns if view else None),
         "Time until the host has submitted the whole token. In an eager mode this is nearly all of it."),
        ("wait", milliseconds(view.wait_ns if view else None),
         "Time that the host then waits for the device. In a graph mode this is nearly all of it."),
        ("prefill", milliseconds(view.prefill_ns if view else None),
         f"Reading the prompt{prompt}, timed apart: most of the time to first token (TTFT). Graphs should "
         "not change it, so it is the sanity check."),
    ]  # fmt: skip


def device(snap: Snapshot) -> list[Entry]:
    """What the device did in that time."""
    view = current(snap)
    split = view.split if view is not None else None
    gpu = snap.gpu
    clock = readings.sm_clock(gpu)[0] if gpu is not None else units.na(readings.gpu_absence(snap))
    nvml = units.na(readings.gpu_absence(snap))
    if gpu is not None:
        nvml = units.reading(gpu.util_pct, units.pct, gpu.missing, "util_pct")
    ceilings = dict(ceiling_rows(snap.ceiling))
    return [
        ("device busy", f"{readings.busy(snap)}{_of_wall(snap)}",
         "Union of all kernel, copy and fill intervals of a token, from kernel records of a few steps, as a "
         "share of the token's time. It repeats within a tenth of a percent; the token's time does not."),
        ("host gap", _gap(view, split, "host_gap_ns"),
         "The device had nothing queued, and the call that would give it work had not returned yet."),
        ("launch latency", _gap(view, split, "launch_latency_ns"),
         "The call had returned and the queue was empty, but the kernel had not started: it exists only "
         "because the host is late."),
        ("device gap", _gap(view, split, "device_gap_ns"),
         "Kernels were queued, and still the next one did not start at once: about half a microsecond "
         "each, also inside a graph."),
        ("weight-stream bound", ceilings.get("weight-stream bound", ceilings.get("ceilings", "")),
         "Bytes of the weights divided by the measured copy bandwidth: hardly any batch-1 token is faster."),
        ("NVML util", nvml,
         "The driver's number: the share of its window in which any kernel at all was running. It does "
         "not say how much of the GPU that kernel used."),
        ("SM clock", clock,
         "The clock of the GPU's cores and why it is no higher."),
    ]  # fmt: skip


def host(snap: Snapshot) -> list[Entry]:
    """Whether the machine lets the decode thread run."""
    return [
        ("run delay", readings.run_delay(snap),
         "Time per token in which the decode thread was ready to run but had no CPU core: others had it."),
        ("CPU time of a token", readings.cpu_work(snap),
         "What the decode thread computed for a token, without any waiting, and the least that 32 tokens of "
         "this mode took. The same kernels at more CPU time: the host itself has become slower."),
        ("CPU of others", readings.others(snap.cpu),
         "CPU time of everything that is not idlegap, in percent of one core."),
        ("steal", readings.steal(snap.cpu),
         "Share of time in which the hypervisor ran another guest instead of this one."),
        ("CPU quota", readings.quota(snap.cgroup),
         "The lowest limit from our control group up to the root, and how long it stopped this process."),
        ("pressure", readings.pressure(snap.cgroup),
         "Share of time in which at least one task waited for a CPU."),
    ]  # fmt: skip


def itself(snap: Snapshot) -> list[Entry]:
    """What watching costs, and what was left out."""
    monitor = snap.monitor
    frame = "" if monitor is None else (
        f", {units.ms(monitor.frame_ns)} ms a frame, {monitor.frames_per_s:.0f} frames/s"
    )  # fmt: skip
    own = "The decode thread shares this process, so its figures include the screen's disturbance."
    apart = "CPU of the thread that draws, and bytes sent to the terminal. Decoding runs in its own process."
    return [
        ("this screen", f"{readings.own_cost(snap)}{frame}", own if snap.in_process else apart),
        ("left out", f"{units.count(snap.excluded)} tokens, {units.count(snap.dropped)} events lost",
         "Warm-up tokens, those under the profiler and those at new cache lengths do not count; events are "
         "lost only when they are not read in time."),
    ]  # fmt: skip


def _three(snap: Snapshot) -> str:
    rate = snap.rate
    if rate is None:
        return NO_TOKENS
    return f"{units.ms(rate.mean_ns)}, {units.ms(rate.p50_ns)}, {units.ms(rate.p99_ns)}"


def _of_wall(snap: Snapshot) -> str:
    view, rate = current(snap), snap.rate
    if readings.busy_share(snap) is None or view is None or view.split is None or rate is None:
        return ""
    return f" = {units.ms(view.split.busy_ns)} of {units.ms(rate.p50_ns)} ms"


def _gap(view: ModeView | None, split: Split | None, name: str) -> str:
    if view is None:
        return NO_TOKENS
    if split is None:
        return units.na(view.split_reason or readings.NOT_MEASURED)
    return f"{units.ms(getattr(split, name))} ms a token"
