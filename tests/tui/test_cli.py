"""The command line: its contract, its errors, and what it must not import."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from idlegap.core.protocol.settings import DEFAULT_NEW_TOKENS, DEFAULT_PROMPT_TOKENS, Settings
from idlegap.core.recording import RecordingReader
from idlegap.tui import cli
from idlegap.tui.commands.live import LiveOptions, options_from, recorder_for
from idlegap.tui.commands.recording_option import RecordOptions
from idlegap.tui.exit_codes import ExitCode, signal_code
from tests.paths import ROOT


def live_options(line: list[str]) -> LiveOptions:
    return options_from(cli.parse(line))


CORE = max(os.sched_getaffinity(0))


def python(code: str, *arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments, "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("verb", [[], ["live"]])
def test_the_verb_may_be_left_out(verb: list[str]) -> None:
    options = live_options([*verb, "--model", "some/model", "--fps", "10", "--in-process", "--no-nvml"])
    assert options.settings == Settings(model="some/model")
    assert (options.fps, options.in_process, options.nvml) == (10, True, False)


def test_nothing_given_means_the_defaults_of_the_settings() -> None:
    options = live_options([])
    assert options.settings == Settings()
    assert (options.fps, options.in_process, options.nvml) == (4, False, True)
    assert (options.record, options.metrics) == (RecordOptions(None, 10**9), None)
    assert options.neighbour_core is None


def test_what_is_passed_on() -> None:
    core = min(os.sched_getaffinity(0))
    options = live_options(
        f"--record run.jsonl.gz --record-max 1.5GB --metrics [::1]:9464 --neighbour-core {core}".split()
    )
    assert options.record == RecordOptions(Path("run.jsonl.gz"), 1_500_000_000)
    assert options.metrics == ("::1", 9464)
    assert options.neighbour_core == core
    # A recording that a key starts has a limit too.
    assert live_options(["--record-max", "5M"]).record == RecordOptions(None, 5_000_000)


def test_every_setting_has_an_option() -> None:
    line = (
        "--model m --device cuda:1 --mode graph --modes eager,graph --prompt-tokens 64 --new-tokens 32 "
        f"--max-cache-len 128 --batch 2 --spec-bandwidth 4800 --pin {CORE} --nice -5 --wait block"
    )
    assert live_options(line.split()).settings == Settings(
        model="m",
        device="cuda:1",
        mode="graph",
        modes=("eager", "graph"),
        prompt_tokens=64,
        new_tokens=32,
        max_cache_len=128,
        batch=2,
        spec_bandwidth=4.8e12,
        pin_core=CORE,
        nice=-5,
        wait="block",
    )


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("nonsense", ["nonsense", "live"]),
        ("--mode turbo", ["--mode", "turbo", "fused-graph"]),
        ("--modes eager,turbo", ["--modes eager,turbo", "fused-graph"]),
        ("--modes ,", ["--modes ,"]),
        ("--mode graph --modes eager", ["--mode graph", "--modes eager"]),
        ("--device tpu", ["--device tpu", "cuda:N"]),
        ("--model synthetic:huge", ["synthetic:huge", "synthetic:tiny"]),
        ("--prompt-tokens many", ["--prompt-tokens", "many"]),
        ("--prompt-tokens 0", ["--prompt-tokens 0", "from 1"]),
        ("--new-tokens -5", ["--new-tokens"]),
        ("--max-cache-len 10", ["--max-cache-len 10", "767"]),
        ("--batch 0", ["--batch 0"]),
        ("--spec-bandwidth -1", ["--spec-bandwidth -1", "GB/s"]),
        ("--spec-bandwidth nan", ["--spec-bandwidth nan"]),
        ("--spec-bandwidth inf", ["--spec-bandwidth inf"]),
        ("--spec-bandwidth 1e-10", ["--spec-bandwidth 1e-10", "from 1 to 1,000,000, in GB/s"]),
        ("--spec-bandwidth 1e7", ["--spec-bandwidth 1e+07"]),
        ("--batch 5000", ["--batch 5000", "to 4,096"]),
        ("--batch 99999999999999999999", ["--batch 99999999999999999999", "to 4,096"]),
        ("--prompt-tokens 10000001", ["--prompt-tokens 10000001", "to 10,000,000"]),
        ("--new-tokens 99999999999999999999", ["--new-tokens", "to 10,000,000"]),
        ("--max-cache-len 99999999999999999999", ["--max-cache-len", "to 20,000,000"]),
        ("--device cuda:99999999999999999999", ["--device cuda:9999", "cuda:N"]),
        ("--model nope\udcff", ["--model 'nope\\udcff'", "UTF-8"]),
        ("--pin -1", ["--pin -1", "from 0"]),
        ("--pin 99999", ["--pin 99999", "cores that this process may use"]),
        ("--nice 20", ["--nice 20", "-20 to 19"]),
        ("--fps 0", ["--fps 0", "1 to 10"]),
        ("--fps 11", ["--fps 11"]),
        ("--fp 3", ["--fp"]),
        ("--metrics 70000", ["--metrics 70000", "65535"]),
        ("--metrics :9464", ["--metrics :9464", "0.0.0.0"]),
        ("--record-max little", ["--record-max little", "500M"]),
        ("--record=", ["--record ''", "names no file"]),
        ("--record -", ["--record -", "names no file"]),
        ("--model=", ["--model ''", "names no model"]),
        ("--record-max 100K", ["--record-max 100K", "262,144"]),
        (f"--record-max {'9' * 400}G", ["--record-max 999", "more than any disk holds"]),
        ("--neighbour-core 99999", ["--neighbour-core 99999", "may use"]),
        ("bench --metrics 70000", ["--metrics 70000", "65535"]),
        ("bench --record-max little", ["--record-max little", "500M"]),
        ("check --record-max 100K", ["--record-max 100K", "262,144"]),
        ("bench --record-max 1G", ["--record-max 1G", "without --record FILE"]),
        ("check --record-max 5M", ["--record-max 5M", "without --record FILE"]),
        ("check --metrics 9464", ["--metrics"]),
        ("--colour", ["--colour", "(see idlegap live --help)"]),
        ("live --colour red", ["--colour red", "(see idlegap live --help)"]),
        ("compare a.json --colour", ["--colour", "(see idlegap compare --help)"]),
    ],
)
def test_what_cannot_work_is_one_clear_line(
    line: str, named: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(line.split()) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("idlegap: ")
    assert err.count("\n") == 1
    for name in named:
        assert name in err


@pytest.mark.parametrize("gigabytes_per_s", ["1", "4800", "1000000"])
def test_a_bandwidth_that_is_taken_can_be_read_back(gigabytes_per_s: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    recorder = recorder_for(live_options(["--spec-bandwidth", gigabytes_per_s]))
    recorder.start(path)
    recorder.stop()
    with RecordingReader(path) as reader:
        assert reader.header.spec_bytes_per_s == float(gigabytes_per_s) * 1e9


def test_without_a_terminal_it_exits_2_with_a_hint_that_works() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "idlegap"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr == (
        "idlegap: stdin is not a terminal, and the live screen needs one; over ssh, add the option -t; "
        "idlegap bench works without one\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        *([verb, "--help"] for verb in cli.VERBS),
        ["--version"],
        ["--mode", "turbo"],
    ],
)
def test_a_look_at_the_options_imports_nothing_heavy(arguments: list[str]) -> None:
    run = python(
        "import sys\n"
        "from idlegap.tui.cli import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit: pass\n"
        "heavy = ('torch', 'transformers', 'textual', 'rich', 'msgspec', 'psutil')\n"
        "print([module for module in heavy if module in sys.modules])"
    )
    assert run.returncode == 0
    assert run.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("verb", [*cli.VERBS, ""])
def test_no_verb_is_imported_but_the_one_that_is_asked_for(verb: str) -> None:
    run = python(
        "import sys\n"
        "from idlegap.tui.cli import VERBS, main\n"
        f"try: main([*{verb.split()!r}, '--no-such-option'])\n"
        "except SystemExit: pass\n"
        "print([verb for verb in VERBS if f'idlegap.tui.commands.{verb}' in sys.modules])"
    )
    assert run.stdout == f"[{verb or 'live'!r}]\n"


def test_what_is_no_verb_is_told_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["decode"]) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert all(verb in said for verb in cli.VERBS)


def test_the_live_screen_imports_no_torch() -> None:
    run = python(
        "import sys\n"
        "import idlegap.tui.apps.run\n"
        "from idlegap.tui.cli import parse\n"
        "from idlegap.tui.commands.live import build_run, join, options_from, recorder_for\n"
        "options = options_from(parse([]))\n"
        "build_run(options)\n"
        "join(options, recorder_for(options))\n"
        "print([m for m in ('torch', 'transformers', 'pynvml') if m in sys.modules])"
    )
    assert (run.stdout, run.stderr) == ("[]\n", "")


def test_help_tells_the_true_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["live", "--help"])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    assert f"(default {DEFAULT_PROMPT_TOKENS})" in shown
    assert f"(default {DEFAULT_NEW_TOKENS})" in shown


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("idlegap ")


def test_exit_codes_are_a_contract() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "DONE": 0,
        "NEGATIVE": 1,
        "USAGE": 2,
        "UNSUPPORTED": 3,
        "ENGINE_FAILED": 4,
        "INTERRUPTED": 130,
    }
    assert signal_code(15) == 143
