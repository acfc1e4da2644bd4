"""What a live run passes on: metrics while it is up, and a recording of itself."""

import re
import socket
import sys
import urllib.request
from pathlib import Path

import pytest

from idlegap.core.metrics import MetricsListener
from idlegap.core.protocol.events import Neighbours
from idlegap.core.recording import RecordingReader
from idlegap.core.session.snapshot import Snapshot
from idlegap.tui.commands.base import UsageError
from idlegap.tui.commands.metrics_option import serving
from idlegap.tui.commands.recording_option import parse_size
from idlegap.tui.exit_codes import ExitCode
from tests.tui.support import scenes
from tests.tui.support.pty_program import PtyProgram

AFTER_THE_FIRST_FRAME = (
    "idlegap.core.session.state",
    "idlegap.core.slow_tokens.attribution",
    "idlegap.core.sources.engine_process",
    "idlegap.core.system.locations",
    "idlegap.core.metrics",
    "idlegap.core.system.neighbours",
    "idlegap.core.recording",
    "idlegap.core.sensors.sampler",
    "idlegap.core.session.session",
    "importlib.metadata",
    "importlib.resources",
    "multiprocessing",
    "psutil",
    "pynvml",
    "idlegap.tui.screens.pages",
    "idlegap.tui.commands.bench",
)
"""What the first frame does not need."""

RECORDS_AT_ONCE = ("idlegap.core.recording", "importlib.metadata", "importlib.resources")
"""What a file of --record needs, which is opened before there is a screen."""

HELD_BACK = """
import signal, sys
later, arguments = sys.argv[1].split(), sys.argv[2:]
class HeldBack:
    def find_spec(self, name, path=None, target=None):
        if name in later:
            signal.pause()
sys.meta_path.insert(0, HeldBack())
from idlegap.tui.cli import main
already = [name for name in later if name in sys.modules]
sys.exit(f"imported already: {already}" if already else main(["--device", "cpu", *arguments]))
"""
"""The live verb, stuck as soon as it imports one of those that its first argument names."""


@pytest.mark.parametrize("record", [False, True], ids=["alone", "with --record"])
def test_the_first_frame_waits_for_nothing_that_it_does_not_need(record: bool, tmp_path: Path) -> None:
    options = ["--record", str(tmp_path / "run.jsonl")] if record else []
    later = [name for name in AFTER_THE_FIRST_FRAME if not (record and name in RECORDS_AT_ONCE)]
    program = PtyProgram([sys.executable, "-c", HELD_BACK, " ".join(later), *options])
    try:
        program.wait_for_text("q quit")
        shown = "\n".join(program.screen.display)
    finally:
        program.close()
    assert "STARTING 0.0 s" in shown
    assert "starting the engine process" in shown
    assert "A language model will decode here" in shown
    assert "Starting the engine process: 0 s so far." in shown


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("250000", 250_000), ("500M", 500_000_000), ("1.5GB", 1_500_000_000), ("64 kb", 64_000), ("1g", 10**9)],
)
def test_sizes(text: str, n_bytes: int) -> None:
    assert parse_size("--record-max", text) == n_bytes


@pytest.mark.parametrize("text", ["", "M", "-1", "1e9", "5 T", "0x10", "nan"])
def test_what_is_no_size_names_the_option(text: str) -> None:
    with pytest.raises(UsageError, match="--record-max"):
        parse_size("--record-max", text)


def test_metrics_are_served_from_the_latest_snapshot_while_the_screen_is_up() -> None:
    shown: list[Snapshot] = [scenes.eager_and_graph()]
    with serving(("127.0.0.1", 0), MetricsListener(), lambda: shown[-1]) as url:
        with urllib.request.urlopen(url, timeout=20) as answer:
            text = answer.read().decode()
        port = int(re.findall(r":(\d+)/", url)[0])
    assert 'idlegap_mode_active{mode="graph"} 1.0' in text
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=20)


def test_a_port_that_is_taken_is_a_request_that_cannot_work() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(UsageError, match=f"--metrics 127.0.0.1:{port}"),
            serving(("127.0.0.1", port), MetricsListener(), lambda: None),
        ):
            pass


