"""`check`: the card, its exit codes and its document."""

from pathlib import Path

import msgspec
import pytest

from idlegap.core.check.check import CHECK_NEW_TOKENS, CheckResult
from idlegap.core.protocol.events import DispatchProbe
from idlegap.core.protocol.settings import Settings
from idlegap.core.recording import RecordingReader
from idlegap.core.results.store import CHECK, Envelope, read
from idlegap.tui import cli
from idlegap.tui.commands.base import UsageError
from idlegap.tui.commands.check import CheckOptions, check, options_from
from idlegap.tui.commands.output import STDOUT
from idlegap.tui.commands.recording_option import RecordOptions
from idlegap.tui.exit_codes import ExitCode
from idlegap.tui.tables.check import check_text
from tests.core.bench.fake_engine import H200, READY, FakeEngine, cheaper, replace_struct
from tests.tui.commands.connecting import Connected, never, signalled

SECONDS = 60.0


def engine(eager: float = 1.0) -> FakeEngine:
    """An engine whose eager decode takes `eager` times as long as on a real H200's noisy host."""
    return FakeEngine(
        {"eager-static": cheaper(H200["eager-static"], eager), "graph": H200["graph"]},
        replace_struct(READY, new_tokens=CHECK_NEW_TOKENS),
        delay_ns=lambda random: 0,
    )


def options(json: Path | None = None) -> CheckOptions:
    return CheckOptions(Settings(new_tokens=CHECK_NEW_TOKENS), SECONDS, json)


def document(data: bytes) -> CheckResult:
    envelope = msgspec.json.decode(data, type=Envelope)
    assert envelope.kind == CHECK
    return msgspec.json.decode(envelope.result, type=CheckResult)


def test_a_good_machine_is_exit_0_and_the_card_is_that_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"
    connected = Connected(engine(eager=0.3))
    assert check(options(path), connected) == ExitCode.DONE
    out, err = capsys.readouterr()
    assert out == check_text(document(path.read_bytes()))
    assert out.startswith("idlegap check: GOOD for decoding")
    assert max(map(len, out.splitlines())) <= 80
    assert err.endswith(f"idlegap: written to {path}\n")
    assert read(path) == document(path.read_bytes()).bench
    assert connected.settings == Settings(new_tokens=CHECK_NEW_TOKENS, profile_every_ns=None)


def test_a_machine_with_a_slow_host_is_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(options(), Connected(engine(eager=3.0))) == ExitCode.NEGATIVE
    out = capsys.readouterr().out
    assert out.startswith("idlegap check: NOT GOOD for decoding")
    assert "\nBAD " in out


def test_without_a_gpu_the_card_says_so_and_it_is_exit_3(capsys: pytest.CaptureFixture[str]) -> None:
    cpu = FakeEngine(
        {"eager-static": H200["eager-static"]}, replace_struct(READY, device="cpu", device_name="CPU")
    )
    assert check(options(), Connected(cpu)) == ExitCode.UNSUPPORTED
    out, err = capsys.readouterr()
    assert out.startswith("idlegap check: NO GPU: nothing to judge")
    assert "eager-static, run 1" in err
    assert not any(word in err for word in ("bandwidth", "profiling", "probing"))


def test_its_help_tells_its_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["check", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    codes = (ExitCode.DONE, ExitCode.NEGATIVE, ExitCode.UNSUPPORTED)
    says = ("this machine is good", "it is not", "there is no GPU here to judge")
    assert ", ".join(f"{code:d} {text}" for code, text in zip(codes, says, strict=True)) in told


def test_json_to_stdout_is_one_document_and_nothing_else(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    check(options(STDOUT), Connected(engine()))
    out, _ = capsysbinary.readouterr()
    assert out.count(b"\n") == 1
    assert document(out).bench.complete


def test_no_count_of_runs_is_promised_where_time_decides(capsys: pytest.CaptureFixture[str]) -> None:
    check(options(), Connected(engine()))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "starting the engine"
    assert any(line.startswith("graph, run 2, about ") for line in lines)
    assert not any("/" in line or " of " in line for line in lines)


def test_an_interrupted_check_shows_what_it_has_and_gives_no_verdict_as_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for rounds in (1, 5):
        assert check(options(), Connected(signalled(15, rounds=rounds))) == 143
        assert "INCOMPLETE: interrupted" in capsys.readouterr().out


def test_an_engine_that_fails_is_exit_4_whatever_the_card_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(options(), Connected(FakeEngine(fail_after=5))) == ExitCode.ENGINE_FAILED
    out, err = capsys.readouterr()
    assert "INCOMPLETE: the engine failed" in out
    assert "idlegap: the engine failed: OutOfMemoryError" in err


@pytest.mark.parametrize(("limit", "reason"), [(10**9, "stopped"), (300_000, "size limit")])
def test_a_check_can_be_recorded_up_to_a_limit(
    limit: int, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    asked = CheckOptions(options().settings, SECONDS, record=RecordOptions(path, limit))
    assert check(asked, Connected(engine(eager=0.3))) == ExitCode.DONE
    with RecordingReader(path) as reader:
        kinds = {type(event) for event in reader}
        assert reader.ending.reason == reason
    assert (DispatchProbe in kinds) == (reason == "stopped")
    assert path.stat().st_size <= limit
    assert f"into {path}" in capsys.readouterr().err
    with pytest.raises(UsageError, match=r"--record .*exists already"):
        check(asked, never)


def test_the_options() -> None:
    line = "check --seconds 20 --device cuda:1 --json - --record a.jsonl --record-max 5M"
    found = options_from(cli.parse(line.split()))
    settings = Settings(device="cuda:1", new_tokens=CHECK_NEW_TOKENS)
    assert found == CheckOptions(settings, 20.0, STDOUT, RecordOptions(Path("a.jsonl"), 5_000_000))
    assert options_from(cli.parse(["check"])) == options()


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "1e+300", "soon"])
def test_seconds_that_cannot_be_are_one_clear_line(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "--seconds", seconds]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "--seconds" in err
    assert seconds in err
