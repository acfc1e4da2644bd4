"""Sensor readings as short phrases, each with its value or the reason why there is none."""

from idlegap.core.protocol.events import CgroupSample, CpuSample, Event
from idlegap.core.protocol.reasons import because, code_of
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.text.reasons import words
from idlegap.tui.widgets import units
from idlegap.tui.widgets.phrases import NOTHING_DECODES, stale_words

NO_SAMPLE = "no reading yet"


def run_delay(snap: Snapshot, width: int | None = None) -> str:
    """Time per token, of `snap.recent`, that the decode thread was ready but had no core."""
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
    return f"{units.ms(work.cpu_ns).strip()} ms/token, {units.ms(work.least_ns).strip()} at best"


def _no_recent_token(snap: Snapshot) -> str:
    if snap.rate is None:
        return "no tokens yet"
    return NOTHING_DECODES if snap.halted else "no token in the last 2 s"


def others(cpu: CpuSample | None, width: int | None = None) -> str:
    """CPU that processes other than ours use, in percent of one core."""
    if cpu is None:
        return units.na(NO_SAMPLE, width)
    return units.reading(cpu.others_pct, units.percent_words, cpu.missing, "others_pct", width)


def steal(cpu: CpuSample | None, width: int | None = None) -> str:
    """Share of time that the hypervisor gave to another guest."""
    if cpu is None:
        return units.na(NO_SAMPLE, width)
    return units.reading(cpu.steal_pct, units.percent_words, cpu.missing, "steal_pct", width)


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
    return f"{text}, throttled {units.percent_words(per_interval(cgroup.throttled_ns, cgroup))}"


def pressure(cgroup: CgroupSample | None, width: int | None = None) -> str:
    """Share of time in which some task waited for a CPU: our control group, else the system."""
    if cgroup is None:
        return units.na(NO_SAMPLE, width)
    own, whole = cgroup.cgroup_pressure_us, cgroup.system_pressure_us
    waited_us = whole if own is None else own
    if waited_us is None or cgroup.interval_ns <= 0:
        return units.na(cgroup.missing.get("system_pressure_us", NO_SAMPLE), width)
    return units.percent_words(per_interval(waited_us * 1000, cgroup))


def own_neighbours(count: int) -> str:
    """The busy processes that key n has started."""
    return f"{count} neighbour{'s' * (count != 1)} of ours"


def per_interval(ns: int, cgroup: CgroupSample) -> float:
    """`ns` in percent of the sample's interval, 0 for an empty one."""
    return 100 * ns / cgroup.interval_ns if cgroup.interval_ns > 0 else 0.0


def own_cost(snap: Snapshot) -> str:
    """What this screen costs: CPU of its thread, traffic to the terminal."""
    monitor = snap.monitor
    if monitor is None:
        return units.na(NO_SAMPLE if snap.playback is None else "not in this recording so far")
    text = f"{units.percent_words(monitor.cpu_pct)} CPU"
    if monitor.bytes_per_s is not None:
        text += f", {units.kilobytes_per_s(monitor.bytes_per_s)}"
    return text


def staleness(sample: Event | None, snap: Snapshot) -> str:
    """``stale 12 s`` for a sample that should have been renewed long ago."""
    return "" if sample is None else stale_words(sample.t_ns, snap.t_ns)
