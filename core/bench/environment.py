"""What the sensors and the engine do not tell about the circumstances of a measurement."""

import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from idlegap.core.bench.schema import Environment
from idlegap.core.protocol.reasons import Missing, Reason, because

GIT_TIMEOUT_S = 10.0


def read_environment(root: Path, clone: Path) -> Environment:
    """The circumstances now; `load_after` is filled in by `finished`.

    Args:
        root: where ``proc`` and ``sys`` are found.
        clone: the folder that may be a git clone of idlegap.
    """
    return _with(
        Environment(),
        idlegap=_version(),
        revision=_revision(clone),
        governor=_governor(root),
        cpu_max_mhz=_cpu_max_mhz(root),
        load_before=_load(root),
    )


def finished(environment: Environment, root: Path) -> Environment:
    """`environment` with the load that the machine has now."""
    return _with(environment, load_after=_load(root))


def placed(environment: Environment, pin_core: int | None, nice: int | None, refused: Missing) -> Environment:
    """`environment` with where the decode thread ran: as it was asked for, unless the engine says
    that it was `refused`."""
    asked = {"pin_core": pin_core, "nice": nice}
    reasons = {name: refused[name] for name, value in asked.items() if value is not None and name in refused}
    missing = {**environment.missing, **reasons}
    return msgspec.structs.replace(environment, **{**asked, **dict.fromkeys(reasons)}, missing=missing)


def _with(environment: Environment, **readings: float | str | Reason | None) -> Environment:
    """`environment` with these fields; a reason stands for a reading that could not be had."""
    reasons = {name: found for name, found in readings.items() if isinstance(found, Reason)}
    known = {name: found for name, found in readings.items() if name not in reasons}
    return msgspec.structs.replace(environment, **known, missing={**environment.missing, **reasons})


def now_utc() -> str:
    """The time of day, to the second, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _version() -> str | Reason:
    try:
        return version("idlegap")
    except PackageNotFoundError:
        return because("not-a-distribution")


def _revision(clone: Path) -> str | Reason:
    """The commit, with ``-dirty`` behind it where files differ from it."""
    if not (clone / ".git").exists():
        return because("not-a-clone")
    command = ["git", "-C", str(clone), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GIT_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return because("git-failed", detail=type(error).__name__)
    return done.stdout.strip()


def _governor(root: Path) -> str | Reason:
    """The frequency governors in use, which may differ between cores."""
    return ", ".join(sorted(_of_cores(root, "scaling_governor"))) or because("no-cpufreq")


def _cpu_max_mhz(root: Path) -> float | Reason:
    khz = [int(text) for text in _of_cores(root, "cpuinfo_max_freq") if text.isdecimal()]
    return max(khz) / 1000 if khz else because("no-cpufreq")


def _of_cores(root: Path, name: str) -> set[str]:
    files = (root / "sys/devices/system/cpu").glob(f"cpu[0-9]*/cpufreq/{name}")
    return {_line(path) for path in files} - {""}


def _load(root: Path) -> float | Reason:
    """The load average over one minute."""
    try:
        return float(_line(root / "proc/loadavg").split()[0])
    except (ValueError, IndexError):
        return because("unreadable", path="/proc/loadavg")


def _line(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
