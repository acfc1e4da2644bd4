"""Where idlegap keeps its files, by the platform's rules."""

from pathlib import Path

from platformdirs import PlatformDirs

_DIRS = PlatformDirs("idlegap", appauthor=False)


def cache_dir() -> Path:
    """For what can be made again: compiled kernels."""
    return Path(_DIRS.user_cache_dir)


def log_dir() -> Path:
    """For engine logs."""
    return Path(_DIRS.user_log_dir)
