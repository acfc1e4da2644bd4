"""What panels and pages say of a snapshot: each reading as a short phrase, with its value or the reason
why there is none."""

from idlegap.core.protocol.events import CgroupSample, CpuSample, Event, GpuSample
from idlegap.core.protocol.reasons import Missing, ReasonOrText, because, code_of
from idlegap.core.sensors.nvml import event_reason_names
from idlegap.core.session.snapshot import ModeView, Snapshot
from idlegap.core.text import units
from idlegap.core.text.reasons import words

STALE_AFTER_NS = 5 * 10**9
"""Sensors speak at least once a second; five missed readings are no coincidence."""

NO_SAMPLE = "no reading yet"
NO_TOKENS = "no tokens yet"
NOT_MEASURED = "not measured yet"
NOTHING_DECODES = "nothing decodes now"

_GPU_IDLE = 0x1
"""The only event reason that takes nothing from running work."""


def five_cells(value: float) -> str:
    """A percentage as wide as 100 %, so that nothing to its right moves."""
    return units.pct(value).rjust(5)


# The engine ----------------------------------------------------------------------------


def current(snap: Snapshot) -> ModeView | None:
    """The row of the mode that decodes now."""
    return snap.mode_view(snap.mode)


def is_tokenless(snap: Snapshot) -> bool:
    """Whether no token has been seen yet, also where none can come any more."""
    return snap.rate is None and not any(m.visited for m in snap.modes)


def is_loading(snap: Snapshot) -> bool:
    """Whether no token has been seen yet and one may still come."""
    return snap.failed is None and is_tokenless(snap)


def run_delay(snap: Snapshot, width: int | None = None) -> str:
    """Run delay of a token of `snap.recent`: time in which the decode thread was ready but had no core."""
    recent = snap.recent
    if recent is None:
        return units.na(_no_recent_token(snap), width)
    if recent.run_delay_ns is None:
        return units.na("no schedstat", width)
    return f"{units.ms(recent.run_delay_ns)} ms/token"


def cpu_work(snap: Snapshot) -> str:
    """CPU time of the decode thread per token, and the least that the same work took here."""
    work = snap.cpu_work
    if work is None:
        return units.na(snap.cpu_work_reason or _no_recent_token(snap))
    return f"{units.ms(work.cpu_ns)} ms/token, {units.ms(work.least_ns)} at best"


def own_cost(snap: Snapshot) -> str:
    """What this screen costs: CPU of its thread, traffic to the terminal."""
    monitor = snap.monitor
    if monitor is None:
        return units.na(NO_SAMPLE if snap.playback is None else "not in this recording so far")
    text = f"{units.pct(monitor.cpu_pct)} CPU"
    if monitor.bytes_per_s is not None:
        text += f", {units.fitted(monitor.bytes_per_s / 1e3, 3)} KB/s"
    return text


def _no_recent_token(snap: Snapshot) -> str:
    if snap.rate is None:
        return NO_TOKENS
    return NOTHING_DECODES if snap.halted else "no token in the last 2 s"


# The host ------------------------------------------------------------------------------


def others(cpu: CpuSample | None, width: int | None = None) -> str:
    """CPU that processes other than ours use, in percent of one core."""
    if cpu is None:
        return units.na(NO_SAMPLE, width)
    return units.reading(cpu.others_pct, units.pct, cpu.missing, "others_pct", width)


def steal(cpu: CpuSample | None, width: int | None = None) -> str:
    """Share of time that the hypervisor gave to another guest."""
    if cpu is None:
        return units.na(NO_SAMPLE, width)
    return units.reading(cpu.steal_pct, units.pct, cpu.missing, "steal_pct", width)


def decode_core(cpu: CpuSample | None) -> str:
    """The core that the decode thread ran on last."""
    if cpu is None:
        return units.na(NO_SAMPLE)
    return units.reading(cpu.decode_core, str, cpu.missing, "decode_core")


