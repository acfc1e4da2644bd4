"""Small ``/proc`` and ``/sys`` trees as several kinds of machine show them."""

from dataclasses import dataclass
from pathlib import Path

CPUINFO = """processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Platinum 8480+
flags\t\t: fpu vme sse2 {flags}

processor\t: 1
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Platinum 8480+
flags\t\t: fpu vme sse2 {flags}
"""
GVISOR_VERSION = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"
ROOT_MOUNT = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw"
PROC_MOUNT = "22 27 0:21 / /proc rw,relatime - proc proc rw"


@dataclass(frozen=True)
class Tree:
    """A root directory with what the sensors read below it.

    `cpu` is the directory of this process's own cgroup with the cpu controller.
    """

    root: Path
    cpu: Path

    def write(self, path: str | Path, text: str) -> Path:
        """Write a file below the root (or at an absolute path inside it)."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def pressure(self, path: str | Path, total_us: int) -> Path:
        """Write a PSI file."""
        return self.write(
            path,
            f"some avg10=1.50 avg60=0.20 avg300=0.05 total={total_us}\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
        )

    def system_pressure(self, total_us: int) -> Path:
        """Write the machine's PSI file."""
        return self.pressure("proc/pressure/cpu", total_us)

    def own_pressure(self, total_us: int) -> Path:
        """Write the own cgroup's PSI file."""
        return self.pressure(self.cpu / "cpu.pressure", total_us)

    def stat_v2(self, directory: Path, throttled: int, usec: int) -> Path:
        """Write ``cpu.stat`` of a v2 cgroup whose cpu controller is on."""
        return self.write(
            directory / "cpu.stat",
            "usage_usec 5000000\nuser_usec 4000000\nsystem_usec 1000000\n"
            f"nr_periods 900\nnr_throttled {throttled}\nthrottled_usec {usec}\nnr_bursts 0\nburst_usec 0\n",
        )

    def stat_v1(self, directory: Path, throttled: int, ns: int) -> Path:
        """Write ``cpu.stat`` of a v1 cgroup."""
        return self.write(
            directory / "cpu.stat", f"nr_periods 900\nnr_throttled {throttled}\nthrottled_time {ns}\n"
        )

    def cores(self, *rows: str) -> Path:
        """Write ``/proc/stat``; each row holds one core's ten counters in jiffies."""
        lines = [f"cpu{number} {row}" for number, row in enumerate(rows)]
        total = [sum(column) for column in zip(*(map(int, row.split()) for row in rows), strict=True)]
        text = "\n".join(
            [f"cpu  {' '.join(map(str, total))}", *lines, "intr 0", "ctxt 5", "btime 1700000000"]
        )
        return self.write("proc/stat", text + "\n")


def _base(root: Path, cpu: str, mounts: list[str], membership: str, *, flags: str = "") -> Tree:
    tree = Tree(root, root / cpu)
    tree.cpu.mkdir(parents=True, exist_ok=True)
    tree.write("proc/cpuinfo", CPUINFO.format(flags=flags))
    tree.write("proc/meminfo", "MemTotal:       16384 kB\nMemFree:        100 kB\n")
    tree.write("proc/loadavg", "1.25 0.80 0.40 2/310 4242\n")
    tree.write("proc/version", "Linux version 6.8.0-40-generic (build) #40-Ubuntu SMP\n")
    tree.write("proc/sys/kernel/osrelease", "6.8.0-40-generic\n")
    tree.write("proc/self/mountinfo", "\n".join([ROOT_MOUNT, PROC_MOUNT, *mounts]) + "\n")
    tree.write("proc/self/cgroup", membership)
    tree.cores("100 0 50 800 40 0 5 5 0 0", "200 0 60 700 30 0 5 5 0 0")
    tree.system_pressure(1_000)
    return tree


def _v2_dir(tree: Tree, directory: Path, cpu_max: str) -> None:
    tree.write(directory / "cgroup.type", "domain\n")
    tree.write(directory / "cpu.max", f"{cpu_max}\n")
    tree.stat_v2(directory, 0, 0)
    tree.pressure(directory / "cpu.pressure", 500)


