"""Takes a benchmark for a verb: connects to an engine, shows progress, says how it ended."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from idlegap.core.bench.driver import Driver
from idlegap.core.bench.plan import BenchPlan, engine_settings
from idlegap.core.bench.runner import Bench, BenchOutcome
from idlegap.core.protocol.events import AnyEvent, EngineReady, EngineStage, Notice, SensorEvent
from idlegap.core.protocol.settings import Settings
from idlegap.core.recording import Recorder, RecordingError
from idlegap.core.sensors.sampler import Sampler
from idlegap.core.session.session import Listener
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.sources.engine_process import EngineProcess
from idlegap.tui.commands.base import UsageError
from idlegap.tui.commands.metrics_option import Address, listener_for, serving
from idlegap.tui.commands.output import say
from idlegap.tui.commands.progress import progress_on
from idlegap.tui.commands.recording_option import RecordOptions
from idlegap.tui.commands.signals import StopSignals
from idlegap.tui.exit_codes import ExitCode

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
        spec_bytes_per_s=settings.spec_bandwidth,
    )


def take(
    settings: Settings,
    plan: BenchPlan,
    connect: Connect,
    stop: StopSignals,
    record: RecordOptions,
    metrics: Address | None = None,
) -> BenchOutcome:
    """Carry out `plan`; however it ends, the engine is gone and its failure, if any, told on stderr.

    Raises:
        UsageError: nothing can be recorded or served where that was asked for; then no engine
            was started.
    """
    recorder = Recorder(spec_bytes_per_s=settings.spec_bandwidth)
    served = listener_for(metrics)
    # Written by this thread, read by the server's: of one entry, which an append replaces.
    shown: deque[Snapshot] = deque(maxlen=1)
    with serving(metrics, served, lambda: shown[-1] if shown else None) as url, _recording(recorder, record):
        listeners: list[Listener] = [recorder]
        if served is not None:
            listeners.append(served)
            say(f"metrics are served at {url}")
        outcome = _measure(settings, plan, connect, stop, listeners, shown.append if served else None)
    _explain(outcome)
    return outcome


def exit_code(outcome: BenchOutcome, stop: StopSignals) -> int:
    """How the run ended; DONE where it took all that was planned."""
    if outcome.interrupted:
        return stop.code
    if outcome.failed is not None:
        return ExitCode.UNSUPPORTED if outcome.failed.unsupported else ExitCode.ENGINE_FAILED
    return ExitCode.DONE


def _measure(
    settings: Settings,
    plan: BenchPlan,
    connect: Connect,
    stop: StopSignals,
    listeners: Sequence[Listener],
    show: Callable[[Snapshot], None] | None,
) -> BenchOutcome:
    with progress_on() as shown:
        on_cpu = False

        def listen(event: AnyEvent) -> None:
            nonlocal on_cpu
            if isinstance(event, Notice):
                shown.say(event.text)
            elif isinstance(event, EngineReady):
                on_cpu = event.device == "cpu"

        def tell(stage: EngineStage) -> None:
            # Without a GPU the engine passes through this stage too, and measures nothing.
            if not (on_cpu and stage.stage == "bandwidth"):
                shown.stage(stage)

        driver = connect(engine_settings(settings), [listen, *listeners], stop, tell)
        if show is not None:
            driver.watch(show)
        try:
            return Bench(
                driver,
                plan,
                report=shown.report,
                spec_bandwidth=settings.spec_bandwidth,
                pin_core=settings.pin_core,
                nice=settings.nice,
            ).run()
        finally:
            if stop():
                # A mode that compiles keeps its engine from hearing of it for seconds.
                shown.say("stopping the engine")
            driver.close()


@contextmanager
def _recording(recorder: Recorder, asked: RecordOptions) -> Iterator[None]:
    """Record meanwhile, if that was asked for, and say how the recording ended."""
    if asked.file is not None:
        try:
            recorder.start(asked.file, asked.max_bytes)
        except RecordingError as error:
            raise UsageError(f"--record {error}") from error
    try:
        yield
    finally:
        if (status := recorder.stop()) is not None:
            say(status.text)


def _explain(outcome: BenchOutcome) -> None:
    failed = outcome.failed
    if failed is not None:
        what = "not possible here" if failed.unsupported else "the engine failed"
        say("\n  ".join(filter(None, (f"{what}: {failed.reason}", failed.hint, *failed.log_tail))))
    if outcome.result is None and outcome.interrupted:
        say("interrupted before anything was measured")
