"""The engine in a process of its own, for real: it decodes, obeys, dies and is explained."""

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from idlegap.core.protocol.commands import SetMode
from idlegap.core.protocol.events import (
    EngineFailed,
    EngineReady,
    EngineStage,
    ModeEntered,
    Notice,
    TokenBatch,
)
from idlegap.core.protocol.reasons import because
from idlegap.core.protocol.settings import Settings
from idlegap.core.sources.engine_log import EngineLog
from idlegap.core.sources.engine_process import EngineProcess, describe_exit
from idlegap.core.sources.in_process import InProcessEngine
from idlegap.core.system.locations import Folder
from idlegap.core.text.reasons import words

SETTINGS = Settings(device="cpu", prompt_tokens=8, new_tokens=16)
DEADLINE_S = 60


def wait_for(source, wanted, seen=None):
    """Poll until an event satisfies `wanted`; fails after the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        for event in source.poll():
            if seen is not None:
                seen.append(event)
            if wanted(event):
                return event
        time.sleep(0.005)
    raise AssertionError("the engine did not say it in time")


@pytest.fixture
def engine(tmp_path: Path):
    source = EngineProcess(SETTINGS, EngineLog(tmp_path / "engine.log"))
    source.start()
    yield source
    source.close()


@pytest.mark.needs_torch
def test_it_decodes_changes_modes_and_ends_without_a_failure(engine):
    ready = wait_for(engine, lambda e: isinstance(e, EngineReady))
    assert ready.pid != os.getpid()
    assert ready.model == "synthetic:tiny"
    wait_for(engine, lambda e: isinstance(e, TokenBatch) and e.mode == "eager-static" and e.excluded is None)
    engine.send(SetMode("eager"))
    wait_for(engine, lambda e: isinstance(e, ModeEntered) and e.mode == "eager")
    batch = wait_for(engine, lambda e: isinstance(e, TokenBatch) and e.mode == "eager")
    # One clock for both processes: the token lies in our own recent past.
    assert 0 < time.perf_counter_ns() - batch.tokens[0].start_ns < DEADLINE_S * 1e9
    engine.close()
    assert not [e for e in engine.poll() if isinstance(e, EngineFailed)]
    assert not psutil.pid_exists(ready.pid)


@pytest.mark.needs_torch
def test_a_killed_engine_is_an_event_with_its_cause_and_can_be_restarted(engine):
    ready = wait_for(engine, lambda e: isinstance(e, EngineReady))
    os.kill(ready.pid, signal.SIGKILL)
    failed = wait_for(engine, lambda e: isinstance(e, EngineFailed))
    assert "signal 9 (SIGKILL)" in failed.reason
    assert not failed.unsupported
    assert failed.hint.startswith("if memory ran out, ")
    assert "engine.log" in failed.hint
    engine.restart()
    assert wait_for(engine, lambda e: isinstance(e, EngineReady)).pid != ready.pid


@pytest.mark.needs_torch
def test_an_impossible_request_is_said_as_such(tmp_path):
    source = EngineProcess(Settings(device="cuda:99"), EngineLog(tmp_path / "engine.log"))
    source.start()
    failed = wait_for(source, lambda e: isinstance(e, EngineFailed))
    source.close()
    assert failed.unsupported
    assert failed.reason.startswith("--device cuda:99:")
    assert not [e for e in source.poll() if isinstance(e, EngineFailed)]


def test_a_log_that_is_not_in_its_usual_place_is_told_before_anything_else(tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    reason = because("folder-unwritable", folder="/home/log", detail="Read-only file system")
    source = EngineProcess(SETTINGS, EngineLog(find=lambda: Folder(folder, reason)))
    source.start()
    seen = []
    wait_for(source, lambda e: isinstance(e, EngineStage), seen)
    source.close()
    (log,) = folder.iterdir()
    assert isinstance(seen[0], Notice)
    assert seen[0].text == f"the engine's log is {log}; /home/log cannot be written: Read-only file system"


@pytest.mark.needs_torch
def test_without_any_place_for_a_log_the_engine_starts_all_the_same(new_children):
    nowhere = because("no-folder", folder="/home/log", why="read-only", detail="full")
    source = EngineProcess(SETTINGS, EngineLog(find=lambda: Folder(None, nowhere)))
    source.start()
    seen = []
    wait_for(source, lambda e: isinstance(e, EngineStage), seen)
    (engine,) = new_children()
    engine.kill()
    failed = wait_for(source, lambda e: isinstance(e, EngineFailed))
    source.close()
    told = f"no log of the engine is kept: {words(nowhere)}"
    assert [e.text for e in seen if isinstance(e, Notice)] == [told]
    assert failed.hint.endswith(told)
    assert failed.log_tail == ()


@pytest.mark.needs_torch
def test_an_engine_that_is_still_starting_is_not_waited_for(tmp_path, new_children):
    source = EngineProcess(SETTINGS, EngineLog(tmp_path / "log"), close_timeout_s=10**6)
    source.start()
    wait_for(source, lambda e: isinstance(e, EngineStage) and e.stage == "importing")
    (engine,) = new_children()
    # However long it imports, it hears nothing meanwhile.
    engine.suspend()
    source.close()
    assert not engine.is_running()
    assert not [e for e in source.poll() if isinstance(e, EngineFailed)]


@pytest.mark.needs_torch
def test_the_engine_does_not_outlive_a_killed_app(tmp_path):
    """A stand-in for the app starts an engine, says its pid and is killed."""
    import subprocess
    import sys

    program = (
        "import time\n"
        "from pathlib import Path\n"
        "from idlegap.core.sources.engine_log import EngineLog\n"
        "from idlegap.core.protocol.events import EngineReady\n"
        "from idlegap.core.sources.engine_process import EngineProcess\n"
        "from idlegap.core.protocol.settings import Settings\n"
        f"source = EngineProcess(Settings(device='cpu'), EngineLog(Path({str(tmp_path / 'log')!r})))\n"
        "source.start()\n"
        "while True:\n"
        "    for event in source.poll():\n"
        "        if isinstance(event, EngineReady):\n"
        "            print(event.pid, flush=True)\n"
        "    time.sleep(0.01)\n"
    )
    app = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert app.stdout is not None
    try:
        engine = psutil.Process(int(app.stdout.readline()))
    finally:
        app.kill()
        app.wait()
        app.stdout.close()
    psutil.wait_procs([engine], timeout=DEADLINE_S)
    assert not engine.is_running()


@pytest.mark.needs_torch
def test_in_process_the_same_events_come_from_this_process():
    source = InProcessEngine(SETTINGS)
    source.start()
    ready = wait_for(source, lambda e: isinstance(e, EngineReady))
    wait_for(source, lambda e: isinstance(e, TokenBatch))
    source.close()
    assert ready.pid == os.getpid()


@pytest.mark.parametrize(
    ("code", "text"), [(4, "exit code 4"), (-9, "signal 9 (SIGKILL)"), (-200, "signal 200")]
)
def test_exit_codes_read_as_people_say_them(code, text):
    assert describe_exit(code) == text
