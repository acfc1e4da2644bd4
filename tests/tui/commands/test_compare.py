"""`compare`: the table of the example results, what it says of files, and what it refuses."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from idlegap.core.bench.schema import BenchResult
from idlegap.core.check.card import Card, CardLine
from idlegap.core.check.check import judge
from idlegap.core.check.predictions import Predictions
from idlegap.core.protocol.events import DispatchProbe
from idlegap.core.results.store import BENCH, CHECK, SCHEMA_VERSION, encode, write
from idlegap.tui import cli
from idlegap.tui.exit_codes import ExitCode
from idlegap.tui.tables.bench import bench_text
from idlegap.tui.tables.check import check_text
from tests.core.bench.results import arm, bench
from tests.paths import ROOT

EXAMPLES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs/examples").glob("*.json"))

TABLE = """\
               host            GB/s GB/s eager graph  MBU  GPU us per
   GPU         CPU             spec copy tok/s tok/s    % idle launch      limit
1* RTX 3070    Ryzen 7 3700X    448  403  59.8   n/a 41.2 41 %    n/a     mixed?
2* RTX 3070 Ti Xeon E5-2680 v4  608  n/a  30.6   n/a 15.5  n/a    n/a      host?
3* RTX 4060 Ti Core i7-11700    288  n/a  70.1   n/a 75.2  n/a    n/a bandwidth?
"""
FILES = """\

files:
 1  docs/examples/article-rtx-3070.json: published figures
 2  docs/examples/article-rtx-3070-ti.json: published figures
 3  docs/examples/article-rtx-4060-ti.json: published figures