def test_without_the_option_nothing_is_served() -> None:
    with serving(None, None, lambda: None) as url:
        assert url == ""


def test_a_recording_that_exists_is_refused_before_the_screen_is_up(tmp_path: Path) -> None:
    taken = tmp_path / "run.jsonl"
    taken.write_text("mine")
    program = PtyProgram([sys.executable, "-m", "idlegap", "--device", "cpu", "--record", str(taken)])
    try:
        assert program.wait() == ExitCode.USAGE
        assert not program.on_alternate_screen
        assert program.stderr == (
            f"idlegap: --record {taken}: exists already, and recordings are never overwritten\n"
        )
    finally:
        program.close()
    assert taken.read_text() == "mine"


@pytest.mark.needs_torch
def test_a_live_run_records_itself_its_neighbours_and_its_end(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    program = PtyProgram(
        [sys.executable, "-m", "idlegap", "--device", "cpu", "--no-nvml", "--record", str(path)]
    )
    try:
        program.wait_for_text("importing torch")
        program.press("n")
        program.wait_for_text("1 noisy neighbour on any core")
        program.press("q")
        assert program.wait() == 0
        assert re.fullmatch(r"idlegap: recorded \d+ events, .* into .*\n", program.stderr)
    finally:
        program.close()
    with RecordingReader(path) as reader:
        counts = [event.count for event in reader if isinstance(event, Neighbours)]
        assert reader.ending.reason == "stopped"
    assert counts == [1, 0]


WITHOUT_PYTHON = """
import sys
sys.executable = "/nowhere/python"
from idlegap.tui.cli import main
sys.exit(main(["live", "--device", "cpu", "--no-nvml"]))
"""


def test_an_engine_that_cannot_be_started_is_a_screen_and_exit_4() -> None:
    program = PtyProgram([sys.executable, "-c", WITHOUT_PYTHON])
    try:
        program.wait_for_text("cannot be started: [Errno 2] No such file")
        program.press("R")
        program.wait_for_text("starting the engine again")
        program.wait_for_text("cannot be started: [Errno 2] No such file")
        program.press("q")
        assert program.wait() == ExitCode.ENGINE_FAILED
        assert program.terminal_restored
        assert program.stderr.startswith("idlegap: cannot be started: [Errno 2] No such file or directory: ")
    finally:
        program.close()


@pytest.mark.needs_torch
@pytest.mark.parametrize("more", [[], ["--in-process"]], ids=["process", "in-process"])
def test_a_log_that_cannot_be_where_it_belongs_is_elsewhere_and_the_screen_says_where(
    more: list[str], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.touch()
    command = [sys.executable, "-m", "idlegap", "live", "--device", "cpu", "--no-nvml", *more]
    elsewhere = {"TMPDIR": str(tmp_path), "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    program = PtyProgram(command, environment=elsewhere, size=(200, 40))
    try:
        program.wait_for_text(f"log is {tmp_path}/idlegap-")
        if more:
            program.wait_for_text("ms/token")  # a process of its own decodes in tests/core/sources
        program.press("q")
        assert program.wait() == ExitCode.DONE
        assert len(list(tmp_path.glob("idlegap-*/log/engine-*.log"))) == 1
    finally:
        program.close()


NO_LOG_AT_ALL = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from idlegap.tui.cli import main
sys.exit(main(["live", "--device", "cpu", "--no-nvml", "--in-process"]))
"""


def test_an_engine_in_this_process_without_a_log_is_refused_before_the_screen_is_up(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.touch()
    command = [sys.executable, "-c", NO_LOG_AT_ALL, str(nowhere)]
    program = PtyProgram(command, environment={"XDG_STATE_HOME": str(nowhere)})
    try:
        assert program.wait() == ExitCode.USAGE
        assert not program.on_alternate_screen
        said = program.stderr
        assert said.startswith(f"idlegap: --in-process: its log cannot be written: {nowhere}")
        assert said.count("\n") == 1
    finally:
        program.close()
