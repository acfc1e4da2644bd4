"""The verb `doctor`: what can be measured here, what cannot, why, and what would change that."""

import argparse
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from idlegap.tui.commands.output import add_json, check_stdout, deliver, say, target_file
from idlegap.tui.exit_codes import ExitCode

if TYPE_CHECKING:
    from idlegap.core.doctor.collect import EngineAnswer
    from idlegap.core.protocol.events import SensorEvent
    from idlegap.core.protocol.reasons import Reason
    from idlegap.core.session.session import Sensors
    from idlegap.tui.commands.measuring import Connect

HELP = "list every reading and mode: available here or not, why, and what would help"
DIAGNOSIS = "idlegap-doctor"
"""The kind of its JSON document."""

T = TypeVar("T")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `doctor`."""
    add_json(parser, "the findings")


def run(arguments: argparse.Namespace) -> int:
    """Ask this machine and print what it said; 0 if decoding on a GPU is possible, else 3.

    Raises:
        UsageError: the findings cannot be written where they were asked for.
    """
    target = target_file("--json", arguments.json)
    check_stdout(target)
    from idlegap.core.sensors.sampler import Sampler
    from idlegap.tui.commands.measuring import connect

    return doctor(target, connect, lambda heard: Sampler(heard.append))


def doctor(
    target: Path | None,
    connect: "Connect",
    sensors: "Callable[[deque[SensorEvent]], Sensors]",
    pause: Callable[[float], None] = time.sleep,
) -> int:
    """`run` over the engine that `connect` gives and over `sensors`, which get a `pause` to read.

    Whatever fails on the way is a finding, never the end: this verb is what people turn to on a
    machine where nothing works.
    """
    from idlegap.core.doctor.collect import (
        EngineAnswer,
        SensorReadings,
        Software,
        read_folders,
        read_sensors,
        read_software,
    )
    from idlegap.core.doctor.diagnosis import diagnose
    from idlegap.tui.commands.signals import StopSignals
    from idlegap.tui.tables.doctor import doctor_text

    with StopSignals() as stop:
        say("asking an engine what it can do here; importing torch takes a while")
        answer = guarded(lambda: _answer(connect, stop), lambda why: EngineAnswer(reason=why))
        if stop():
            say("interrupted")
            return stop.code
        heard: deque[SensorEvent] = deque()
        uuid = answer.ready.device_uuid if answer.ready is not None else None
        readings = guarded(
            lambda: read_sensors(sensors(heard), heard, uuid, pause),
            lambda why: SensorReadings(run_delay_reason=why),
        )
        software = guarded(read_software, lambda why: Software(missing={"torch": why}))
        if stop():
            say("interrupted")
            return stop.code
        found = diagnose(software, readings, answer, read_folders())
        deliver(DIAGNOSIS, found, doctor_text(found), target)
    return ExitCode.DONE if found.gpu_decode else ExitCode.UNSUPPORTED


def _answer(connect: "Connect", stop: Callable[[], bool]) -> "EngineAnswer":
    from idlegap.core.doctor.collect import ENGINE_TIMEOUT_S, ask_engine, doctor_settings

    until = time.monotonic() + ENGINE_TIMEOUT_S
    return ask_engine(
        connect(doctor_settings(), [], lambda: stop() or time.monotonic() > until, lambda stage: None)
    )


def guarded(ask: Callable[[], T], otherwise: Callable[["Reason"], T]) -> T:
    """The answer of `ask`, or if it fails what `otherwise` makes of the reason."""
    from idlegap.core.protocol.reasons import because

    try:
        return ask()
    # On a broken machine anything may be raised, and each of it is an answer.
    except Exception as error:  # noqa: BLE001
        return otherwise(because("question-failed", error=f"{type(error).__name__}: {error}".splitlines()[0]))
