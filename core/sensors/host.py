"""The host as it is: processor, cores, affinity, memory, virtualisation. Read once."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from idlegap.core.protocol.events import HostInfo
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.sensors.mounts import Mount
from idlegap.core.sensors.virtual import container, is_gvisor, read_line, virtualization

_MODEL_KEYS = ("model name", "Model", "cpu model", "Processor")
"""x86 and most others; Raspberry Pi and POWER boards; MIPS; old ARM."""


def parse_cpuinfo(text: str) -> tuple[dict[str, str], int]:
    """First value of every key of ``/proc/cpuinfo``, and the number of processors."""
    values: dict[str, str] = {}
    processors = 0
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            continue
        values.setdefault(key.strip(), value.strip())
        processors += key.strip() == "processor"
    return values, processors


def memory_bytes(meminfo: str) -> int | None:
    """MemTotal of ``/proc/meminfo``, which counts in KiB."""
    for line in meminfo.splitlines():
        name, _, value = line.partition(":")
        amount = value.split()
        if name == "MemTotal" and amount and amount[0].isdecimal():
            return int(amount[0]) * 1024
    return None


def read_host(
    root: Path, mounts: Sequence[Mount], affinity: Iterable[int], quota: float | None, now_ns: int
) -> HostInfo:
    """Describe the host.

    Args:
        root: where ``proc`` and ``sys`` are found.
        mounts: the mounts of this process, which betray lxcfs.
        affinity: the cores that this process may run on.
        quota: the smallest cgroup quota in cores, None without one.
        now_ns: the event's time.
    """
    allowed = tuple(sorted(affinity))
    missing: dict[str, Reason] = {}
    cpuinfo, processors = parse_cpuinfo(_text(root / "proc/cpuinfo"))
    model = next((cpuinfo[key] for key in _MODEL_KEYS if cpuinfo.get(key)), None)
    if model is None and cpuinfo.get("CPU part"):
        # ARM servers list registers instead of a name.
        model = f"ARM implementer {cpuinfo.get('CPU implementer')} part {cpuinfo['CPU part']}"
    if model is None:
        missing["cpu_model"] = because("no-cpu-model")
    memory = memory_bytes(_text(root / "proc/meminfo"))
    if memory is None:
        missing["memory_bytes"] = because("unreadable", path="/proc/meminfo")
    if is_gvisor(root):
        missing["core_pct"] = because("gvisor", what="CPU times")
        missing["run_delay_ns"] = because("gvisor", what="run delay")
    return HostInfo(
        t_ns=now_ns,
        cpu_model=model,
        # lxcfs may list fewer processors than the affinity allows.
        cores=max(processors, len(allowed)),
        affinity=allowed,
        usable_cores=min(float(len(allowed)), quota if quota is not None else float("inf")),
        memory_bytes=memory,
        virtualization=virtualization(root, cpuinfo.get("flags", "").split()),
        container=container(root, mounts),
        kernel=read_line(root / "proc/sys/kernel/osrelease"),
        missing=missing,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
