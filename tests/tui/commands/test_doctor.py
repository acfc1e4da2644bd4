"""`doctor`: never crashes, imports no torch, and says by its exit code whether a GPU can decode."""

import subprocess
import sys
from collections import deque
from pathlib import Path

import msgspec
import pytest

from idlegap.core.doctor.diagnosis import Diagnosis, Finding
from idlegap.core.protocol.events import HostInfo, SensorEvent
from idlegap.core.results.store import Envelope
from idlegap.tui.commands.doctor import DIAGNOSIS, doctor
from idlegap.tui.commands.output import STDOUT
from idlegap.tui.exit_codes import ExitCode
from idlegap.tui.tables.doctor import doctor_text
from tests.core.bench.fake_engine import READY, FakeEngine, replace_struct
from tests.core.bench.results import HOST
from tests.paths import ROOT
from tests.tui.commands.connecting import Connected, UnableEngine, UnstartableEngine, signalled


class FakeSensors:
    """Says one thing of the host as soon as it is started."""

    def __init__(self, heard: "deque[SensorEvent]", said: HostInfo = HOST) -> None:
        self._heard, self._said = heard, said
        self.watched: str | None = None

    def start(self) -> None:
        self._heard.append(self._said)

    def watch_engine(self, pid: int, tid: int, device_uuid: str | None) -> None:
        self.watched = device_uuid

    def stop(self) -> None:
        pass


class BrokenSensors(FakeSensors):
    def start(self) -> None:
        raise RuntimeError("/proc is not what it was")


def ask(engine: FakeEngine, target: Path | None = None, sensors: type[FakeSensors] = FakeSensors) -> int:
    return doctor(target, Connected(engine), sensors, pause=lambda seconds: None)


def document(data: bytes) -> Diagnosis:
    envelope = msgspec.json.decode(data, type=Envelope)
    assert envelope.kind == DIAGNOSIS
    return msgspec.json.decode(envelope.result, type=Diagnosis)


def finding(diagnosis: Diagnosis, name: str) -> Finding:
    (found,) = [f for section in diagnosis.sections for f in section.findings if f.name == name]
    return found


def test_a_gpu_that_can_decode_is_exit_0_and_the_text_is_that_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"
    engine = FakeEngine()
    assert ask(engine, path) == ExitCode.DONE
    out, err = capsys.readouterr()
    found = document(path.read_bytes())
    assert out == doctor_text(found)
    assert out.isascii()
    assert found.gpu_decode
    assert finding(found, "cost of a launch").text == "2.60 us"
    assert finding(found, "processor").text == HOST.cpu_model
    assert err.endswith(f"idlegap: written to {path}\n")
    assert engine.closed


@pytest.mark.needs_torch
@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        (FakeEngine(ready=replace_struct(READY, device="cpu", device_name="CPU")), ""),
        (UnableEngine(), "--device cuda: torch finds no usable GPU"),
        (UnstartableEngine(), "cannot be started: [Errno 13] Permission denied: '/var/log/engine.log'"),
        (FakeEngine(silent=True), "the engine has said nothing for 900 s"),
    ],
)
def test_whatever_the_engine_does_is_a_finding_and_exit_3(
    engine: FakeEngine, reason: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert ask(engine, STDOUT) == ExitCode.UNSUPPORTED
    out, _ = capsysbinary.readouterr()
    found = document(out)
    assert not found.gpu_decode
    assert found.reason
    if reason:
        assert finding(found, "token times").text == reason
        assert finding(found, "graph").text == reason


def test_broken_sensors_are_a_finding_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(FakeEngine(), sensors=BrokenSensors) == ExitCode.DONE
    assert "RuntimeError: /proc is not what it was" in capsys.readouterr().out


def test_interrupted_it_prints_nothing_and_exits_with_the_signal(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(signalled(15, rounds=0)) == 143
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("idlegap: interrupted\n")


@pytest.mark.needs_torch
def test_on_this_very_machine_it_prints_one_document_and_imports_no_torch() -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys\n"
            "from idlegap.tui.cli import main\n"
            "code = main(['doctor', '--json', '-'])\n"
            "assert not {'torch', 'transformers', 'textual'} & set(sys.modules)\n"
            "sys.exit(code)",
        ],
        cwd=ROOT,
        capture_output=True,
        timeout=110,
    )
    found = document(run.stdout)
    assert run.returncode == (0 if found.gpu_decode else 3)
    assert finding(found, "usable cores").available
    assert Path(finding(found, "engine logs").text.partition(";")[0]).is_dir()
    assert finding(found, "eager").available
