"""The real screen on a real terminal: keys, signals, and every way to end."""

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tui.support.pty_program import PtyProgram, asked

GRIDS = Path(__file__).with_name("grids")
Run = Callable[..., PtyProgram]


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return tmp_path / "report.json"


@pytest.fixture
def run(report: Path) -> Iterator[Run]:
    """Start the screen; wait until it is drawn and its session is started. All are cleaned up."""
    programs: list[PtyProgram] = []

    def start(scene: str = "moving", until: str = "q quit", **options: Any) -> PtyProgram:
        program = PtyProgram.screen_of(report, scene, **options)
        programs.append(program)
        program.wait_for_text(until)
        program.wait_for(report.with_suffix(".started").exists, "the start of the session")
        return program

    yield start
    for program in programs:
        program.close()


def test_keys_reach_the_session_and_q_leaves_the_terminal_as_it_was(run: Run, report: Path) -> None:
    program = run()
    assert program.on_alternate_screen
    assert program.screen.cursor.hidden
    program.press(" ")
    program.wait_for_text("mode 3 graph")
    program.press("1")
    program.wait_for_text("mode 1 eager")
    program.press("p")
    program.wait_for_text("PAUSED")
    program.press("m")
    program.wait_for_text("measuring device time")
    program.press("q")
    assert program.wait() == 0
    assert program.terminal_restored
    told = asked(report)
    assert [(c["type"], c.get("mode")) for c in told["commands"]] == [
        ("set-mode", "graph"),
        ("set-mode", "eager"),
        ("set-paused", None),
        ("take-profile", None),
    ]
    assert told["calls"] == ["start", "close"]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (160, 45)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_partial_updates_end_in_the_same_picture_as_a_full_one(run: Run, size: tuple[int, int]) -> None:
    wanted = (GRIDS / f"eager-and-graph-{size[0]}x{size[1]}.txt").read_text(encoding="utf-8").splitlines()
    program = run("slideshow", until="idlegap", size=size)
    program.wait_for(lambda: [row.rstrip() for row in program.screen.display] == wanted, "the last picture")
    for _ in range(2):
        program.press("d")
        program.wait_for_text("utilisation side by side")
        program.press("d")
        program.wait_for(
            lambda: [row.rstrip() for row in program.screen.display] == wanted, "the picture again"
        )


def test_ctrl_c_is_an_ordinary_quit(run: Run) -> None:
    program = run()
    program.press("\x03")
    assert program.wait() == 0
    assert program.terminal_restored


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda s: s.name)
def test_signals_end_it_in_good_order(run: Run, report: Path, number: signal.Signals) -> None:
    program = run()
    program.signal(number)
    assert program.wait() == 128 + number
    assert program.terminal_restored
    assert program.nothing_left
    assert asked(report)["calls"] == ["start", "close"]


@pytest.mark.parametrize("controlling", [True, False], ids=["with SIGHUP", "under nohup"])
def test_a_dropped_connection_ends_it_in_good_order(run: Run, report: Path, controlling: bool) -> None:
    program = run(controlling=controlling)
    program.hang_up()
    assert program.wait() == 128 + signal.SIGHUP
    assert asked(report)["calls"] == ["start", "close"]


def test_the_screens_cost_is_measured_and_shown(run: Run, report: Path) -> None:
    program = run(size=(120, 40))
    program.wait_for_text("KB/s LIVE")
    program.press("q")
    assert program.wait() == 0
    monitor = asked(report)["monitor"]
    assert monitor["bytes_per_s"] > 0
    assert monitor["frame_ns"] > 0


def test_an_unsupported_machine_exits_3_and_says_what_was_looked_for(report: Path) -> None:
    program = PtyProgram.screen_of(report, "unsupported")
    assert program.wait() == 3
    assert program.terminal_restored
    said = program.stderr
    assert said == (
        "idlegap: --device cuda: torch finds no CUDA device\n"
        "  looked for: driver libcuda.so.1 (absent); --device cpu would run a small model\n"
    )
    program.close()


def test_quitting_with_a_dead_engine_exits_4(run: Run, report: Path) -> None:
    program = run("failed", until="R starts it again")
    program.press("R")
    program.wait_for_text("starting the engine again")
    program.press("q")
    assert program.wait() == 4
    assert program.terminal_restored
    assert asked(report)["calls"] == ["start", "restart", "close"]


def test_the_screen_follows_the_size_of_the_terminal_and_leaves_nothing_behind(run: Run) -> None:
    program = run(size=(50, 12))
    program.wait_for_text("GPU idle")
    program.resize((160, 45))
    program.wait_for_text("run delay")
    program.resize((80, 24))
    program.wait_for_text("where a token goes")
    program.press("q")
    assert program.wait() == 0
    assert program.terminal_restored
    assert program.nothing_left


@pytest.mark.parametrize(
    ("environment", "drawn", "absent"),
    [
        ({"NO_COLOR": "1"}, "⣿", ""),
        ({"TERM": "linux"}, "░", "⣿⢕⡪"),
        ({"LC_ALL": "C"}, ":::", "⣿█░·"),
        ({"COLORTERM": "truecolor"}, "⡪", ""),
    ],
    ids=["without colours", "text console", "ASCII locale", "true colour"],
)
def test_plain_terminals_are_ordinary(run: Run, environment: dict[str, str], drawn: str, absent: str) -> None:
    program = run("six-modes" if drawn == "⣿" else "eager-and-graph", environment=environment)
    program.wait_for_text(drawn)
    shown = "\n".join(program.screen.display)
    assert "LIVE" in shown
    assert not set(absent) & set(shown)
    program.press("q")
    assert program.wait() == 0
    assert program.terminal_restored


def test_a_dumb_terminal_is_refused(report: Path) -> None:
    program = PtyProgram([sys.executable, "-m", "idlegap"], environment={"TERM": "dumb"})
    assert program.wait() == 2
    assert "TERM=dumb" in program.stderr
    assert program.stderr.count("\n") <= 1
    program.close()