def quota(cgroup: CgroupSample | None) -> str:
    """The CPU quota and how much of the last interval it took away."""
    if cgroup is None:
        return units.na(NO_SAMPLE)
    if cgroup.quota_cores is None:
        reason = cgroup.missing.get("quota_cores", because("no-quota"))
        return words(reason) if code_of(reason) == "no-quota" else f"quota {units.na(reason)}"
    text = f"quota {cgroup.quota_cores:g}"
    if cgroup.throttled_ns is None:
        return f"{text}, throttling {units.na(cgroup.missing.get('throttled_ns'))}"
    return f"{text}, throttled {_of_interval(cgroup.throttled_ns, cgroup)}"


def pressure(cgroup: CgroupSample | None, width: int | None = None) -> str:
    """Share of time in which some task waited for a CPU: our control group, else the system."""
    if cgroup is None:
        return units.na(NO_SAMPLE, width)
    own, whole = cgroup.cgroup_pressure_us, cgroup.system_pressure_us
    waited_us = whole if own is None else own
    if waited_us is None or cgroup.interval_ns <= 0:
        return units.na(cgroup.missing.get("system_pressure_us", NO_SAMPLE), width)
    return _of_interval(waited_us * 1000, cgroup)


def own_neighbours(count: int) -> str:
    """The busy processes that key n has started."""
    return f"{count} neighbour{'s' * (count != 1)} of ours"


def staleness(sample: Event | None, snap: Snapshot) -> str:
    """``stale 12 s`` for a sample that should have been renewed long ago, else nothing."""
    age_ns = 0 if sample is None else snap.t_ns - sample.t_ns
    return f"stale {age_ns / units.NS_PER_S:.0f} s" if age_ns > STALE_AFTER_NS else ""


def _of_interval(ns: int, cgroup: CgroupSample) -> str:
    """`ns` as a share of the sample's interval, 0 for an empty one."""
    return units.percent(ns / cgroup.interval_ns if cgroup.interval_ns > 0 else 0)


# The GPU -------------------------------------------------------------------------------


def busy_share(snap: Snapshot) -> float | None:
    """Share (0..1) of a token in which the device is busy, where a profile window says so and tokens
    are decoded: it stands beside readings of the present."""
    view, rate = current(snap), snap.rate
    if snap.halted or view is None or view.split is None or rate is None or not rate.p50_ns:
        return None
    return min(1.0, view.split.busy_ns / rate.p50_ns)


def busy(snap: Snapshot, width: int | None = None) -> str:
    """Device busy as a share of a token in the current mode."""
    share = busy_share(snap)
    return units.na(_not_busy_reason(snap), width) if share is None else units.percent(share)


def gpu_absence(snap: Snapshot) -> ReasonOrText:
    """Why there are no GPU readings."""
    if snap.gpu_info is None or snap.gpu_info.name is not None:
        return NO_SAMPLE
    return _any_reason(snap.gpu_info.missing, "name", "no NVIDIA GPU found")


def sm_clock(gpu: GpuSample) -> tuple[str, bool]:
    """The SM clock with the reason why it is no higher, and whether that costs speed."""
    clock = units.reading(gpu.sm_mhz, "{:5,d} MHz".format, gpu.missing, "sm_mhz")
    if gpu.event_reasons is None:
        return f"{clock}, limits {units.na(gpu.missing.get('event_reasons'))}", False
    reasons = " + ".join(event_reason_names(gpu.event_reasons)) or "not limited"
    return f"{clock}, {reasons}", bool(gpu.event_reasons & ~_GPU_IDLE)


def _not_busy_reason(snap: Snapshot) -> ReasonOrText:
    """Why `busy_share` is not known."""
    view = current(snap)
    if snap.engine is not None and snap.engine.device == "cpu":
        return because("needs-cuda")
    if view is None:
        return NO_TOKENS
    if snap.halted and view.visited:
        return NOTHING_DECODES
    return view.split_reason or NOT_MEASURED


def _any_reason(missing: Missing, field: str, otherwise: str) -> ReasonOrText:
    """The reason for `field`, else any reason that stands for the whole event, else `otherwise`."""
    return missing.get(field) or next(iter(missing.values()), otherwise)
