"""Shows on stderr how far a benchmark is: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    ProgressColumn,
    Task,
    TextColumn,
)
from rich.progress import Progress as Bar
from rich.text import Text

from idlegap.core.bench.runner import Progress
from idlegap.core.protocol.events import EngineStage, Stage
from idlegap.core.text.sanitize import printable

REDRAWS_PER_S = 2
"""The machine is being measured: a smoother bar would be load of our own."""

SLOW_STAGES: frozenset[Stage] = frozenset(
    ("importing", "downloading", "building", "bandwidth", "warming up", "capturing", "compiling")
)
"""What an engine does for seconds or minutes before it can be measured."""


class ProgressLines:
    """One line for each step, for logs and for terminals without a cursor."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __enter__(self) -> "ProgressLines":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def report(self, progress: Progress) -> None:
        """A step of the benchmark begins."""
        left = "" if progress.left_ns is None else f", {time_left(progress.left_ns)}"
        self.say(f"{runs_done(progress)}{progress.text}{left}")

    def stage(self, stage: EngineStage) -> None:
        """The engine says what it does."""
        if stage.stage in SLOW_STAGES and stage.fraction is None:
            self.say(f"  {stage_words(stage)}")

    def say(self, text: str) -> None:
        """Anything else that the user should read."""
        with suppress(OSError):
            print(printable(text), file=self._stream, flush=True)


class ProgressBar:
    """A bar with runs done and time left, which is gone afterwards."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            _TimeLeft(),
            console=console,
            transient=True,
            refresh_per_second=REDRAWS_PER_S,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("", total=None, until_ns=None)
        self._text = ""
        self._began_ns = time.perf_counter_ns()

    def __enter__(self) -> "ProgressBar":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._bar.stop()

    def report(self, progress: Progress) -> None:
        """A step of the benchmark begins."""
        now_ns, left_ns = time.perf_counter_ns(), progress.left_ns
        self._text = f"{runs_done(progress)}{progress.text}"
        self._redraw(
            description=self._text,
            completed=now_ns - self._began_ns,
            # Until it is known how long the rest takes, the bar only moves to and fro.
            total=None if left_ns is None else now_ns - self._began_ns + left_ns,
            until_ns=None if left_ns is None else now_ns + left_ns,
        )

    def stage(self, stage: EngineStage) -> None:
        """The engine says what it does."""
        if stage.stage in SLOW_STAGES:
            self._redraw(description=f"{self._text}: {stage_words(stage)}")

    def say(self, text: str) -> None:
        """Anything else that the user should read."""
        with suppress(OSError):
            self._console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    def _redraw(self, **changes: Any) -> None:
        with suppress(OSError):
            self._bar.update(self._task, refresh=True, **changes)


def progress_on(stream: TextIO | None = None) -> ProgressBar | ProgressLines:
    """The kind of progress that suits `stream` (None: stderr)."""
    console = Console(file=stream or sys.stderr)
    if console.is_terminal and not console.is_dumb_terminal:
        return ProgressBar(console)
    return ProgressLines(stream or sys.stderr)


def runs_done(progress: Progress) -> str:
    """``3/36  ``; "" where the number of runs is not known in advance."""
    return "" if progress.total is None else f"{progress.done}/{progress.total}  "


def time_left(left_ns: int) -> str:
    """``about 40 s left``, ``about 3 min left``."""
    seconds = max(round(left_ns / 1e9), 1)
    return f"about {seconds} s left" if seconds < 120 else f"about {round(seconds / 60)} min left"


def stage_words(stage: EngineStage) -> str:
    """``importing: torch and transformers``, ``downloading: model.safetensors, 40 %``."""
    share = None if stage.fraction is None else f"{100 * stage.fraction:.0f} %"
    return printable(": ".join(filter(None, (stage.stage, ", ".join(filter(None, (stage.detail, share)))))))


class _TimeLeft(ProgressColumn):
    """Counts down between two reports."""

    def render(self, task: Task) -> Text:
        until_ns: int | None = task.fields["until_ns"]
        if until_ns is None:
            return Text("")
        return Text(time_left(max(until_ns - time.perf_counter_ns(), 0)))
