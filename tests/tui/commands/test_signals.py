"""ctrl+c while a verb is still being loaded, and in verbs that see to nothing themselves."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.paths import ROOT

HELD = """
import sys
module, sys.argv[1:] = sys.argv[1], sys.argv[2:]
class Held:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            print("held", flush=True)
            sys.stdin.readline()
sys.meta_path.insert(0, Held())
from idlegap.tui.cli import main
sys.exit(main())
"""
"""The command line of the arguments after the first, which waits for a line on stdin before it
imports the module that the first one names."""


@contextmanager
def held(module: str, *line: str, ignoring: bool = False) -> Iterator["subprocess.Popen[str]"]:
    """The program, as it is about to import `module`."""

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN if ignoring else signal.default_int_handler)

    with subprocess.Popen(
        [sys.executable, "-c", HELD, module, *line],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("idlegap.tui.commands.report", "report demo"),
        ("idlegap.core.report.page", "report demo"),
        ("idlegap.tui.commands.measuring", "bench --device cpu"),
        ("idlegap.core.check.check", "check --device cpu"),
        ("idlegap.core.results.store", "compare a.json"),
        ("idlegap.tui.apps.replay_server", "serve demo"),
        ("idlegap.core.export.token_table", "export demo --csv"),
        ("idlegap.core.doctor", "doctor"),
    ],
)
def test_while_a_verb_is_loaded_it_is_one_line_and_130(module: str, line: str) -> None:
    with held(module, *line.split()) as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, "", "idlegap: interrupted\n")


def test_where_it_is_ignored_it_stays_so() -> None:
    with held("idlegap.core.results.store", "compare", "absent.json", ignoring=True) as process:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate("\n")
    assert process.returncode == 2
    assert "absent.json: cannot be read" in err


def open_files(pid: int) -> set[Path]:
    """What a process has open, by path."""
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found.add(link.readlink())
    return found


def sleeps(pid: int) -> bool:
    """Whether the process waits in the kernel."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S"


def test_an_export_that_is_interrupted_leaves_no_file(tmp_path: Path) -> None:
    recording = tmp_path / "run.jsonl"
    os.mkfifo(recording)
    # Whoever holds both ends lets its readers wait.
    writer = os.open(recording, os.O_RDWR)
    process = subprocess.Popen(
        [sys.executable, "-m", "idlegap", "export", str(recording), "--csv", "-o", str(tmp_path / "run.csv")],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            # It reads with its unfinished table open. Not before it waits for what to read: a signal
            # between the opening and that would be noticed only when something came.
            while not (recording in open_files(process.pid) and sleeps(process.pid)):
                assert process.poll() is None
            assert len(list(tmp_path.iterdir())) == 2
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            assert process.stderr.read() == "idlegap: interrupted\n"
            process.wait()
        finally:
            process.kill()
            os.close(writer)
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == [recording]
