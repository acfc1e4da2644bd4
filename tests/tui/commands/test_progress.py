"""How progress looks on a terminal and in a log."""

from io import StringIO

from rich.console import Console

from idlegap.core.bench.runner import Progress
from idlegap.core.protocol.events import EngineStage
from idlegap.tui.commands.progress import (
    ProgressBar,
    ProgressLines,
    progress_on,
    runs_done,
    stage_words,
    time_left,
)

S = 1_000_000_000


def terminal(**options: object) -> Console:
    return Console(file=StringIO(), force_terminal=True, width=100, **options)  # type: ignore[arg-type]


def written(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_on_a_terminal_a_bar_tells_the_step_and_the_time_left_and_is_gone_afterwards() -> None:
    console = terminal(color_system=None)
    with ProgressBar(console) as bar:
        bar.report(Progress("starting the engine", 0, 12, None))
        bar.stage(EngineStage(0, "building", "[1.5B] shape"))
        bar.say("--nice -5: refused [EPERM]")
        # Enough left that the seconds which pass within this test do not show.
        bar.report(Progress("graph, run 2 of 5", 7, 12, 600 * S))
        bar.stage(EngineStage(0, "decoding"))
    shown = written(console)
    assert "0/12  starting the engine: building: [1.5B] shape" in shown
    assert "--nice -5: refused [EPERM]\n" in shown
    assert "7/12  graph, run 2 of 5" in shown
    assert "about 10 min left" in shown
    assert "decoding" not in shown
    erase_line, show_cursor = "\x1b[2K", "\x1b[?25h"
    assert erase_line in shown[shown.rindex("10 min left") :]
    assert shown.rstrip("\r\n").endswith((show_cursor, erase_line))


def test_elsewhere_it_is_lines() -> None:
    log = StringIO()
    lines = progress_on(log)
    assert isinstance(lines, ProgressLines)
    with lines:
        lines.report(Progress("starting the engine", 0, 12, None))
        lines.stage(EngineStage(0, "importing", "torch and transformers"))
        lines.stage(EngineStage(0, "downloading", "model.safetensors", 0.4))
        lines.stage(EngineStage(0, "decoding"))
        lines.report(Progress("graph, run 2 of 5", 7, 12, 40 * S))
        lines.report(Progress("graph, run 3", 8, None, 40 * S))
    assert log.getvalue().splitlines() == [
        "0/12  starting the engine",
        "  importing: torch and transformers",
        "7/12  graph, run 2 of 5, about 40 s left",
        "graph, run 3, about 40 s left",
    ]


def test_a_stream_that_has_gone_costs_no_measurement() -> None:
    class Gone(StringIO):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    lines = ProgressLines(Gone())
    lines.report(Progress("graph, run 2 of 5", 7, 12, 40 * S))
    bar = ProgressBar(Console(file=Gone(), force_terminal=True))
    bar.say("text")
    bar.report(Progress("graph, run 2 of 5", 7, 12, 40 * S))


def test_words() -> None:
    assert [time_left(ns) for ns in (0, 40 * S, 119 * S, 120 * S, 200 * S)] == [
        "about 1 s left",
        "about 40 s left",
        "about 119 s left",
        "about 2 min left",
        "about 3 min left",
    ]
    assert (
        stage_words(EngineStage(0, "downloading", "a.safetensors", 0.4)) == "downloading: a.safetensors, 40 %"
    )
    assert stage_words(EngineStage(0, "capturing")) == "capturing"
    assert runs_done(Progress("", 3, None, None)) == ""