def docker_v2(root: Path) -> Tree:
    """Docker on cgroup v2 in a cgroup namespace of its own, limited to two cores."""
    mount = "40 22 0:28 / /sys/fs/cgroup ro,nosuid shared:9 - cgroup2 cgroup rw,nsdelegate"
    tree = _base(root, "sys/fs/cgroup", [mount], "0::/\n")
    tree.write(".dockerenv", "")
    _v2_dir(tree, tree.cpu, "200000 100000")
    return tree


def vast_ai(root: Path) -> Tree:
    """A rental that shares by weight: no quota anywhere, so nothing is ever throttled."""
    tree = docker_v2(root)
    tree.write(tree.cpu / "cpu.max", "max 100000\n")
    tree.write(tree.cpu / "cpu.weight", "39\n")
    return tree


def kubernetes(root: Path) -> Tree:
    """A container of four cores in a pod of one and a half, with the host's cgroup paths."""
    path = "kubepods.slice/kubepods-pod1.slice/cri-containerd-abc.scope"
    mount = "40 22 0:28 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw"
    tree = _base(root, f"sys/fs/cgroup/{path}", [mount], f"0::/{path}\n")
    (root / "run/secrets/kubernetes.io").mkdir(parents=True)
    _v2_dir(tree, tree.cpu, "400000 100000")
    _v2_dir(tree, tree.cpu.parent, "150000 100000")
    _v2_dir(tree, tree.cpu.parent.parent, "max 100000")
    tree.write("sys/fs/cgroup/cpu.stat", "usage_usec 9\nuser_usec 8\nsystem_usec 1\n")
    return tree


def lxcfs(root: Path) -> Tree:
    """An LXC container in which lxcfs stands in for parts of /proc."""
    mounts = [
        "40 22 0:28 / /sys/fs/cgroup rw - cgroup2 none rw",
        "41 22 0:50 /proc/stat /proc/stat rw - fuse.lxcfs lxcfs rw,user_id=0",
        "42 22 0:50 /proc/cpuinfo /proc/cpuinfo rw - fuse.lxcfs lxcfs rw,user_id=0",
    ]
    tree = _base(root, "sys/fs/cgroup", mounts, "0::/\n")
    tree.write("run/systemd/container", "lxc\n")
    _v2_dir(tree, tree.cpu, "max 100000")
    return tree


def cgroup_v1(root: Path) -> Tree:
    """Docker on cgroup v1: the mount shows only the container's part of the host's paths."""
    mounts = [
        "40 22 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755",
        "41 40 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct",
        "42 40 0:30 /docker/abc /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset",
    ]
    membership = "5:cpuset:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n"
    tree = _base(root, "sys/fs/cgroup/cpu,cpuacct", mounts, membership)
    tree.write(tree.cpu / "cpu.cfs_quota_us", "50000\n")
    tree.write(tree.cpu / "cpu.cfs_period_us", "100000\n")
    tree.stat_v1(tree.cpu, 0, 0)
    return tree


def hybrid(root: Path) -> Tree:
    """Controllers on v1 beside a v2 hierarchy without any; no quota, root cgroups."""
    mounts = [
        "41 40 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",
        "42 40 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
    ]
    tree = _base(root, "sys/fs/cgroup/cpu", mounts, "2:cpu:/\n0::/\n", flags="hypervisor")
    tree.write(tree.cpu / "cpu.cfs_quota_us", "-1\n")
    tree.write(tree.cpu / "cpu.cfs_period_us", "100000\n")
    tree.stat_v1(tree.cpu, 0, 0)
    tree.write("sys/fs/cgroup/unified/cpu.stat", "usage_usec 9\n")
    tree.pressure("sys/fs/cgroup/unified/cpu.pressure", 1_000)
    return tree


def gvisor(root: Path) -> Tree:
    """gVisor: the files exist, the counters are zero, and neither cgroups nor PSI are there."""
    tree = _base(root, "sys/fs/cgroup", [], "")
    tree.write("proc/version", GVISOR_VERSION)
    tree.write("proc/sys/kernel/osrelease", "4.4.0\n")
    tree.cores("0 0 0 0 0 0 0 0 0 0", "0 0 0 0 0 0 0 0 0 0")
    tree.write("proc/self/schedstat", "0 0 0\n")
    (root / "proc/pressure/cpu").unlink()
    return tree


def no_psi(root: Path) -> Tree:
    """Docker on a kernel that was started without pressure accounting."""
    tree = docker_v2(root)
    (root / "proc/pressure/cpu").unlink()
    (tree.cpu / "cpu.pressure").unlink()
    return tree
