"""The host's description on every kind of machine."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.protocol.events import HostInfo
from idlegap.core.sensors.host import memory_bytes, parse_cpuinfo, read_host
from idlegap.core.sensors.mounts import read_mounts
from tests.core.sensors import trees


def describe(root: Path, affinity: tuple[int, ...] = (0, 1), quota: float | None = None) -> HostInfo:
    return read_host(root, read_mounts(root), affinity, quota, now_ns=5)


def test_docker_on_a_plain_machine(tmp_path: Path) -> None:
    trees.docker_v2(tmp_path)
    assert describe(tmp_path, affinity=(1, 0), quota=1.5) == HostInfo(
        t_ns=5,
        cpu_model="Intel(R) Xeon(R) Platinum 8480+",
        cores=2,
        affinity=(0, 1),
        usable_cores=1.5,
        memory_bytes=16 * 1024 * 1024,
        virtualization=None,
        container="Docker",
        kernel="6.8.0-40-generic",
    )


def test_usable_cores_is_the_affinity_where_the_quota_is_larger_or_absent(tmp_path: Path) -> None:
    trees.docker_v2(tmp_path)
    assert describe(tmp_path, affinity=(1,), quota=8.0).usable_cores == 1.0
    assert describe(tmp_path, affinity=(0, 1), quota=None).usable_cores == 2.0


def test_fewer_listed_processors_than_usable_ones(tmp_path: Path) -> None:
    trees.lxcfs(tmp_path)
    assert describe(tmp_path, affinity=tuple(range(8))).cores == 8


def test_lxcfs_is_named_with_what_it_replaces(tmp_path: Path) -> None:
    trees.lxcfs(tmp_path)
    assert describe(tmp_path).container == "LXC, lxcfs replaces cpuinfo, stat"


def test_kubernetes_is_named(tmp_path: Path) -> None:
    trees.kubernetes(tmp_path)
    assert describe(tmp_path).container == "Kubernetes"


def test_cgroup_path_names_the_runtime_where_no_marker_file_does(tmp_path: Path) -> None:
    trees.cgroup_v1(tmp_path)
    assert describe(tmp_path).container == "Docker"


def test_no_container(tmp_path: Path) -> None:
    trees.hybrid(tmp_path)
    assert describe(tmp_path).container is None


def test_gvisor_is_named_and_its_gaps_are_listed(tmp_path: Path) -> None:
    trees.gvisor(tmp_path)
    host = describe(tmp_path)
    assert host.container == "gVisor (no CPU times, no run delay)"
    assert set(host.missing) == {"core_pct", "run_delay_ns"}


@pytest.mark.parametrize(
    ("vendor", "product", "name"),
    [
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", "QEMU/KVM"),
        ("Amazon EC2", "g5.xlarge", "Amazon EC2"),
        ("Google", "Google Compute Engine", "Google Compute Engine"),
        ("Microsoft Corporation", "Virtual Machine", "Hyper-V"),
        ("Supermicro", "SYS-421GE", "VM"),
    ],
)
def test_hypervisors_by_firmware(tmp_path: Path, vendor: str, product: str, name: str) -> None:
    tree = trees.hybrid(tmp_path)
    tree.write("sys/class/dmi/id/sys_vendor", f"{vendor}\n")
    tree.write("sys/class/dmi/id/product_name", f"{product}\n")
    assert describe(tmp_path).virtualization == name


def test_the_cpu_flag_decides_against_the_firmware_s_name(tmp_path: Path) -> None:
    tree = trees.docker_v2(tmp_path)
    tree.write("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
    tree.write("sys/class/dmi/id/product_name", "p5.48xlarge\n")
    assert describe(tmp_path).virtualization is None


@pytest.mark.parametrize(("product", "name"), [("c7g.xlarge", "Amazon EC2"), ("c7g.metal", None)])
def test_arm_has_no_flag_so_the_firmware_decides(tmp_path: Path, product: str, name: str | None) -> None:
    tree = trees.docker_v2(tmp_path)
    tree.write("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n")
    tree.write("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
    tree.write("sys/class/dmi/id/product_name", f"{product}\n")
    host = describe(tmp_path)
    assert host.virtualization == name
    assert host.cpu_model == "ARM implementer 0x41 part 0xd40"


def test_wsl(tmp_path: Path) -> None:
    tree = trees.docker_v2(tmp_path)
    tree.write("proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n")
    assert describe(tmp_path).virtualization == "WSL2"


def test_an_empty_root_gives_reasons_instead_of_values(tmp_path: Path) -> None:
    host = describe(tmp_path)
    assert (host.cpu_model, host.memory_bytes, host.cores) == (None, None, 2)
    assert set(host.missing) == {"cpu_model", "memory_bytes"}


@given(st.text())
def test_no_content_makes_the_parsers_raise(text: str) -> None:
    _, processors = parse_cpuinfo(text)
    assert processors >= 0
    memory = memory_bytes(text)
    assert memory is None or memory >= 0
