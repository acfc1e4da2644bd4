"""What stands between this process and the machine: hypervisor, container, gVisor, lxcfs.

Everything here is recognised by files that any user may read. What cannot be recognised is
None, which means "nothing found", not "bare metal for certain".
"""

from collections.abc import Sequence
from pathlib import Path

from idlegap.core.sensors.mounts import Mount

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


def read_line(path: Path) -> str:
    """First line of a small file, stripped; empty where it cannot be read."""
    try:
        return path.read_text(errors="replace").partition("\n")[0].strip()
    except OSError:
        return ""


def is_gvisor(root: Path) -> bool:
    """Whether the kernel is gVisor's, which keeps neither CPU times nor run delay."""
    return _GVISOR_BUILD in read_line(root / "proc/version")


def lxcfs_files(mounts: Sequence[Mount]) -> tuple[str, ...]:
    """Names in /proc that lxcfs replaces with the container's own view."""
    return tuple(sorted(m.point.removeprefix("/proc/") for m in mounts if m.fstype == "fuse.lxcfs"))


def virtualization(root: Path, cpu_flags: Sequence[str]) -> str | None:
    """The hypervisor, by name where the firmware gives one.

    The ``hypervisor`` CPU flag decides on x86; other processors have none, so there the
    firmware's name has to do, except for instance types that are sold as bare metal.
    """
    if "microsoft" in read_line(root / "proc/sys/kernel/osrelease").lower():
        return "WSL2"
    product = read_line(root / "sys/class/dmi/id/product_name")
    firmware = f"{read_line(root / 'sys/class/dmi/id/sys_vendor')} {product}".lower()
    name = next((name for word, name in _HYPERVISORS if word in firmware), None)
    if cpu_flags:
        return (name or "VM") if "hypervisor" in cpu_flags else None
    return None if product.endswith(".metal") else name


def container(root: Path, mounts: Sequence[Mount]) -> str | None:
    """The container runtime, and what it makes of the CPU readings; None outside of one."""
    if is_gvisor(root):
        return "gVisor (no CPU times, no run delay)"
    name = _runtime(root)
    virtualised = lxcfs_files(mounts)
    if virtualised:
        return f"{name or 'LXC'}, lxcfs replaces {', '.join(virtualised)}"
    return name


def _runtime(root: Path) -> str | None:
    if (root / "run/secrets/kubernetes.io").is_dir() or (root / "var/run/secrets/kubernetes.io").is_dir():
        return "Kubernetes"
    if (root / ".dockerenv").exists():
        return "Docker"
    if (root / "run/.containerenv").exists():
        return "Podman"
    try:
        membership = (root / "proc/self/cgroup").read_text(errors="replace")
    except OSError:
        membership = ""
    hints = f"{read_line(root / 'run/systemd/container')} {membership}"
    return next((name for word, name in _RUNTIMES if word in hints), None)
