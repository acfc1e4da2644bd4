"""Parsing mountinfo and cgroup membership, and finding the own cgroup."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.sensors.mounts import (
    UNIFIED,
    Mount,
    find_cpu_cgroup,
    find_unified_cgroup,
    parse_membership,
    parse_mountinfo,
    read_mounts,
)
from idlegap.core.sensors.reading import ReadingError
from tests.core.sensors import trees

names = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=12)


def escaped(text: str) -> str:
    return "".join(f"\\{ord(char):03o}" if char in " \t\n\\" else char for char in text)


@given(root=names, point=names, optional=st.lists(st.sampled_from(["shared:1", "master:2", "unbindable"])))
def test_mount_lines_round_trip(root: str, point: str, optional: list[str]) -> None:
    tags = "".join(f"{tag} " for tag in optional)
    line = f"36 35 98:0 /{escaped(root)} /{escaped(point)} rw,noatime {tags}- cgroup cgroup rw,cpu,cpuacct"
    assert parse_mountinfo(line) == (
        Mount(f"/{root}", f"/{point}", "cgroup", frozenset({"rw", "cpu", "cpuacct"})),
    )


@given(st.text())
def test_nothing_makes_the_parsers_raise(text: str) -> None:
    parse_mountinfo(text)
    parse_membership(text)


def test_malformed_lines_are_left_out() -> None:
    assert parse_mountinfo("36 35 98:0 / /x rw - ext4\n\nnonsense\n36 - a b c\n") == ()


def test_membership_by_controller() -> None:
    text = "5:cpu,cpuacct:/a:b\n1:name=systemd:/s\n0::/u\nnonsense\n"
    assert parse_membership(text) == {"cpu": "/a:b", "cpuacct": "/a:b", "name=systemd": "/s", UNIFIED: "/u"}


def test_kubernetes_has_its_pod_above_it(tmp_path: Path) -> None:
    tree = trees.kubernetes(tmp_path)
    found = find_cpu_cgroup(tmp_path, read_mounts(tmp_path))
    assert found.version == 2
    assert found.own == tree.cpu
    top = tmp_path / "sys/fs/cgroup"
    assert found.levels == (tree.cpu, tree.cpu.parent, tree.cpu.parent.parent, top)


def test_a_path_below_the_mount_s_root_is_taken_relative_to_it(tmp_path: Path) -> None:
    tree = trees.cgroup_v1(tmp_path)
    nested = tree.cpu / "job"
    nested.mkdir()
    tree.write("proc/self/cgroup", "4:cpu,cpuacct:/docker/abc/job\n")
    found = find_cpu_cgroup(tmp_path, read_mounts(tmp_path))
    assert (found.version, found.own, found.levels) == (1, nested, (nested, tree.cpu))


@pytest.mark.parametrize("path", ["/docker/abc", "/../other", "/docker/abcdef", "/"])
def test_a_path_from_another_namespace_falls_back_to_the_top(tmp_path: Path, path: str) -> None:
    tree = trees.cgroup_v1(tmp_path)
    tree.write("proc/self/cgroup", f"4:cpu,cpuacct:{path}\n")
    assert find_cpu_cgroup(tmp_path, read_mounts(tmp_path)).own == tree.cpu


@pytest.mark.parametrize("path", ["/system.slice/docker-abc.scope", "/../outside"])
def test_a_path_that_leads_nowhere_or_outside_falls_back_to_the_top(tmp_path: Path, path: str) -> None:
    tree = trees.docker_v2(tmp_path)
    (tree.cpu.parent / "outside").mkdir()
    tree.write("proc/self/cgroup", f"0::{path}\n")
    found = find_cpu_cgroup(tmp_path, read_mounts(tmp_path))
    assert (found.own, found.levels) == (tree.cpu, (tree.cpu,))


def test_hybrid_takes_cpu_from_v1_and_has_a_unified_cgroup_too(tmp_path: Path) -> None:
    tree = trees.hybrid(tmp_path)
    mounts = read_mounts(tmp_path)
    cpu, unified = find_cpu_cgroup(tmp_path, mounts), find_unified_cgroup(tmp_path, mounts)
    assert (cpu.version, cpu.own) == (1, tree.cpu)
    assert (unified.version, unified.own) == (2, tmp_path / "sys/fs/cgroup/unified")


def test_a_v1_mount_of_another_controller_is_not_the_cpu_s(tmp_path: Path) -> None:
    trees.cgroup_v1(tmp_path)
    mounts = tuple(mount for mount in read_mounts(tmp_path) if "cpu" not in mount.options)
    with pytest.raises(ReadingError, match="no cgroup mounted"):
        find_cpu_cgroup(tmp_path, mounts)


def test_without_any_tree_the_reason_names_the_file(tmp_path: Path) -> None:
    assert read_mounts(tmp_path) == ()
    with pytest.raises(ReadingError, match="/proc/self/cgroup unreadable: No such file"):
        find_cpu_cgroup(tmp_path, ())
