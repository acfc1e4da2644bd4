"""The verbs that take a recording, from the command line to what they leave behind."""

import csv
import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from idlegap.core.protocol.modes import MODE_NAMES
from idlegap.tui import cli
from idlegap.tui.exit_codes import ExitCode
from tests.core.recording.stories import REAL
from tests.paths import ROOT
from tests.tui.support.pty_program import PtyProgram

TOKENS = 3749
HEAVY = ("torch", "transformers", "pynvml")
NOT_FOR_REPLAYS = (
    "idlegap.core.sources.engine_process",
    "idlegap.core.sensors.sampler",
    "importlib.metadata",
    "importlib.resources",
    "psutil",
    "idlegap.tui.apps.live",
    "idlegap.tui.screens.pages",
    "idlegap.tui.commands.live",
)


def run(*arguments: str, check_heavy: bool = False) -> "subprocess.CompletedProcess[str]":
    code = f"import sys; from idlegap.tui.cli import main; code = main({list(arguments)!r})\n"
    if check_heavy:
        code += f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)\n"
    return subprocess.run(
        [sys.executable, "-c", code + "sys.exit(code)"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """The recording without its last lines."""
    path = tmp_path / "cut.jsonl"
    path.write_bytes(b"".join(gzip.decompress(REAL.read_bytes()).splitlines(keepends=True)[:-9]))
    return path


# Errors: one line, exit 2, nothing on stdout ---------------------------------------------


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("replay absent.jsonl", ["absent.jsonl", "No such file"]),
        ("replay README.md", ["README.md", "not an idlegap recording"]),
        (f"replay {REAL} --speed 0.1", ["--speed 0.1", "0.25 to 16"]),
        (f"replay {REAL} --speed nan", ["--speed nan", "0.25 to 16"]),
        (f"replay {REAL} --speed fast", ["--speed", "fast"]),
        (f"replay {REAL}", ["not a terminal", f"; idlegap report {REAL} works without one"]),
        ("replay demo", ["not a terminal", "; idlegap report demo works without one"]),
        ("replay /dev/null", ["/dev/null: cannot be opened: not a regular file: copy it into one first"]),
        ("replay demo --bogus", ["--bogus", "(see idlegap replay --help)"]),
        ("replay", ["FILE|demo"]),
        ("report absent.jsonl", ["absent.jsonl", "No such file"]),
        (f"report {REAL} -o /absent/report.html", ["/absent/report.html", "cannot be written"]),
        (f"report {REAL} -o {REAL}", [f"-o {REAL}: that is the recording itself"]),
        (f"report {REAL} -o docs", ["-o docs: cannot be written: it is a folder"]),
        (f"report {REAL} -o {'x' * 300}", ["File name too long"]),
        (f"report {REAL} --output=", ["-o '': names no file"]),
        (f"export {REAL}", ["--csv", "--parquet"]),
        (f"export {REAL} --csv --parquet", ["--csv", "--parquet"]),
        ("export absent.jsonl --csv", ["absent.jsonl"]),
        (f"export {REAL} --csv -o /absent/tokens.csv", ["/absent/tokens.csv", "cannot be written"]),
        (f"export {REAL} --csv -o README.md", ["-o README.md: cannot be written: it exists already"]),
        (f"export {REAL} --csv -o docs", ["-o docs: cannot be written: it is a folder"]),
        (f"export {REAL} --csv -o {'x' * 300}", ["File name too long"]),
        (f"export {REAL} --csv --output=", ["-o '': names no file"]),
        (f"export {REAL} --parquet", ["--parquet", "-o FILE"]),
        (f"export {REAL} --parquet -o README.md", ["-o README.md: cannot be written: it exists already"]),
    ],
)
def test_what_cannot_work_is_one_clear_line(
    line: str, named: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert cli.main(line.split()) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("idlegap: ")
    assert err.count("\n") == 1
    for name in named:
        assert name in err


def test_a_recording_without_a_name_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["replay", ""]) == ExitCode.USAGE
    assert capsys.readouterr().err == "idlegap: FILE '': names no recording\n"