"""


@pytest.fixture(autouse=True)
def _from_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")


def test_the_examples_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    first, *rest = sorted(EXAMPLES, key=len)
    assert cli.main(["compare", first, *sorted(rest)]) == ExitCode.DONE
    out, err = capsys.readouterr()
    assert out.startswith(TABLE)
    assert out.endswith(FILES)
    assert "RTX 3070 Ti has 2.11x the bandwidth of RTX 4060 Ti" in out
    assert "GB/s specified" in out
    assert max(map(len, out.splitlines())) <= 80
    assert err == ""


def test_a_wider_terminal_is_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    cli.main(["compare", *EXAMPLES])
    assert 80 < max(map(len, capsys.readouterr().out.splitlines())) <= 110


def test_measured_results_say_when_they_were_taken_and_whether_to_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, part = tmp_path / "whole.json", tmp_path / "part.json"
    write(whole, BENCH, bench())
    write(part, BENCH, bench(complete=False, reason="interrupted"))
    assert cli.main(["compare", str(whole), str(part)]) == ExitCode.DONE
    assert capsys.readouterr().out.endswith(
        "\nfiles:\n"
        f" 1  {whole}: 2026-11-29T12:00:00+00:00\n"
        f" 2  {part}: 2026-11-29T12:00:00+00:00, INCOMPLETE (interrupted)\n"
    )


def interrupted() -> BenchResult:
    return bench(complete=False, reason="interrupted")


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("result", [bench(), interrupted()])
def test_one_bench_alone_is_printed_again(
    columns: int,
    result: BenchResult,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    write(tmp_path / "a.json", BENCH, result)
    assert cli.main(["compare", str(tmp_path / "a.json")]) == ExitCode.DONE
    assert capsys.readouterr() == (bench_text(result, columns), "")


def test_one_check_alone_is_printed_as_it_was_judged_then_and_is_exit_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    today = judge(bench(probe=DispatchProbe(0, 2_600, 30_000)))
    assert today.card.verdict == "not good"
    line = CardLine("fans", "blue", "good", "blue is what was asked for then")
    then = msgspec.structs.replace(
        today, card=Card("good", (line,)), predictions=Predictions((), reason="no model yet")
    )
    write(tmp_path / "a.json", CHECK, then)
    assert cli.main(["compare", str(tmp_path / "a.json")]) == ExitCode.DONE
    printed = capsys.readouterr().out
    assert printed == check_text(then)
    assert "blue is what was asked for then" in printed
    assert "cannot be predicted, no model yet" in printed


def test_a_bench_and_a_check_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a.json", BENCH, bench())
    write(tmp_path / "b.json", CHECK, judge(interrupted()))
    assert cli.main(["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) == ExitCode.DONE
    out = capsys.readouterr().out
    assert "no significant difference, 1.00x" in out
    assert out.endswith("b.json: 2026-11-29T12:00:00+00:00, INCOMPLETE (interrupted)\n")


def test_one_publication_alone_is_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", EXAMPLES[0]]) == ExitCode.DONE
    assert "what limits whom" in capsys.readouterr().out


def test_every_bad_file_gets_one_line_and_nothing_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = encode(BENCH, bench(arm("graph")))
    contents = {
        "cut.json": (good[:500], "cut short"),
        "edited.json": (good.replace(b'"batch":1', b'"batch":2'), "edited"),
        "newer.json": (good.replace(f'"schema":{SCHEMA_VERSION}'.encode(), b'"schema":99'), "newer idlegap"),
        "empty.json": (b"", "empty"),
        "song.txt": (b"la la la", "not JSON"),
        "doctor.json": (good.replace(b"idlegap-bench", b"idlegap-doctor"), "no kind of result"),
    }
    for name, (data, _) in contents.items():
        (tmp_path / name).write_bytes(data)
    paths = [str(tmp_path / name) for name in contents] + [str(tmp_path / "nowhere.json")]
    assert cli.main(["compare", EXAMPLES[0], *paths]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [["idlegap", path] for path in paths]
    for line, (_, what) in zip(lines, contents.values(), strict=False):
        assert what in line
    assert lines[-1].endswith("cannot be read: No such file or directory")


def test_the_plot_is_an_svg_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plot.svg"
    assert cli.main(["compare", *EXAMPLES, "--svg", str(path)]) == ExitCode.DONE
    out, err = capsys.readouterr()
    assert out.startswith("  ")
    assert err == f"idlegap: written to {path}\n"
    text = path.read_text()
    assert "<svg" in text
    assert "RTX 4060 Ti" in text


def test_the_plot_on_stdout_is_alone_there(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert cli.main(["compare", *EXAMPLES, "--svg", "-"]) == ExitCode.DONE
    out, err = capsysbinary.readouterr()
    assert ElementTree.fromstring(out).tag.endswith("svg")
    assert err == b""


def test_a_plot_into_the_file_that_is_stdout_is_alone_there_too(tmp_path: Path) -> None:
    path = tmp_path / "plot.svg"
    with path.open("w") as file:
        assert compare_into(file.fileno(), "--svg", str(path)).returncode == 0
    assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_a_result_is_never_replaced_by_its_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, link = tmp_path / "a.json", tmp_path / "plot.svg"
    write(path, BENCH, bench())
    link.symlink_to(path)
    for target in (path, link):
        assert cli.main(["compare", EXAMPLES[0], str(path), "--svg", str(target)]) == ExitCode.USAGE
        assert capsys.readouterr() == ("", f"idlegap: --svg {target}: that is one of the results\n")
    assert path.read_bytes() == encode(BENCH, bench())


def test_what_a_file_holds_is_shown_and_not_obeyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b[2JH200\x07"
    path, whole = tmp_path / "\x1b]0;owned\n.json", bench(complete=False, reason=evil)
    engine = msgspec.structs.replace(whole.engine, device_name=evil, model=evil)
    write(path, BENCH, msgspec.structs.replace(whole, engine=engine, created=f"{evil}\n 9  forged"))
    for line in ([str(path)], [str(path), EXAMPLES[0]], [str(path), str(tmp_path / "\x1b[2Jnone.json")]):
        cli.main(["compare", *line])
        out, err = capsys.readouterr()
        assert "?[2J" in out + err
        assert (out + err).replace("\n", "").isprintable()
        assert "\n 9  forged" not in out


def test_a_pipe_is_no_result_and_no_endless_wait(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert cli.main(["compare", str(tmp_path / "pipe")]) == ExitCode.USAGE
    assert "pipe: cannot be read: not a regular file: copy it into one first\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ([], "RESULT.json"),
        ([*EXAMPLES, "--svg", "/nowhere/a.svg"], "no folder /nowhere"),
        ([*EXAMPLES, "--svg", "docs"], "--svg docs: cannot be written: it is a folder"),
        ([*EXAMPLES, "--svg", "x" * 300], "File name too long"),
        (["x" * 300], "File name too long"),
        ([*EXAMPLES, "--svg", ""], "--svg '': names no file"),
        ([*EXAMPLES, ""], "RESULT.json '': names no file"),
    ],
)
def test_what_cannot_work_is_one_clear_line(
    line: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", *line]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert named in err


def compare_into(stdout: int, *more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "idlegap", "compare", *EXAMPLES, *more],
        cwd=ROOT,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )


def test_a_reader_that_has_gone_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        run = compare_into(writing)
    finally:
        os.close(writing)
    assert (run.returncode, run.stderr) == (0, "")


def test_a_full_disk_is_one_clear_line() -> None:
    with Path("/dev/full").open("w") as full:
        run = compare_into(full.fileno())
    assert (run.returncode, run.stderr) == (2, "idlegap: stdout cannot be written: No space left on device\n")


def test_a_closed_stdout_is_one_clear_line() -> None:
    line = f"{sys.executable} -m idlegap compare {EXAMPLES[0]} >&-"
    run = subprocess.run(["sh", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (2, "idlegap: stdout cannot be written: it is closed\n")
