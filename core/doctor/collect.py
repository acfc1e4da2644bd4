"""Asks the machine: what is installed, what the sensors read, what an engine can do."""

import os
import re
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from idlegap.core.bench.driver import Driver, EngineEndedError, InterruptedBenchError
from idlegap.core.protocol import events
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.protocol.settings import SYNTHETIC_TINY, Settings
from idlegap.core.sensors.thread import ThreadCounters
from idlegap.core.session.facts import Facts
from idlegap.core.session.session import Sensors
from idlegap.core.system.locations import Folder, cache_dir, log_dir

LISTEN_S = 1.5
"""Rates and GPM need two samples, and NVML a moment to start."""

ENGINE_TIMEOUT_S = 180.0
"""Importing torch from a cold network disk can take a minute."""

PACKAGES = ("torch", "transformers", "triton", "nvidia-ml-py", "psutil", "textual")
MODULES = {"nvidia-ml-py": "pynvml"}
_ABSENT: dict[str, str] = {"nvidia-ml-py": "no-bindings", "triton": "no-triton"}
"""Packages that something other than an installation of idlegap brings."""

CUDA, COMPILER = "CUDA in torch", "C compiler"
"""Names of what is no package."""

COMPILERS = ("cc", "gcc", "clang")

_CUDA_LINE = re.compile(r"^cuda\b[^=]*=\s*(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Software:
    """Versions of what is installed; `missing` names the rest with its reason."""

    versions: dict[str, str] = field(default_factory=dict)
    cuda: str | None = None
    missing: dict[str, Reason] = field(default_factory=dict)


@dataclass(slots=True)
class SensorReadings:
    """What the sensors said last; `run_delay_reason` says why a thread's run delay is n/a."""

    facts: Facts = field(default_factory=Facts)
    run_delay_reason: Reason | None = None


@dataclass(slots=True)
class EngineAnswer:
    """How far an engine got; `reason` says why no further."""

    ready: events.EngineReady | None = None
    bandwidth: events.Bandwidth | None = None
    window: events.ProfileWindow | None = None
    probe: events.DispatchProbe | None = None
    reason: Reason | None = None


def doctor_settings() -> Settings:
    """An engine that is up as soon as torch is: a tiny model, short rounds, nothing unasked."""
    return Settings(model=SYNTHETIC_TINY, prompt_tokens=16, new_tokens=32, profile_every_ns=None)


def read_software(find: Callable[[str], object | None] = find_spec) -> Software:
    """What is installed, found without importing any of it."""
    versions: dict[str, str] = {}
    missing: dict[str, Reason] = {}
    for package in PACKAGES:
        try:
            spec = find(MODULES.get(package, package))
        except (ImportError, ValueError):
            spec = None
        if spec is None:
            known = _ABSENT.get(package)
            missing[package] = because(known) if known else because("not-installed", package=package)
            continue
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "of unknown version"
    cuda = _torch_cuda(find) if "torch" in versions else None
    if cuda is None and "torch" in versions:
        missing[CUDA] = because("torch-without-cuda", version=versions["torch"])
    if not any(shutil.which(name) for name in COMPILERS):
        missing[COMPILER] = because("no-compiler")
    return Software(versions, cuda, missing)


def read_folders() -> dict[str, Folder]:
    """Where an engine's files go, by what they are; the folders are made if need be."""
    return {"engine logs": log_dir(), "compiled kernels": cache_dir()}


def _torch_cuda(find: Callable[[str], object | None]) -> str | None:
    """The CUDA version that torch was built for, from its version file; None for a CPU build."""
    for folder in getattr(find("torch"), "submodule_search_locations", None) or ():
        try:
            text = (Path(folder) / "version.py").read_text(errors="replace")
        except OSError:
            continue
        found = _CUDA_LINE.search(text)
        if found is not None and found[1].strip() != "None":
            return found[1].strip().strip("'\"")
    return None


def read_sensors(
    sensors: Sensors,
    heard: "deque[events.SensorEvent]",
    device_uuid: str | None,
    pause: Callable[[float], None] = time.sleep,
) -> SensorReadings:
    """Let `sensors`, which append to `heard`, run for a moment, and keep their last events.

    `device_uuid` names the GPU, if an engine has told it. This process stands in for the
    engine's: what can be read of one can be read of the other.
    """
    sensors.start()
    sensors.watch_engine(os.getpid(), threading.get_native_id(), device_uuid)
    pause(LISTEN_S)
    sensors.stop()
    thread = ThreadCounters()
    readings = SensorReadings(run_delay_reason=thread.run_delay_reason)
    thread.close()
    while heard:
        readings.facts.apply(heard.popleft())
    return readings


def ask_engine(driver: Driver) -> EngineAnswer:
    """Start an engine, take one measurement of each kind, and end it.

    Bounding the time (ENGINE_TIMEOUT_S) is the driver's part: its `stopped` says when it is over.
    """
    answer = EngineAnswer()
    try:
        answer.ready = driver.start()
        answer.bandwidth = driver.state.facts.newest(events.Bandwidth)
        windows = driver.profile(1)
        answer.window = windows[-1] if windows else None
        answer.probe = driver.probe()
    except EngineEndedError as error:
        answer.reason = because("engine-ended", message=error.failed.reason, hint=error.failed.hint)
    except InterruptedBenchError:
        answer.reason = because("engine-silent")
    finally:
        driver.close()
    return answer
