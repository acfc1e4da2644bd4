"""The engine's log: one file for each start, the last lines on request, and no heap of old ones."""

import os
from pathlib import Path

from idlegap.core.protocol.reasons import because
from idlegap.core.sources.engine_log import KEPT_LOGS, TAIL_LINES, EngineLog
from idlegap.core.system.locations import Folder
from idlegap.core.text.reasons import words


def test_each_start_has_a_file_of_its_own_and_the_last_one_is_told(tmp_path: Path) -> None:
    log = EngineLog(find=lambda: Folder(tmp_path))
    for text in (b"first\n", b"second\n"):
        with log.open() as out:
            out.write(text)
    assert log.tail() == ("second",)
    assert log.place == f"its log: {tmp_path / f'engine-{os.getpid()}-2.log'}"
    assert log.notice == ""
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["first\n", "second\n"]


def test_the_tail_is_short_and_takes_any_bytes(tmp_path: Path) -> None:
    log = EngineLog(tmp_path / "deeper" / "log")
    with log.open() as out:
        out.write(b"".join(b"line %d\n" % n for n in range(100)) + b"\xff")
    assert log.tail() == (*(f"line {n}" for n in range(101 - TAIL_LINES, 100)), "\ufffd")


def test_a_log_in_another_place_is_a_notice(tmp_path: Path) -> None:
    log = EngineLog(
        find=lambda: Folder(tmp_path, because("folder-unwritable", folder="home", detail="read-only"))
    )
    log.open().close()
    assert log.notice.startswith(f"the engine's log is {tmp_path}")
    assert log.notice.endswith("; home cannot be written: read-only")


def test_without_any_folder_what_is_printed_is_lost_and_that_is_said() -> None:
    nowhere = because("no-folder", folder="home", why="read-only", detail="full")
    log = EngineLog(find=lambda: Folder(None, nowhere))
    with log.open() as out:
        out.write(b"lost")
    assert log.tail() == ()
    assert log.place == log.notice == f"no log of the engine is kept: {words(nowhere)}"


def test_the_oldest_logs_go_and_files_of_others_stay(tmp_path: Path) -> None:
    for age in range(KEPT_LOGS + 5):
        path = tmp_path / f"engine-1-{age}.log"
        path.touch()
        os.utime(path, ns=(age, age))
    (tmp_path / "notes.log").touch()
    os.utime(tmp_path / "notes.log", ns=(0, 0))
    EngineLog(find=lambda: Folder(tmp_path)).open().close()
    kept = {path.name for path in tmp_path.iterdir()}
    assert {f"engine-1-{age}.log" for age in range(5, KEPT_LOGS + 5)} < kept
    assert "engine-1-4.log" not in kept
    assert "notes.log" in kept
