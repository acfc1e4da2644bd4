"""Where the cgroups of this process are mounted: ``/proc/self/{mountinfo,cgroup}``.

Formats: proc_pid_mountinfo(5) and cgroups(7). All paths are taken below an injectable root.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from idlegap.core.protocol.reasons import because
from idlegap.core.sensors.reading import ReadingError, read_text

UNIFIED = ""
"""The controller name under which `parse_membership` lists the v2 hierarchy."""

_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo: `root` is the part of the filesystem that shows at `point`."""

    root: str
    point: str
    fstype: str
    options: frozenset[str]


@dataclass(frozen=True, slots=True)
class CgroupDir:
    """A cgroup of this process in one hierarchy, and the top of what is mounted of it."""

    version: Literal[1, 2]
    own: Path
    top: Path

    @property
    def levels(self) -> tuple[Path, ...]:
        """The cgroup and its visible ancestors, innermost first."""
        above = [parent for parent in self.own.parents if parent.is_relative_to(self.top)]
        return (self.own, *above)


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """All well-formed lines of mountinfo; others are left out."""
    mounts = []
    for line in text.splitlines():
        front, separator, back = line.partition(" - ")
        head = [_OCTAL.sub(lambda match: chr(int(match[1], 8)), field) for field in front.split(" ")]
        tail = back.split(" ")
        if separator and len(head) >= 6 and len(tail) >= 3:
            options = frozenset(tail[2].split(","))
            mounts.append(Mount(head[3], head[4], tail[0], options))
    return tuple(mounts)


def parse_membership(text: str) -> dict[str, str]:
    """Cgroup path by controller, from lines ``ID:CONTROLLERS:PATH``; v2 under `UNIFIED`."""
    paths: dict[str, str] = {}
    for line in text.splitlines():
        fields = line.split(":", 2)
        if len(fields) == 3:
            for controller in fields[1].split(","):
                paths.setdefault(controller, fields[2])
    return paths


def read_mounts(root: Path) -> tuple[Mount, ...]:
    """The mounts that this process sees; empty where the kernel does not tell."""
    return parse_mountinfo(read_text(root / "proc/self/mountinfo"))


def find_cpu_cgroup(root: Path, mounts: Sequence[Mount]) -> CgroupDir:
    """The cgroup whose ``cpu`` controller limits this process.

    On a hybrid system that is the v1 hierarchy, although an (empty) v2 one is mounted too.
    Raises ReadingError where no hierarchy with the controller is mounted.
    """
    paths = _membership(root)
    for mount in mounts:
        if mount.fstype == "cgroup" and "cpu" in mount.options and "cpu" in paths:
            return _locate(root, mount, paths["cpu"], 1)
    return find_unified_cgroup(root, mounts)


def find_unified_cgroup(root: Path, mounts: Sequence[Mount]) -> CgroupDir:
    """The cgroup of this process in the v2 hierarchy; ReadingError where none is mounted."""
    paths = _membership(root)
    for mount in mounts:
        if mount.fstype == "cgroup2" and UNIFIED in paths:
            return _locate(root, mount, paths[UNIFIED], 2)
    raise ReadingError(because("no-cgroup"), for_good=True)


def _membership(root: Path) -> dict[str, str]:
    try:
        return parse_membership((root / "proc/self/cgroup").read_text(errors="replace"))
    except OSError as error:
        reason = because("unreadable", path="/proc/self/cgroup", detail=error.strerror or "")
        raise ReadingError(reason, for_good=True) from error


def _locate(root: Path, mount: Mount, path: str, version: Literal[1, 2]) -> CgroupDir:
    """Resolve a cgroup path against a mount of its hierarchy.

    A container may see its own cgroup as the top of the mount while the path is still the
    host's, or the other way round; what cannot be resolved is then the top itself.
    """
    top = root / mount.point.lstrip("/")
    inside, shown = PurePosixPath(path), PurePosixPath(mount.root)
    own = top
    if ".." not in inside.parts and inside.is_relative_to(shown):
        candidate = top / inside.relative_to(shown)
        own = candidate if candidate.is_dir() else top
    return CgroupDir(version, own, top)
