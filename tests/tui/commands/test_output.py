"""Closed standard streams: one line where there is a place for it, and nothing measured is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from idlegap.core.bench.schema import BenchResult
from idlegap.core.results.store import read
from idlegap.tui.exit_codes import ExitCode
from tests.paths import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "article-rtx-3070.json"
SHORT = "bench --device cpu --modes eager-static --prompt-tokens 8 --new-tokens 8 --runs 1"


def run(line: str, *closed: int) -> "subprocess.CompletedProcess[str]":
    """The command line, started with these descriptors closed."""

    def prepare() -> None:
        for fd in closed:
            os.close(fd)

    return subprocess.run(
        [sys.executable, "-m", "idlegap", *line.split()],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        preexec_fn=prepare,
    )


@pytest.mark.parametrize("line", ["--version", "--help", "bench --help", f"compare {EXAMPLE}"])
def test_without_a_stdout_there_is_one_line_and_no_success(line: str) -> None:
    done = run(line, 1)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr == "idlegap: stdout cannot be written: it is closed\n"


@pytest.mark.parametrize("line", [SHORT, f"{SHORT} --json -", "check --device cpu", "doctor"])
def test_nothing_is_measured_that_has_no_place_to_go(line: str) -> None:
    done = run(line, 1)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr == (
        "idlegap: stdout is closed: there is no place for the result; --json FILE makes one\n"
    )


def test_what_was_measured_is_in_its_file_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    done = run(f"{SHORT} --json {path}", 0, 1)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.endswith("idlegap: stdout cannot be written: it is closed\n")
    assert "Traceback" not in done.stderr
    result = read(path)
    assert isinstance(result, BenchResult)
    assert result.complete


@pytest.mark.parametrize("closed", [(2,), (0, 2)])
def test_what_is_for_stderr_never_lands_in_the_result(closed: tuple[int, ...]) -> None:
    done = run("compare absent.json", *closed)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    done = run(f"compare {EXAMPLE}", *closed)
    assert done.returncode == ExitCode.DONE
    assert "RTX 3070" in done.stdout


def test_a_stdout_that_takes_nothing_is_told(tmp_path: Path) -> None:
    readable = tmp_path / "file"
    readable.touch()
    with readable.open() as stream:
        done = subprocess.run(
            [sys.executable, "-m", "idlegap", "--version"],
            cwd=ROOT,
            stdout=stream,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == ExitCode.USAGE
    assert done.stderr == "idlegap: stdout cannot be written: it is closed\n"
