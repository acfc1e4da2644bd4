"""What the sensors and the engine do not tell about the circumstances of a measurement."""

import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from idlegap.core.bench.schema import Environment
from idlegap.core.protocol.reasons import Missing, ReasonOrText, because

GIT_TIMEOUT_S = 10.0


def read_environment(root: Path, clone: Path) -> Environment:
    """The circumstances now; `load_after` is filled in by `finished`.

    Args:
        root: where ``proc`` and ``sys`` are found.
        clone: the folder that may be a git clone of idlegap.
    """
    missing: dict[str, ReasonOrText] = {}
    return Environment(
        idlegap=_version(missing),
        revision=_revision(clone, missing),
        governor=_governor(root, missing),
        cpu_max_mhz=_cpu_max_mhz(root, missing),
        load_before=_load(root, "load_before", missing),
        missing=missing,
    )


def finished(environment: Environment, root: Path) -> Environment:
    """`environment` with the load that the machine has now."""
    missing = {**environment.missing}
    load = _load(root, "load_after", missing)
    return msgspec.structs.replace(environment, load_after=load, missing=missing)


def placed(environment: Environment, pin_core: int | None, nice: int | None, refused: Missing) -> Environment:
    """`environment` with where the decode thread ran: as it was asked for, unless the engine says
    that it was `refused`."""
    asked = {"pin_core": pin_core, "nice": nice}
    reasons = {name: refused[name] for name, value in asked.items() if value is not None and name in refused}
    return msgspec.structs.replace(
        environment,
        pin_core=None if "pin_core" in reasons else pin_core,
        nice=None if "nice" in reasons else nice,
        missing={**environment.missing, **reasons},
    )


def now_utc() -> str:
    """The time of day, to the second, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _version(missing: dict[str, ReasonOrText]) -> str | None:
    try:
        return version("idlegap")
    except PackageNotFoundError:
        missing["idlegap"] = because("not-a-distribution")
        return None


def _revision(clone: Path, missing: dict[str, ReasonOrText]) -> str | None:
    """The commit, with ``-dirty`` behind it where files differ from it."""
    if not (clone / ".git").exists():
        missing["revision"] = because("not-a-clone")
        return None
    command = ["git", "-C", str(clone), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GIT_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        missing["revision"] = because("git-failed", detail=type(error).__name__)
        return None
    return done.stdout.strip()


def _governor(root: Path, missing: dict[str, ReasonOrText]) -> str | None:
    """The frequency governors in use, which may differ between cores."""
    cpus = root / "sys/devices/system/cpu"
    found = {_line(path) for path in cpus.glob("cpu[0-9]*/cpufreq/scaling_governor")} - {""}
    if not found:
        missing["governor"] = because("no-cpufreq")
        return None
    return ", ".join(sorted(found))


def _cpu_max_mhz(root: Path, missing: dict[str, ReasonOrText]) -> float | None:
    cpus = root / "sys/devices/system/cpu"
    found = [_line(path) for path in cpus.glob("cpu[0-9]*/cpufreq/cpuinfo_max_freq")]
    khz = [int(text) for text in found if text.isdecimal()]
    if not khz:
        missing["cpu_max_mhz"] = because("no-cpufreq")
        return None
    return max(khz) / 1000


def _load(root: Path, name: str, missing: dict[str, ReasonOrText]) -> float | None:
    """The load average over one minute."""
    try:
        return float(_line(root / "proc/loadavg").split()[0])
    except (ValueError, IndexError):
        missing[name] = because("unreadable", path="/proc/loadavg")
        return None


def _line(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
