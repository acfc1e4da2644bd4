"""Files are written whole or not at all, whatever stands there and whatever goes wrong."""

import errno
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from idlegap.core.system.files import NOT_REGULAR, FileError, check_target, open_input, same_file, whole_file
from tests.paths import ROOT


def put(path: Path, data: bytes = b"new", *, new: bool = False) -> None:
    check_target(path, new=new)
    with whole_file(path, new=new) as out:
        out.write(data)


def python(code: str) -> str:
    """What a process of its own prints that carries out `code`."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def _umask_027() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


# Writing ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("_umask_027")
def test_a_new_file_has_the_mode_that_the_umask_leaves_and_an_older_one_keeps_its_own(tmp_path: Path) -> None:
    put(tmp_path / "a")
    (tmp_path / "private").touch(mode=0o600)
    put(tmp_path / "private")
    assert {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in tmp_path.iterdir()} == {
        "a": "0o640",
        "private": "0o600",
    }
    assert (tmp_path / "private").read_bytes() == b"new"


def fail(path: Path, error: BaseException) -> None:
    with whole_file(path) as out:
        out.write(b"half")
        raise error


@pytest.mark.parametrize("name", ["a", "b"])
def test_what_fails_on_the_way_leaves_the_older_file_and_nothing_else(name: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with pytest.raises(FileError) as caught:
        fail(tmp_path / name, OSError(errno.ENOSPC, "No space left on device"))
    assert str(caught.value) == f"{tmp_path / name}: cannot be written: No space left on device"
    with pytest.raises(KeyboardInterrupt):
        fail(tmp_path / name, KeyboardInterrupt())
    assert names(tmp_path) == {"a"}
    assert (tmp_path / "a").read_text() == "old"


def test_a_disk_that_is_full_only_when_the_last_bytes_are_flushed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    told = python(
        "import resource; from pathlib import Path\n"
        "from idlegap.core.system.files import FileError, whole_file\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try:\n"
        f"    with whole_file(Path({str(tmp_path / 'a')!r})) as out: out.write(b'x' * 101)\n"
        "except FileError as error: print(error)\n"
    )
    assert told == f"{tmp_path / 'a'}: cannot be written: File too large\n"
    assert names(tmp_path) == {"a"}
    assert (tmp_path / "a").read_text() == "old"


def test_links_are_followed_and_stay(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/real")
    for data in (b"to a file that is not there yet", b"to one that is"):
        put(tmp_path / "link", data)
        assert (tmp_path / "folder" / "real").read_bytes() == data
    assert (tmp_path / "link").readlink() == Path("folder/real")
    assert names(tmp_path / "folder") == {"real"}


def test_a_neighbour_called_partial_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.partial").write_text("mine")
    put(tmp_path / "a")
    assert (tmp_path / "a.partial").read_text() == "mine"


def test_the_longest_name_that_the_system_takes_is_taken(tmp_path: Path) -> None:
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    put(tmp_path / ("x" * longest))
    with pytest.raises(FileError, match="File name too long"):
        put(tmp_path / ("x" * (longest + 1)))


def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    put(pipe)
    assert os.read(reading, 100) == b"new"
    os.close(reading)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert names(tmp_path) == {"pipe"}


def test_a_pipe_that_nobody_reads_is_no_endless_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="pipe: cannot be written: nobody reads from it"):
        put(tmp_path / "pipe")


def test_the_descriptor_of_a_pipe_is_written_into() -> None:
    reading, writing = os.pipe()
    put(Path(f"/dev/fd/{writing}"))
    os.close(writing)
    assert os.read(reading, 100) == b"new"
    os.close(reading)


def test_an_open_file_without_a_name_is_written_into(tmp_path: Path) -> None:
    with (tmp_path / "a").open("w+b") as file:
        (tmp_path / "a").unlink()
        put(Path(f"/dev/fd/{file.fileno()}"))
        assert file.read() == b"new"
    assert names(tmp_path) == set()


def test_a_new_file_replaces_none_not_even_one_that_comes_meanwhile(tmp_path: Path) -> None:
    put(tmp_path / "a", new=True)
    with pytest.raises(FileError, match="a: cannot be written: it exists already"):
        put(tmp_path / "a", b"newer", new=True)
    with pytest.raises(FileError, match="b: cannot be written: File exists"):  # noqa: SIM117
        with whole_file(tmp_path / "b", new=True):
            (tmp_path / "b").write_text("first")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "new", "b": "first"}


# Judging a target beforehand -------------------------------------------------------------


def refusal(path: Path) -> str:
    """Why nothing can be written at `path`; writing says the same, and neither leaves anything."""
    before = {found: names(found) for found in (path.parent, path.parent.parent) if found.is_dir()}
    with pytest.raises(FileError) as early:
        check_target(path)
    with pytest.raises(FileError) as late, whole_file(path):
        pass
    assert str(early.value) == str(late.value)
    assert {found: names(found) for found in (path.parent, path.parent.parent) if found.is_dir()} == before
    start, why = str(early.value).split(": cannot be written: ")
    assert start == str(path)
    return why


def test_what_can_be_known_beforehand_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "astray").symlink_to("nowhere/file")
    assert refusal(tmp_path) == "it is a folder: name a file in it"
    assert refusal(tmp_path / "none" / "a") == f"there is no folder {tmp_path / 'none'}"
    assert refusal(tmp_path / "astray") == f"there is no folder {tmp_path / 'nowhere'}"
    assert refusal(tmp_path / "file" / "a") == "Not a directory"
    assert refusal(tmp_path / "loop") == "Too many levels of symbolic links"


def test_rights_that_are_missing_are_told_beforehand(tmp_path: Path) -> None:
    (tmp_path / "shut").mkdir()
    (tmp_path / "locked").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    for name, mode in (("shut", 0o555), ("locked", 0o444), ("pipe", 0o444), (".", 0o777)):
        (tmp_path / name).chmod(mode)
    # As somebody who is not root, to whom no right is missing.
    code = (
        "import os; from pathlib import Path; from idlegap.core.system.files import FileError, check_target\n"
        f"os.chdir({str(tmp_path)!r})\n"
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "for name in ('shut/a', 'locked', 'pipe'):\n"
        "    try: check_target(Path(name))\n"
        "    except FileError as error: print(error)\n"
    )
    assert python(code).splitlines() == [
        "shut/a: cannot be written: no file can be made in shut: Permission denied",
        "locked: cannot be written: it is write-protected",
        "pipe: cannot be written: Permission denied",
    ]


def test_what_can_be_written_is_left_as_it_is_until_then(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    check_target(tmp_path / "a")
    check_target(tmp_path / "b")
    assert names(tmp_path) == {"a"}
    assert (tmp_path / "a").read_text() == "old"


def test_one_file_of_several_names_is_known(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name, link in (("soft", "a"), ("dangling", "folder/b")):
        (tmp_path / name).symlink_to(link)
    (tmp_path / "a").touch()
    (tmp_path / "hard").hardlink_to(tmp_path / "a")
    assert same_file(tmp_path / "a", tmp_path / "soft")
    assert same_file(tmp_path / "a", tmp_path / "hard")
    assert same_file(tmp_path / "dangling", tmp_path / "folder" / ".." / "folder" / "b")
    assert not same_file(tmp_path / "a", tmp_path / "dangling")
    assert not same_file(tmp_path / "b", tmp_path / "folder" / "b")


# Reading ---------------------------------------------------------------------------------


def reason(path: Path, *, pipe: bool = False) -> str:
    try:
        open_input(path, pipe=pipe).close()
    except OSError as error:
        return str(error.strerror)
    return ""


def test_only_a_regular_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
    with open_input(tmp_path / "a") as file:
        assert file.read() == b"text"
    assert reason(tmp_path / "pipe") == NOT_REGULAR
    assert reason(tmp_path / "socket", pipe=True) == NOT_REGULAR
    assert reason(Path("/dev/zero"), pipe=True) == NOT_REGULAR
    assert reason(tmp_path) == "Is a directory"
    assert reason(tmp_path / "b") == "No such file or directory"
    assert reason(tmp_path / ("x" * 300)) == "File name too long"


def test_a_pipe_is_opened_where_it_will_do_and_waited_for_only_while_somebody_writes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with open_input(tmp_path / "pipe", pipe=True) as file:
        assert file.read() == b""
        writing = os.open(tmp_path / "pipe", os.O_WRONLY)
        os.write(writing, b"late")
        assert file.read(2) == b"la"
        os.close(writing)
        assert file.read() == b"te"
