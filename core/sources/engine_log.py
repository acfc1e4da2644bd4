"""The engine's log: what its process and its compile workers print, a file for each start."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from idlegap.core.system.locations import Folder, log_dir
from idlegap.core.text.reasons import words

TAIL_LINES = 12
KEPT_LOGS = 20


class EngineLog:
    """`path`, or else a file of its own for each start in the folder that `find` finds.

    `place` says in a few words where the log of the last start is; `notice` the same where that
    is not the usual place or nowhere, and is "" else.
    """

    def __init__(self, path: Path | None = None, *, find: Callable[[], Folder] = log_dir) -> None:
        self._fixed_path, self._find = path, find
        self._path: Path | None = None
        self._starts = 0
        self.place = self.notice = ""

    def open(self) -> IO[bytes]:
        """The file of this start. A restarted engine gets a new one: the old one explains the failure.

        Raises:
            OSError: it cannot be made.
        """
        self._starts += 1
        folder = Folder(self._fixed_path.parent) if self._fixed_path is not None else self._find()
        why = words(folder.reason or "")
        if folder.path is None:
            self._path = None
            self.place = self.notice = f"no log of the engine is kept: {why}"
            return Path(os.devnull).open("wb")
        self._path = self._fixed_path or folder.path / f"engine-{os.getpid()}-{self._starts}.log"
        self.place = f"its log: {self._path}"
        self.notice = f"the engine's log is {self._path}; {why}" if why else ""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        _prune(self._path.parent)
        return self._path.open("wb")

    def tail(self) -> tuple[str, ...]:
        """Its last lines; none where there is no log."""
        if self._path is None:
            return ()
        try:
            text = self._path.read_text(errors="replace")
        except OSError:
            return ()
        return tuple(text.splitlines()[-TAIL_LINES:])


def _prune(folder: Path) -> None:
    """Keep the newest logs; the older ones have told what they had to tell."""
    ages = {}
    for path in folder.glob("engine-*.log"):
        with suppress(FileNotFoundError):  # another idlegap prunes too
            ages[path] = path.stat().st_mtime_ns
    for path in sorted(ages, key=ages.__getitem__)[:-KEPT_LOGS]:
        path.unlink(missing_ok=True)