@pytest.mark.parametrize("verb", ["replay", "report", "serve"])
def test_a_pipe_is_refused_where_it_would_be_read_twice(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    assert cli.main([verb, "pipe"]) == ExitCode.USAGE
    why = "idlegap: pipe: cannot be opened: not a regular file: copy it into one first\n"
    assert capsys.readouterr() == ("", why)


def test_control_characters_of_a_file_name_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["replay", "\x1b[2Jabsent"]) == ExitCode.USAGE
    assert "\x1b" not in capsys.readouterr().err


# Replay ----------------------------------------------------------------------------------


def test_starting_a_replay_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "import idlegap.tui.cli, idlegap.tui.apps.run, idlegap.tui.commands.replay\n"
        "from idlegap.core.sources.recording import Replay\n"
        "from idlegap.tui.apps.replay import ReplayApp\n"
        f"ReplayApp(Replay(Path({str(REAL)!r})))\n"
        f"print([m for m in {(*HEAVY, *NOT_FOR_REPLAYS)!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_replay_on_a_real_terminal_plays_and_gives_the_terminal_back() -> None:
    # Slowly, so that a busy machine does not miss what passes on the screen.
    program = PtyProgram([sys.executable, "-m", "idlegap", "replay", str(REAL), "--speed", "0.5"])
    try:
        program.wait_for_text("REPLAY playing 0.5x")
        program.press(">")
        program.wait_for_text("mode 3 graph")
        program.press(" ")
        program.wait_for_text("REPLAY paused 0.5x")
        program.press("q")
        assert program.wait() == 0
        assert program.terminal_restored
        assert program.stderr == ""
    finally:
        program.close()


def test_a_cut_recording_says_so_when_the_terminal_is_given_back(cut: Path) -> None:
    program = PtyProgram([sys.executable, "-m", "idlegap", "replay", str(cut)])
    try:
        program.wait_for_text("! the recording was cut off: its last whole line is ")
        program.press("q")
        assert program.wait() == 0
        assert program.stderr.startswith("idlegap: the recording was cut off: its last whole line is ")
    finally:
        program.close()


def test_the_demo_plays_and_shows_what_a_gpu_did() -> None:
    program = PtyProgram([sys.executable, "-m", "idlegap", "replay", "demo"])
    try:
        program.wait_for_text("REPLAY playing 1x")
        for mode in ("3 graph", "2 eager-static"):
            program.press(">")
            program.wait_for_text(f"mode {mode}")
        program.wait_for_text("H200")
        program.press("q")
        assert program.wait() == 0
    finally:
        program.close()


# Report and export -----------------------------------------------------------------------


def test_a_report_is_written_and_an_older_one_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("older")
    done = run("report", str(REAL), "-o", str(page), check_heavy=True)
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr.splitlines() == [f"idlegap: written to {page}", "[]"]
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_report_on_stdout_is_alone_there_and_not_for_a_terminal() -> None:
    done = run("report", str(REAL), "-o", "-")
    assert done.stdout.startswith("<!DOCTYPE html>")
    assert (done.returncode, done.stderr) == (0, "")
    program = PtyProgram([sys.executable, "-m", "idlegap", "report", str(REAL), "-o", "-"])
    try:
        assert program.wait() == ExitCode.USAGE
        assert program.stderr == "idlegap: -o -: a page is not for a terminal: name a file, or pipe it on\n"
    finally:
        program.close()


