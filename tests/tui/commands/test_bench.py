"""`bench`: what it prints and writes, how it ends, and what it refuses."""

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from idlegap.core.bench.schema import BenchResult
from idlegap.core.protocol.events import TokenBatch
from idlegap.core.protocol.reasons import because
from idlegap.core.protocol.settings import Settings
from idlegap.core.recording import RecordingReader
from idlegap.core.results.store import decode, read
from idlegap.tui import cli
from idlegap.tui.commands.base import UsageError
from idlegap.tui.commands.bench import BenchOptions, bench, options_from
from idlegap.tui.commands.output import STDOUT
from idlegap.tui.commands.recording_option import RecordOptions
from idlegap.tui.commands.signals import StopSignals
from idlegap.tui.exit_codes import ExitCode
from idlegap.tui.tables.bench import bench_text
from tests.core.bench.fake_engine import H200, READY, FakeEngine, replace_struct
from tests.paths import ROOT
from tests.ready import engine_ready
from tests.tui.commands.connecting import Connected, UnableEngine, UnstartableEngine, never, signalled

TWO = Settings(modes=("eager-static", "graph"))


def result_in(path: Path) -> BenchResult:
    result = read(path)
    assert isinstance(result, BenchResult)
    return result


@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_is_as_wide_as_the_terminal_and_the_file_holds_what_it_was_made_of(
    columns: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    path = tmp_path / "a.json"
    assert bench(BenchOptions(TWO, 3, path), Connected(FakeEngine())) == ExitCode.DONE
    out, err = capsys.readouterr()
    result = result_in(path)
    assert result.complete
    assert [len(arm.counted) for arm in result.arms] == [3, 3]
    assert out == bench_text(result, columns)
    assert err.endswith(f"idlegap: written to {path}\n")


def test_json_to_stdout_is_one_document_and_nothing_else(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert bench(BenchOptions(TWO, 2, STDOUT), Connected(FakeEngine())) == ExitCode.DONE
    out, err = capsysbinary.readouterr()
    result = decode(out, "stdout")
    assert isinstance(result, BenchResult)
    assert [arm.label for arm in result.arms] == ["eager-static", "graph"]
    assert out.count(b"\n") == 1
    assert b"written" not in err


def test_progress_with_the_time_left_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    bench(BenchOptions(TWO, 2), Connected(FakeEngine()))
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == ["starting the engine", "  importing", "  bandwidth: copying device memory"]
    assert "0/6  eager-static, warm-up" in lines
    assert "5/6  graph, run 2 of 2, about 1 s left" in lines
    assert lines[-1] == "6/6  profiling graph"


def test_runs_are_counted_once_it_is_known_which_modes_can_run(capsys: pytest.CaptureFixture[str]) -> None:
    engine = FakeEngine({mode: H200[mode] for mode in ("eager", "eager-static")})
    bench(BenchOptions(Settings(), 2), Connected(engine))
    lines = capsys.readouterr().err.splitlines()
    assert {line.split("  ")[0].partition("/")[2] for line in lines if "/" in line} == {"6"}
    assert "entering fused-graph" in lines
    assert "0/6  eager, warm-up" in lines


def test_without_a_gpu_nothing_is_announced_that_needs_one(capsys: pytest.CaptureFixture[str]) -> None:
    cpu = FakeEngine({"eager": H200["eager"]}, replace_struct(READY, device="cpu"), copy_bytes_per_s=None)
    bench(BenchOptions(Settings(modes=("eager",)), 1), Connected(cpu))
    out, err = capsys.readouterr()
    assert "importing" in err
    assert "bandwidth" not in err
    assert "profiling" not in err
    assert "profile windows need CUDA" in out


def test_the_engine_gets_the_workload_and_all_modes() -> None:
    connected = Connected(FakeEngine())
    settings = Settings(modes=("graph",), new_tokens=40, pin_core=0, nice=5)
    bench(BenchOptions(settings, 1), connected)
    assert connected.settings == Settings(new_tokens=40, pin_core=0, nice=5, profile_every_ns=None)
    assert connected.engine.closed


def test_where_the_decode_thread_ran_is_in_the_result_and_its_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"
    settings = Settings(modes=("eager-static",), pin_core=3, nice=5)
    bench(BenchOptions(settings, 1, path), Connected(FakeEngine()))
    environment = result_in(path).environment
    assert (environment.pin_core, environment.nice) == (3, 5)
    assert "decode thread on core 3 alone, nice 5" in capsys.readouterr().out.replace("\n", " ")


def test_how_the_decode_thread_waited_is_in_the_text_beside_where_it_ran(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    settings = Settings(modes=("eager-static",), pin_core=3, nice=5, wait="block")
    connected = Connected(FakeEngine(ready=engine_ready(new_tokens=40, wait="block")))
    bench(BenchOptions(settings, 1, tmp_path / "a.json"), connected)
    assert connected.settings is not None
    assert connected.settings.wait == "block"
    assert result_in(tmp_path / "a.json").engine.wait == "block"
    out = capsys.readouterr().out
    assert "decode thread on core 3 alone, nice 5, waits for the GPU blocked\n" in out


def test_a_refused_nice_value_is_said_at_once_and_never_recorded_as_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, refusal = tmp_path / "a.json", "--nice -5: refused (Permission denied)"
    reason = because("nice-refused", nice=-5, detail="Permission denied")
    ready = replace_struct(READY, missing={"nice": reason})
    settings = Settings(modes=("eager-static",), pin_core=3, nice=-5)
    bench(BenchOptions(settings, 1, path), Connected(FakeEngine(ready=ready, notices=(refusal,))))
    environment = result_in(path).environment
    assert (environment.pin_core, environment.nice) == (3, None)
    assert environment.missing == {**environment.missing, "nice": reason}
    out, err = capsys.readouterr()
    assert refusal in err.splitlines()
    assert "nice" not in out


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_keeps_what_was_measured_so_far(
    number: int, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, before = tmp_path / "a.json", signal.getsignal(number)
    # The second one comes from a user who has lost patience; it must not cost the result.
    engine = signalled(number, number, rounds=5)
    assert bench(BenchOptions(TWO, 50, path), Connected(engine)) == code
    result = result_in(path)
    assert (result.complete, result.reason) == (False, "interrupted")
    assert sum(len(arm.counted) for arm in result.arms) >= 1
    out, err = capsys.readouterr()
    assert "INCOMPLETE (interrupted)" in out
    assert err.splitlines().count("stopping the engine") == 1
    assert engine.closed
    assert signal.getsignal(number) == before


def test_interrupted_before_the_engine_is_up_there_is_nothing_to_print(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"
    assert bench(BenchOptions(TWO, 5, path), Connected(signalled(signal.SIGTERM, rounds=0))) == 143
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("idlegap: interrupted before anything was measured\n")
    assert not path.exists()


def test_a_signal_that_was_ignored_before_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals() as stop:
            signal.raise_signal(signal.SIGHUP)
            assert not stop()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_engine_that_fails_leaves_what_was_measured_and_exit_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"
    assert bench(BenchOptions(TWO, 5, path), Connected(FakeEngine(fail_after=6))) == ExitCode.ENGINE_FAILED
    assert result_in(path).reason == "the engine failed: OutOfMemoryError: no room"
    out, err = capsys.readouterr()
    assert "INCOMPLETE (the engine failed: OutOfMemoryError: no room)" in out.replace("\n", " ")
    assert "idlegap: the engine failed: OutOfMemoryError: no room\n  ...\n" in err


def test_a_machine_that_cannot_says_what_would_help_and_exits_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(BenchOptions(TWO, 5, STDOUT), Connected(UnableEngine())) == ExitCode.UNSUPPORTED
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("idlegap: not possible here: --device cuda: torch finds no usable GPU\n  use a GPU\n")


def test_modes_that_all_refuse_are_exit_3(capsys: pytest.CaptureFixture[str]) -> None:
    engine = FakeEngine({"eager-static": H200["eager-static"]})
    settings = Settings(modes=("graph", "compiled"))
    assert bench(BenchOptions(settings, 5), Connected(engine)) == ExitCode.UNSUPPORTED
    assert "graph  not run: needs CUDA\n" in capsys.readouterr().out


def test_an_engine_that_cannot_be_started_is_exit_4(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(BenchOptions(TWO, 5), Connected(UnstartableEngine())) == ExitCode.ENGINE_FAILED
    assert "cannot be started: [Errno 13] Permission denied: '/var/log/engine.log'" in capsys.readouterr().err


def test_a_folder_that_vanishes_meanwhile_costs_the_file_not_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=r"a\.json: cannot be written: there is no folder"):
        bench(BenchOptions(TWO, 1, tmp_path / "gone" / "a.json"), Connected(FakeEngine()))
    assert "tokens/s" in capsys.readouterr().out


def test_everything_can_be_recorded_for_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl.gz"
    options = BenchOptions(TWO, 1, tmp_path / "a.json", RecordOptions(path))
    assert bench(options, Connected(FakeEngine())) == ExitCode.DONE
    with RecordingReader(path) as reader:
        tokens = [t for event in reader if isinstance(event, TokenBatch) for t in event.tokens]
        assert reader.ending.reason == "stopped"
    walls = {token.wall_ns for token in tokens}
    runs = [run for arm in result_in(tmp_path / "a.json").arms for run in arm.runs]
    assert walls.issuperset(wall for run in runs for wall in run.tokens.wall_ns)
    assert re.search(rf"idlegap: recorded \d+ events, \d+ KB, into {path}\n", capsys.readouterr().err)


def test_a_recording_that_exists_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("mine")
    with pytest.raises(UsageError, match=r"--record .*exists already"):
        bench(BenchOptions(TWO, 1, record=RecordOptions(path)), never)
    assert path.read_text() == "mine"


def test_a_recording_ends_at_its_limit_and_the_bench_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, limit = tmp_path / "a.jsonl", 300_000
    options = BenchOptions(TWO, 100, tmp_path / "a.json", RecordOptions(path, limit))
    assert bench(options, Connected(FakeEngine())) == ExitCode.DONE
    assert [len(arm.counted) for arm in result_in(tmp_path / "a.json").arms] == [100, 100]
    assert path.stat().st_size <= limit
    with RecordingReader(path) as reader:
        list(reader)
        assert reader.ending.reason == "size limit"
    assert f"into {path}; it ended at its size limit\n" in capsys.readouterr().err


def test_a_port_that_is_taken_is_told_before_anything_is_started(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()[:2]
        with pytest.raises(UsageError, match=rf"--metrics 127\.0\.0\.1:{address[1]}: .*choose another port"):
            bench(BenchOptions(TWO, 1, record=RecordOptions(path), metrics=address), never)
    assert not path.exists()


@pytest.mark.parametrize("verb", ["bench", "check"])
@pytest.mark.parametrize("name", ["a.json", "./folder/../a.json", "link.json"])
def test_a_document_and_a_recording_of_one_name_are_refused(
    verb: str,
    name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.json").symlink_to("a.json")
    assert cli.main([verb, "--json", name, "--record", str(tmp_path / "a.json")]) == ExitCode.USAGE
    assert capsys.readouterr() == ("", f"idlegap: --json {Path(name)}: that is the file of --record\n")
    assert not (tmp_path / "a.json").exists()


def test_what_an_engine_says_is_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    ready = replace_struct(READY, device_name="\x1b[2JH200", model="\x1b]0;owned\x07")
    bench(BenchOptions(TWO, 1), Connected(FakeEngine(ready=ready, notices=("\x1b[31mred",))))
    out, err = capsys.readouterr()
    assert "?[2JH200" in out
    assert "?[31mred" in err.splitlines()
    assert (out + err).replace("\n", "").isprintable()


def test_the_options_reach_the_plan(tmp_path: Path) -> None:
    line = (
        f"bench --modes eager,eager --runs 7 --json {tmp_path}/a.json --record {tmp_path}/a.jsonl "
        "--record-max 2M --metrics 9464"
    )
    assert options_from(cli.parse(line.split())) == BenchOptions(
        Settings(modes=("eager", "eager")),
        7,
        tmp_path / "a.json",
        RecordOptions(tmp_path / "a.jsonl", 2_000_000),
        ("127.0.0.1", 9464),
    )
    assert options_from(cli.parse(["bench", "--json", "-"])) == BenchOptions(Settings(), 5, STDOUT)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("--runs 0", ["--runs 0", "at least 1"]),
        ("--runs many", ["--runs", "many"]),
        ("--runs 99999999999999999999", ["--runs 9999", "at most 1,000,000"]),
        ("--mode graph", ["--mode graph"]),
        ("--modes eager,turbo", ["--modes eager,turbo", "fused-graph"]),
        ("--json /nowhere/a.json", ["--json /nowhere/a.json", "no folder /nowhere"]),
        ("--json /", ["--json /", "it is a folder"]),
        ("--json=", ["--json ''", "names no file"]),
        (f"--json {'x' * 300}", ["--json xxx", "File name too long"]),
        ("--pin one", ["--pin", "one"]),
        ("--pin -1", ["--pin -1", "from 0"]),
        ("--pin 99999", ["--pin 99999", "cores that this process may use"]),
        ("--nice 20", ["--nice 20", "-20 to 19"]),
        ("--nice -21", ["--nice -21"]),
        ("--nice high", ["--nice", "high"]),
    ],
)
def test_what_cannot_work_is_one_clear_line(
    line: str, named: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", *line.split()]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("idlegap: ")
    assert err.count("\n") == 1
    for name in named:
        assert name in err


REAL = "bench --model synthetic:tiny --device cpu --modes eager-static --prompt-tokens 8 --new-tokens 8"


def start_real(*more: str) -> "subprocess.Popen[str]":
    """A bench of more runs than anyone waits for."""
    return subprocess.Popen(
        [sys.executable, "-m", "idlegap", *REAL.split(), "--runs", "100000", "--json", "-", *more],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def terminate(process: "subprocess.Popen[str]") -> BenchResult:
    """Ask it to end; the result that it leaves."""
    assert process.stdout is not None
    assert process.stderr is not None
    process.terminate()
    out = process.stdout.read()
    process.stderr.read()
    assert process.wait() == 143
    result = decode(out.encode(), "stdout")
    assert isinstance(result, BenchResult)
    return result


@pytest.mark.needs_torch
def test_a_real_bench_that_still_imports_torch_is_stopped_with_a_word() -> None:
    with start_real() as process:
        assert process.stderr is not None
        assert next(line for line in process.stderr if "importing" in line)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err == "stopping the engine\nidlegap: interrupted before anything was measured\n"


@pytest.mark.needs_torch
def test_a_real_bench_is_scraped_while_it_runs_and_when_terminated_leaves_one_readable_document() -> None:
    with start_real("--metrics", "0", "--spec-bandwidth", "50") as process:
        assert process.stderr is not None
        told = re.fullmatch(r"idlegap: metrics are served at (http://127\.0\.0\.1:(\d+)/metrics)\n",
                            process.stderr.readline())  # fmt: skip
        assert told is not None
        loading = scrape(told[1])
        assert next(line for line in process.stderr if "run 3 of" in line)
        counted = scrape(told[1])[COUNT]
        # A snapshot is up to a second old, so the first one with these may be still to come.
        while not {RATE, ENGINE_CORES} <= (found := scrape(told[1])).keys():
            assert process.poll() is None
        result = terminate(process)
    assert (result.complete, result.reason) == (False, "interrupted")
    assert len(result.arms[0].counted) >= 2
    assert not {name for name in loading if "token_wall" in name}
    # Two runs of 8 tokens that count, but for those right after a change of mode.
    assert counted >= 10
    assert found[COUNT] >= counted
    assert found['idlegap_mode_active{mode="eager-static"}'] == 1
    assert found["idlegap_engine_up"] == 1
    assert found['idlegap_memory_bytes_per_second{bandwidth="specified"}'] == 50e9
    assert any(name.startswith("idlegap_engine_info") and "synthetic:tiny" in name for name in found)
    assert found[RATE] > 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(told[2])), timeout=20)


RATE, ENGINE_CORES = "idlegap_tokens_per_second", 'idlegap_cpu_cores{user="engine"}'
COUNT = 'idlegap_token_wall_seconds_count{mode="eager-static"}'


def scrape(url: str) -> dict[str, float]:
    """Values by name with labels."""
    with urllib.request.urlopen(url, timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}
