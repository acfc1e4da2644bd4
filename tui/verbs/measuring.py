"""Takes a benchmark for a verb: connects to an engine, shows progress, says how it ended."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from core.bench.driver import Driver
from core.bench.plan import BenchPlan, engine_settings
from core.bench.runner import Bench, BenchOutcome
from core.events import AnyEvent, EngineFailed, EngineStage, Notice, SensorEvent
from core.link import EngineProcess
from core.recording import Recorder, RecordingError
from core.sensors.sampler import Sampler
from core.session import Listener
from core.settings import Settings
from tui.exit_codes import ExitCode
from tui.verbs.base import UsageError
from tui.verbs.output import say
from tui.verbs.progress import progress_on
from tui.verbs.stopping import StopSignals

Connect = Callable[
    [Settings, Sequence[Listener], Callable[[], bool], Callable[[EngineStage], None]],
    Driver,
]
"""Makes a driver for an engine with these settings: listeners, when to stop, whom to tell of stages."""


def connect(
    settings: Settings,
    listeners: Sequence[Listener],
    stopped: Callable[[], bool],
    on_stage: Callable[[EngineStage], None],
) -> Driver:
    """A driver of an engine process, with this machine's sensors beside it."""
    heard: deque[SensorEvent] = deque()
    return Driver(
        EngineProcess(settings),
        sensors=Sampler(heard.append),
        sensor_events=heard,
        listeners=listeners,
        stopped=stopped,
        on_stage=on_stage,
    )


def take(
    settings: Settings, plan: BenchPlan, connect: Connect, stop: StopSignals, record: Path | None = None
) -> BenchOutcome:
    """Carry out `plan`; however it ends, the engine is gone and its failure, if any, told on stderr.

    Raises:
        UsageError: there can be no recording in `record`.
    """
    recorder = _recorder(settings, record)
    with progress_on() as shown:

        def listen(event: AnyEvent) -> None:
            if isinstance(event, Notice):
                shown.say(event.text)

        driver = connect(engine_settings(settings), [listen, recorder], stop, shown.stage)
        try:
            outcome = Bench(
                driver,
                plan,
                report=shown.report,
                spec_bandwidth=settings.spec_bandwidth,
                pin_core=settings.pin_core,
                nice=settings.nice,
            ).run()
        except OSError as error:
            outcome = BenchOutcome(None, EngineFailed(time.perf_counter_ns(), f"cannot be started: {error}"))
        finally:
            driver.close()
            status = recorder.stop()
    if status is not None:
        say(f"{status.path}: {status.error}" if status.error else f"recorded in {status.path}")
    _explain(outcome)
    return outcome


def exit_code(outcome: BenchOutcome, stop: StopSignals) -> int:
    """How the run ended; DONE where it took all that was planned."""
    if outcome.interrupted:
        return stop.code
    if outcome.failed is not None:
        return ExitCode.UNSUPPORTED if outcome.failed.unsupported else ExitCode.ENGINE_FAILED
    return ExitCode.DONE


def _recorder(settings: Settings, path: Path | None) -> Recorder:
    recorder = Recorder(spec_bytes_per_s=settings.spec_bandwidth)
    if path is not None:
        try:
            recorder.start(path)
        except RecordingError as error:
            raise UsageError(f"--record {error}") from error
    return recorder


def _explain(outcome: BenchOutcome) -> None:
    failed = outcome.failed
    if failed is not None:
        what = "not possible here" if failed.unsupported else "the engine failed"
        say("\n  ".join(filter(None, (f"{what}: {failed.reason}", failed.hint, *failed.log_tail))))
    if outcome.result is None and outcome.interrupted:
        say("interrupted before anything was measured")
