"""The circumstances of a measurement, read from files and from git."""

import subprocess
from pathlib import Path

from idlegap.core.bench.environment import finished, now_utc, placed, read_environment
from idlegap.core.bench.schema import Environment
from idlegap.core.protocol.reasons import because


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_governors_clock_and_load_are_read_below_the_root(tmp_path: Path) -> None:
    for cpu, governor, khz in ((0, "performance", 3_800_000), (1, "powersave", 4_100_000)):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/cpufreq"
        write(folder / "scaling_governor", f"{governor}\n")
        write(folder / "cpuinfo_max_freq", f"{khz}\n")
    write(tmp_path / "proc/loadavg", "1.25 0.80 0.40 1/200 4711\n")
    found = read_environment(tmp_path, tmp_path)
    assert found.governor == "performance, powersave"
    assert found.cpu_max_mhz == 4100.0
    assert found.load_before == 1.25
    assert found.load_after is None
    write(tmp_path / "proc/loadavg", "7.50 0.80 0.40 1/200 4711\n")
    after = finished(found, tmp_path)
    assert (after.load_before, after.load_after) == (1.25, 7.5)


def test_what_is_not_there_has_its_reason(tmp_path: Path) -> None:
    found = finished(read_environment(tmp_path, tmp_path), tmp_path)
    assert (found.governor, found.cpu_max_mhz, found.load_before, found.load_after) == (None,) * 4
    assert found.revision is None
    assert found.missing["governor"] == because("no-cpufreq")
    assert found.missing["revision"] == because("not-a-clone")
    assert (
        found.missing["load_before"]
        == found.missing["load_after"]
        == because("unreadable", path="/proc/loadavg")
    )


def test_the_revision_of_a_clone_says_whether_files_differ_from_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path / "a.txt", "one")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "--quiet", "-m", "one")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert read_environment(tmp_path, tmp_path).revision == commit
    write(tmp_path / "a.txt", "two")
    assert read_environment(tmp_path, tmp_path).revision == f"{commit}-dirty"


def test_a_broken_clone_is_a_reason_not_an_error(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    found = read_environment(tmp_path, tmp_path)
    assert found.revision is None
    assert found.missing["revision"] == because("git-failed", detail="CalledProcessError")


def test_where_the_decode_thread_ran_is_what_was_asked_for_unless_it_was_refused() -> None:
    before = Environment(missing={"governor": because("no-cpufreq")})
    refusals = {
        "pin_core": because("pin-refused", core=3, detail="Invalid argument"),
        "nice": because("nice-refused", nice=5, detail="Permission denied"),
    }
    others = {"run_delay_ns": because("schedstat-zero")}
    assert placed(before, None, None, others | refusals) == before
    assert placed(before, 3, 5, others) == Environment(pin_core=3, nice=5, missing=before.missing)
    refused = placed(before, 3, 5, others | refusals)
    assert (refused.pin_core, refused.nice) == (None, None)
    assert refused.missing == {**before.missing, **refusals}
    pinned = placed(before, 3, 5, {"nice": refusals["nice"]})
    assert (pinned.pin_core, pinned.nice) == (3, None)


def test_the_time_of_day_is_utc() -> None:
    assert now_utc().endswith("+00:00")
