"""Where files go: the usual folder, one of our own where that is not to be had, or none."""

import os
import stat
from pathlib import Path

import pytest

from idlegap.core.protocol.reasons import because
from idlegap.core.system.locations import Folder, cache_dir, log_dir, usable
from idlegap.core.text.reasons import words


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@pytest.fixture
def barred(tmp_path: Path) -> Path:
    """A folder that nobody can make, root included: a file is in its way."""
    in_the_way = tmp_path / "home"
    in_the_way.touch()
    return in_the_way / "log"


def test_the_usual_folder_is_made_and_needs_no_reason(tmp_path: Path, temporary: Path) -> None:
    usual = tmp_path / "state" / "idlegap" / "log"
    assert usable(usual, "log", temporary) == Folder(usual)
    assert usual.is_dir()
    assert list(temporary.iterdir()) == []


def test_without_it_there_is_one_that_nobody_else_can_read(barred: Path, temporary: Path) -> None:
    found = usable(barred, "log", temporary)
    own = temporary / f"idlegap-{os.getuid()}"
    assert found == Folder(
        own / "log", because("folder-unwritable", folder=str(barred), detail="Not a directory")
    )
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert usable(barred, "log", temporary) == found


def test_a_temporary_folder_that_someone_else_has_put_there_is_not_used(
    barred: Path, temporary: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (temporary / f"idlegap-{os.getuid()}").symlink_to(elsewhere)
    found = usable(barred, "log", temporary)
    assert found.path is None
    assert "another user's" in words(found.reason or "")
    assert list(elsewhere.iterdir()) == []


def test_where_nothing_can_be_written_both_reasons_are_told(barred: Path) -> None:
    found = usable(barred, "log", barred.parent)
    assert found.path is None
    assert words(found.reason or "").startswith(
        f"{barred} cannot be written: Not a directory; nor can a temporary folder: "
    )


def test_logs_and_caches_follow_the_platforms_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert log_dir() == Folder(tmp_path / "state" / "idlegap" / "log")
    assert cache_dir() == Folder(tmp_path / "cache" / "idlegap")
