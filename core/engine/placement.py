"""Where the decode thread runs and how it is served: one core of its own, and its nice value.

Both belong to a thread on Linux, and whatever that thread starts later inherits them: helper
threads and processes of CUDA, OpenMP and inductor alike. So the pin is lifted while a mode is
prepared, which is when all of them are started, and inductor counts the cores that it may use.
Threads that exist already (control, sender, the app's) keep their cores.

A lower priority cannot be taken back without privilege: what is started after ``--nice 5`` is
nice too, and that is harmless.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from idlegap.core.protocol.reasons import Reason, because

THIS_THREAD = 0
"""What the kernel's scheduling calls take for the calling thread."""


class Placement:
    """Pins and nices the thread that calls it; every method belongs to that one thread.

    With `core` None it may run on all that the process may use; with `nice` None that is left alone.
    """

    def __init__(
        self,
        core: int | None,
        nice: int | None,
        set_nice: Callable[[int], None] = lambda nice: os.setpriority(os.PRIO_PROCESS, THIS_THREAD, nice),
        autogroup: Path = Path("/proc/self/autogroup"),
    ) -> None:
        self._core = core
        self._nice = nice
        self._set_nice = set_nice
        self._autogroup = autogroup
        self._usable: set[int] = set()

    def apply(self) -> dict[str, Reason]:
        """Pin and nice this thread; what was refused, by the setting's name."""
        refused = {"pin_core": self._pin(), "nice": self._renice()}
        return {name: reason for name, reason in refused.items() if reason is not None}

    @contextmanager
    def released(self) -> Iterator[None]:
        """On all usable cores again, while threads and processes are started that are to
        have them too."""
        if not self._usable:
            yield
            return
        pinned = os.sched_getaffinity(THIS_THREAD)
        os.sched_setaffinity(THIS_THREAD, self._usable)
        try:
            yield
        finally:
            os.sched_setaffinity(THIS_THREAD, pinned)

    def _pin(self) -> Reason | None:
        if self._core is None:
            return None
        usable = os.sched_getaffinity(THIS_THREAD)
        if self._core not in usable:
            return because("pin-outside", core=self._core, usable=_ranges(usable))
        try:
            os.sched_setaffinity(THIS_THREAD, {self._core})
        except OSError as error:
            return because("pin-refused", core=self._core, detail=error.strerror or "")
        self._usable = usable
        return None

    def _renice(self) -> Reason | None:
        if self._nice is None:
            return None
        try:
            self._set_nice(self._nice)
            # With autogroup on, a nice value counts only against tasks of the same session, and the
            # session has one of its own against the others (sched(7)). The engine process leads its
            # session; in a session that the user shares with it, nothing is touched.
            if os.getsid(0) == os.getpid():
                with suppress(FileNotFoundError):
                    self._autogroup.write_text(str(self._nice))
        except OSError as error:
            code = "nice-needs-root" if self._nice < 0 else "nice-refused"
            return because(code, nice=self._nice, detail=error.strerror or "")
        return None


def _ranges(cores: set[int]) -> str:
    """Core numbers as people write them: ``0-3,8``."""
    parts: list[list[int]] = []
    for core in sorted(cores):
        if parts and core == parts[-1][-1] + 1:
            parts[-1][1:] = [core]
        else:
            parts.append([core])
    return ",".join("-".join(map(str, part)) for part in parts)
