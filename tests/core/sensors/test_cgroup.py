"""Quota, throttling and pressure on every kind of cgroup tree."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.protocol.events import CgroupSample
from idlegap.core.protocol.reasons import because
from idlegap.core.sensors.cgroup import CgroupReader, pressure_us, quota_cores, throttling
from idlegap.core.sensors.mounts import read_mounts
from idlegap.core.sensors.reading import SECOND, ReadingError
from tests.core.sensors import trees

STEP = SECOND // 4


def reader(root: Path) -> CgroupReader:
    return CgroupReader(root, read_mounts(root))


def sample_after(root: Path, change: Callable[[], object]) -> CgroupSample:
    """The sample that covers `change`."""
    cgroup = reader(root)
    assert cgroup.sample(STEP) is None
    change()
    sample = cgroup.sample(2 * STEP)
    assert sample is not None
    return sample


def test_docker_v2_quota_throttling_and_both_pressures(tmp_path: Path) -> None:
    tree = trees.docker_v2(tmp_path)
    tree.stat_v2(tree.cpu, 10, 1_000)

    def change() -> None:
        tree.stat_v2(tree.cpu, 13, 41_500)
        tree.own_pressure(800)
        tree.system_pressure(9_000)

    assert sample_after(tmp_path, change) == CgroupSample(
        t_ns=2 * STEP,
        quota_cores=2.0,
        throttled=3,
        throttled_ns=40_500_000,
        cgroup_pressure_us=300,
        system_pressure_us=8_000,
        interval_ns=STEP,
    )


def test_vast_ai_has_no_quota_and_honest_zeros(tmp_path: Path) -> None:
    trees.vast_ai(tmp_path)
    sample = sample_after(tmp_path, lambda: None)
    assert sample.quota_cores is None
    assert sample.missing == {"quota_cores": because("no-quota")}
    assert (sample.throttled, sample.throttled_ns) == (0, 0)


def test_kubernetes_takes_the_pod_s_smaller_quota_and_counts_both_levels(tmp_path: Path) -> None:
    tree = trees.kubernetes(tmp_path)

    def change() -> None:
        tree.stat_v2(tree.cpu, 1, 100)
        tree.stat_v2(tree.cpu.parent, 4, 2_000)
        # The slice above sets no quota: whatever its counters do is none of ours.
        tree.stat_v2(tree.cpu.parent.parent, 50, 90_000)

    sample = sample_after(tmp_path, change)
    assert sample.quota_cores == 1.5
    assert (sample.throttled, sample.throttled_ns) == (5, 2_100_000)


def test_cgroup_v1_counts_nanoseconds_and_has_no_pressure_of_its_own(tmp_path: Path) -> None:
    tree = trees.cgroup_v1(tmp_path)
    tree.stat_v1(tree.cpu, 2, 5_000)
    sample = sample_after(tmp_path, lambda: tree.stat_v1(tree.cpu, 4, 7_777))
    assert sample.quota_cores == 0.5
    assert (sample.throttled, sample.throttled_ns) == (2, 2_777)
    assert sample.cgroup_pressure_us is None
    assert sample.missing == {"cgroup_pressure_us": because("no-cgroup-v2")}


def test_hybrid_does_not_pass_the_machine_s_pressure_off_as_its_own(tmp_path: Path) -> None:
    tree = trees.hybrid(tmp_path)

    def change() -> None:
        tree.pressure("sys/fs/cgroup/unified/cpu.pressure", 4_000)
        tree.system_pressure(4_000)

    sample = sample_after(tmp_path, change)
    assert sample.system_pressure_us == 3_000
    assert sample.cgroup_pressure_us is None
    assert sample.missing == {
        "quota_cores": because("no-quota"),
        "cgroup_pressure_us": because("root-cgroup"),
    }


def test_counters_that_run_backwards_give_zero(tmp_path: Path) -> None:
    tree = trees.lxcfs(tmp_path)
    tree.stat_v2(tree.cpu, 9, 9_000)
    tree.own_pressure(700)

    def change() -> None:
        tree.stat_v2(tree.cpu, 3, 1_000)
        tree.own_pressure(600)
        tree.system_pressure(1)

    sample = sample_after(tmp_path, change)
    assert (sample.throttled, sample.throttled_ns) == (0, 0)
    assert (sample.cgroup_pressure_us, sample.system_pressure_us) == (0, 0)


def test_gvisor_has_nothing_and_says_why(tmp_path: Path) -> None:
    trees.gvisor(tmp_path)
    sample = sample_after(tmp_path, lambda: None)
    assert sample.missing == {
        "quota_cores": because("no-cgroup"),
        "throttled": because("no-cgroup"),
        "throttled_ns": because("no-cgroup"),
        "cgroup_pressure_us": because("no-cgroup-v2"),
        "system_pressure_us": because("no-psi"),
    }
    assert (sample.throttled, sample.throttled_ns, sample.quota_cores) == (None, None, None)


def test_no_psi_leaves_throttling_readable(tmp_path: Path) -> None:
    tree = trees.no_psi(tmp_path)
    sample = sample_after(tmp_path, lambda: tree.stat_v2(tree.cpu, 1, 1))
    assert sample.throttled == 1
    assert sample.missing == {
        "cgroup_pressure_us": because("no-psi"),
        "system_pressure_us": because("no-psi"),
    }


def test_a_controller_that_is_off_is_missing_not_zero(tmp_path: Path) -> None:
    tree = trees.docker_v2(tmp_path)
    (tree.cpu / "cpu.max").unlink()
    tree.write(tree.cpu / "cpu.stat", "usage_usec 5\nuser_usec 4\nsystem_usec 1\n")
    sample = sample_after(tmp_path, lambda: None)
    assert sample.throttled is None
    assert sample.missing["throttled"] == because("no-cpu-controller")


def test_pressure_that_comes_back_needs_an_earlier_reading(tmp_path: Path) -> None:
    tree = trees.no_psi(tmp_path)
    sample = sample_after(tmp_path, lambda: tree.system_pressure(123_456))
    assert sample.system_pressure_us is None
    assert sample.missing["system_pressure_us"] == because("first-reading")


def test_a_quota_set_later_is_seen_within_ten_seconds(tmp_path: Path) -> None:
    tree = trees.vast_ai(tmp_path)
    cgroup = reader(tmp_path)
    cgroup.sample(0)
    tree.write(tree.cpu / "cpu.max", "300000 100000\n")
    early = cgroup.sample(9 * SECOND)
    late = cgroup.sample(10 * SECOND)
    assert early is not None
    assert late is not None
    assert (early.quota_cores, late.quota_cores) == (None, 3.0)


@pytest.mark.parametrize(
    ("text", "cores"), [("max 100000", None), ("150000 100000", 1.5), ("1 0", None), ("", None), ("5", None)]
)
def test_cpu_max(tmp_path: Path, text: str, cores: float | None) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert quota_cores(tmp_path, 2) == cores


def test_unreadable_pressure_names_the_error(tmp_path: Path) -> None:
    with pytest.raises(ReadingError, match="PSI: Is a directory"):
        pressure_us(tmp_path)


@given(total=st.integers(0, 2**63), other=st.integers(0, 2**63))
def test_pressure_takes_the_total_of_some(
    tmp_path_factory: pytest.TempPathFactory, total: int, other: int
) -> None:
    path = tmp_path_factory.mktemp("psi") / "cpu"
    path.write_text(f"full avg10=0.00 total={other}\nsome avg10=0.00 avg60=1.00 avg300=0.00 total={total}\n")
    assert pressure_us(path) == total


@given(st.text())
def test_no_content_makes_the_parsers_fail_otherwise(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    for name in ("cpu.max", "cpu.stat", "cpu.pressure", "cpu.cfs_quota_us", "cpu.cfs_period_us"):
        (folder / name).write_text(text, encoding="utf-8", errors="replace")
    for version in (1, 2):
        cores = quota_cores(folder, version)
        assert cores is None or cores > 0
        with pytest.raises(ReadingError):
            throttling(folder, version)
    with pytest.raises(ReadingError):
        pressure_us(folder / "cpu.pressure")