@pytest.mark.parametrize(
    "line",
    [
        f"report {REAL} -o FILE",
        f"export {REAL} --csv -o FILE",
        f"export {REAL} --parquet -o FILE",
        "compare docs/examples/article-rtx-3070.json --svg FILE",
    ],
)
def test_a_disk_that_gets_full_leaves_the_older_file_and_is_told(line: str, tmp_path: Path) -> None:
    path = tmp_path / "out"
    if "export" not in line:
        path.write_text("older")
    arguments = line.replace("FILE", str(path)).split()
    code = (
        "import resource, sys, matplotlib.font_manager, pyarrow.parquet\n"
        "from idlegap.tui.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
        f"sys.exit(main({arguments!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr == f"idlegap: {path}: cannot be written: File too large\n"
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("out", "older")] * (
        "export" not in line
    )


def test_csv_goes_to_stdout_and_everything_else_to_stderr() -> None:
    done = run("export", str(REAL), "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == TOKENS
    assert int(rows[0]["wall_ns"]) == int(rows[0]["done_ns"]) - int(rows[0]["start_ns"])
    assert done.stderr == f"idlegap: wrote {TOKENS:,} tokens\n"
    assert done.returncode == 0


def test_the_demo_goes_to_a_report_and_to_a_table(tmp_path: Path) -> None:
    page, path = tmp_path / "demo.html", tmp_path / "demo.csv"
    assert run("report", "demo", "-o", str(page)).returncode == 0
    assert "NVIDIA H200" in page.read_text(encoding="utf-8")
    assert run("export", "demo", "--csv", "-o", str(path)).returncode == 0
    with path.open(newline="") as table:
        assert {row["mode"] for row in csv.DictReader(table)} == set(MODE_NAMES)


def test_csv_goes_to_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    done = run("export", str(REAL), "--csv", "-o", str(path), check_heavy=True)
    assert done.stderr.splitlines() == [f"idlegap: wrote {TOKENS:,} tokens to {path}", "[]"]
    assert done.stdout == ""
    assert path.read_text().count("\n") == TOKENS + 1


def test_parquet_goes_to_a_new_file(tmp_path: Path) -> None:
    from pyarrow import parquet

    path = tmp_path / "tokens.parquet"
    assert run("export", str(REAL), "--parquet", "-o", str(path)).returncode == 0
    assert parquet.read_metadata(path).num_rows == TOKENS


def test_an_export_of_a_cut_recording_says_so(cut: Path) -> None:
    done = run("export", str(cut), "--csv")
    assert done.returncode == 0
    assert "tokens; the recording was cut off: its last whole line is " in done.stderr


def test_an_export_that_fails_leaves_no_file(tmp_path: Path) -> None:
    damaged, table = tmp_path / "damaged.jsonl", tmp_path / "tokens.csv"
    damaged.write_bytes(damaged_recording())
    done = run("export", str(damaged), "--csv", "-o", str(table))
    assert done.returncode == ExitCode.USAGE
    assert "line 40" in done.stderr
    assert not table.exists()


def damaged_recording() -> bytes:
    lines = gzip.decompress(REAL.read_bytes()).splitlines(keepends=True)
    return b"".join([*lines[:39], b'{"type":"nonsense"}\n', *lines[40:]])


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    line = f"{sys.executable} -m idlegap export {REAL} --csv | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.stdout.startswith("engine,round,token,")
    assert (done.returncode, done.stderr) == (141, "")


def test_a_full_disk_is_one_clear_line() -> None:
    line = f"{sys.executable} -m idlegap export {REAL} --csv > /dev/full"
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr == "idlegap: stdout cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    ("module", "line", "advice"),
    [
        ("matplotlib", ["report", str(REAL), "-o", "/tmp/never.html"], "pip install 'idlegap[report]'"),
        ("pyarrow", ["export", str(REAL), "--parquet", "-o", "/tmp/never.parquet"],
         "pip install 'idlegap[parquet]'"),
    ],
)  # fmt: skip
def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    module: str, line: list[str], advice: str
) -> None:
    code = f"import sys; sys.modules[{module!r}] = None\nfrom tui.cli import main\nsys.exit(main({line!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == ExitCode.USAGE
    assert advice in done.stderr
    assert done.stderr.count("\n") == 1
    assert not Path(line[-1]).exists()
