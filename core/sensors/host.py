"""The host as it is: processor, cores, affinity, memory, virtualisation. Read once.

What stands between this process and the machine (hypervisor, container, gVisor, lxcfs) is
recognised by files that any user may read. What cannot be recognised is None, which means
"nothing found", not "bare metal for certain".
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from idlegap.core.protocol.events import HostInfo
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.sensors.mounts import Mount
from idlegap.core.sensors.reading import read_text

_MODEL_KEYS = ("model name", "Model", "cpu model", "Processor")
"""x86 and most others; Raspberry Pi and POWER boards; MIPS; old ARM."""

_HYPERVISORS = (
    ("amazon ec2", "Amazon EC2"),
    ("google", "Google Compute Engine"),
    ("microsoft", "Hyper-V"),
    ("vmware", "VMware"),
    ("innotek", "VirtualBox"),
    ("virtualbox", "VirtualBox"),
    ("openstack", "OpenStack"),
    ("xen", "Xen"),
    ("qemu", "QEMU/KVM"),
    ("kvm", "KVM"),
)
_RUNTIMES = (
    ("kubepods", "Kubernetes"),
    ("docker", "Docker"),
    ("libpod", "Podman"),
    ("lxc", "LXC"),
    ("containerd", "containerd"),
)
# gVisor names this build date in /proc/version whatever kernel release it imitates.
_GVISOR_BUILD = "SMP Sun Jan 10 15:06:54 PST 2016"


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
    found = re.search(r"^MemTotal:\s*([0-9]+)", meminfo, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def read_host(
    root: Path, mounts: Sequence[Mount], affinity: Iterable[int], quota: float | None, now_ns: int
) -> HostInfo:
    """Describe the host. `mounts` betray lxcfs; `quota` is the smallest of a cgroup, in cores."""
    allowed = tuple(sorted(affinity))
    missing: dict[str, Reason] = {}
    cpuinfo, processors = parse_cpuinfo(read_text(root / "proc/cpuinfo"))
    model = next((cpuinfo[key] for key in _MODEL_KEYS if cpuinfo.get(key)), None)
    if model is None and cpuinfo.get("CPU part"):
        # ARM servers list registers instead of a name.
        model = f"ARM implementer {cpuinfo.get('CPU implementer')} part {cpuinfo['CPU part']}"
    if model is None:
        missing["cpu_model"] = because("no-cpu-model")
    memory = memory_bytes(read_text(root / "proc/meminfo"))
    if memory is None:
        missing["memory_bytes"] = because("unreadable", path="/proc/meminfo")
    gvisor = _GVISOR_BUILD in read_text(root / "proc/version")
    if gvisor:
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
        virtualization=_virtualization(root, cpuinfo.get("flags", "").split()),
        container="gVisor (no CPU times, no run delay)" if gvisor else _container(root, mounts),
        kernel=read_text(root / "proc/sys/kernel/osrelease"),
        missing=missing,
    )


def _virtualization(root: Path, cpu_flags: Sequence[str]) -> str | None:
    """The hypervisor, by name where the firmware gives one.

    The ``hypervisor`` CPU flag decides on x86; other processors have none, so there the
    firmware's name has to do, except for instance types that are sold as bare metal.
    """
    if "microsoft" in read_text(root / "proc/sys/kernel/osrelease").lower():
        return "WSL2"
    product = read_text(root / "sys/class/dmi/id/product_name")
    firmware = f"{read_text(root / 'sys/class/dmi/id/sys_vendor')} {product}".lower()
    name = next((name for word, name in _HYPERVISORS if word in firmware), None)
    if cpu_flags:
        return (name or "VM") if "hypervisor" in cpu_flags else None
    return None if product.endswith(".metal") else name


def _container(root: Path, mounts: Sequence[Mount]) -> str | None:
    """The container runtime, and what it makes of the CPU readings; None outside of one."""
    name = _runtime(root)
    replaced = sorted(mount.point.removeprefix("/proc/") for mount in mounts if mount.fstype == "fuse.lxcfs")
    return f"{name or 'LXC'}, lxcfs replaces {', '.join(replaced)}" if replaced else name


def _runtime(root: Path) -> str | None:
    if (root / "run/secrets/kubernetes.io").is_dir() or (root / "var/run/secrets/kubernetes.io").is_dir():
        return "Kubernetes"
    if (root / ".dockerenv").exists():
        return "Docker"
    if (root / "run/.containerenv").exists():
        return "Podman"
    hints = f"{read_text(root / 'run/systemd/container')} {read_text(root / 'proc/self/cgroup')}"
    return next((name for word, name in _RUNTIMES if word in hints), None)
