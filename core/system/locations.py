"""Where idlegap keeps its files: by the platform's rules, or in a temporary folder where those
cannot be followed (a home that is read-only, or none at all)."""

import errno
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from platformdirs import PlatformDirs

from idlegap.core.protocol.reasons import Reason, because

_DIRS = PlatformDirs("idlegap", appauthor=False)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that can be written to; `path` is None where there is none at all. `reason` says
    why it is not the usual one; None where it is."""

    path: Path | None
    reason: Reason | None = None


def cache_dir() -> Folder:
    """For what can be made again: compiled kernels."""
    return usable(Path(_DIRS.user_cache_dir), "cache")


def log_dir() -> Folder:
    """For engine logs."""
    return usable(Path(_DIRS.user_log_dir), "log")


def usable(usual: Path, name: str, temporary: Path | None = None) -> Folder:
    """`usual`, made if need be, or else the folder `name` in one of this user's own below
    `temporary` (None: the system's)."""
    try:
        usual.mkdir(parents=True, exist_ok=True)
        _check_writable(usual)
        return Folder(usual)
    except OSError as error:
        why = error.strerror or ""
    try:
        own = (temporary or Path(tempfile.gettempdir())) / f"idlegap-{os.getuid()}"
        own.mkdir(mode=0o700, exist_ok=True)
        _check_own(own)
        folder = own / name
        folder.mkdir(exist_ok=True)
        _check_writable(folder)
        return Folder(folder, because("folder-unwritable", folder=str(usual), detail=why))
    except OSError as error:
        reason = because("no-folder", folder=str(usual), why=why, detail=error.strerror or "")
        return Folder(None, reason)


def _check_writable(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def _check_own(folder: Path) -> None:
    """Whoever may write to the temporary folder could have made one of this name before us."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(errno.EPERM, "it is another user's", str(folder))
