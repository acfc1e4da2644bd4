"""A session of known content, told by a fake engine and fake sensors on a fake clock."""

from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

from idlegap.core.protocol.commands import AnyCommand
from idlegap.core.protocol.events import (
    SCHEMA_VERSION,
    AnyEvent,
    Bandwidth,
    CgroupSample,
    CpuSample,
    EngineStage,
    GpuInfo,
    GpuSample,
    HostInfo,
    KernelTotal,
    ModeEntered,
    ModeStatus,
    MonitorSample,
    ProfileWindow,
    RoundStarted,
    SensorEvent,
    TextPiece,
    Token,
    TokenBatch,
)
from idlegap.core.protocol.modes import MODE_NAMES, ModeName
from idlegap.core.protocol.reasons import because
from idlegap.core.recording import Header, Recorder
from idlegap.core.session.session import Session
from idlegap.core.session.snapshot import Snapshot
from tests.ready import engine_ready

MS = 1_000_000
SECOND = 1000 * MS
START_NS = 5_000 * SECOND
HERE = Path(__file__).parent
REAL = HERE / "v1.jsonl.gz"
"""An H200's engine events, six modes in five minutes, with generated sensor samples."""

LITTLE_MEMORY = because("little-memory", free_gb=0.5)
HEADER = Header(SCHEMA_VERSION, "0.1.0", "2026-11-29T12:00:00+00:00", "rented-7", START_NS)
READY = engine_ready(
    t_ns=START_NS + 2 * SECOND,
    pid=4711,
    tid=4712,
    device_uuid="0",
    modes=tuple(ModeStatus(name, "no compiler" if name == "fused" else None) for name in MODE_NAMES),
)
HOST = HostInfo(START_NS, "Xeon", 4, (0, 1, 2, 3), 4.0, 64 << 30, kernel="6.1")
GPU = GpuInfo(
    START_NS + 1, "NVIDIA H200", "GPU-0", "580.159", 150_754_820_096, 6016, 3201, 1980, 700_000, 5, 16, True
)
BUSY: dict[ModeName, tuple[int, int]] = {"eager-static": (3_632_000, 22), "graph": (3_740_000, 4)}
"""Device-busy ns and typical wall ms of the modes that the story visits."""


class FakeClock:
    """A clock that stands until it is told to go on."""

    def __init__(self, now_ns: int = START_NS) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


class FakeEngine:
    """A `core.session.session.Source` that says each of `events` when the clock has reached its time."""

    in_process = False

    def __init__(self, events: Iterable[AnyEvent], clock: FakeClock) -> None:
        self._events, self._clock = deque(events), clock

    def start(self) -> None:
        pass

    def poll(self) -> list[AnyEvent]:
        said: list[AnyEvent] = []
        while self._events and self._events[0].t_ns <= self._clock.now_ns:
            said.append(self._events.popleft())
        return said

    def send(self, command: AnyCommand) -> None:
        pass

    def restart(self) -> None:
        pass

    def close(self) -> None:
        pass


def engine_story(rounds: int = 3, tokens: int = 64, seed: int = 1) -> list[AnyEvent]:
    """Loading, then rounds that alternate between eager-static and graph. In each round one
    token waits 30 ms for a CPU."""
    random = Random(seed)
    events: list[AnyEvent] = [
        EngineStage(START_NS + SECOND, "importing", "torch"),
        READY,
        Bandwidth(
            START_NS + 3 * SECOND,
            4.272e12,
            None,
            missing={"read_bytes_per_s": LITTLE_MEMORY},
        ),
    ]
    now = START_NS + 4 * SECOND
    for number in range(rounds):
        mode: ModeName = "eager-static" if number % 2 == 0 else "graph"
        busy_ns, wall_ms = BUSY[mode]
        events += [
            ModeEntered(now, mode, setup_ns=50 * MS),
            EngineStage(now + 1, "decoding"),
            RoundStarted(now + 30 * MS, number + 1, mode, prefill_ns=29 * MS, position=512),
        ]
        now += 30 * MS
        first = 0
        while first < tokens:
            taken: list[Token] = []
            while len(taken) < 8 and first + len(taken) < tokens:
                delay_ns = 30 * MS if first + len(taken) == tokens - 4 else 0
                wall_ns = wall_ms * MS + random.randrange(MS // 10) + delay_ns
                dispatch_ns = wall_ns - 40_000 if mode == "eager-static" else 20_000 + delay_ns
                taken.append(
                    Token(
                        now,
                        now + dispatch_ns,
                        now + wall_ns,
                        cpu_ns=dispatch_ns - delay_ns,
                        run_delay_ns=delay_ns,
                        preempted=1 if delay_ns else 0,
                        blocked=1,
                    )
                )
                now += wall_ns + 10_000
            excluded = "warm-up" if first == 0 and number == 0 else None
            events.append(TokenBatch(now, mode, number + 1, first, tuple(taken), excluded))
            events.append(TextPiece(now, f" <b>{number}</b>", restart=first == 0))
            first += len(taken)
        window = ProfileWindow(
            now - MS,  # stamped before the batch that closes the window, as the engine does
            mode,
            steps=4,
            accepted=True,
            busy_ns=busy_ns,
            busy_sum_ns=busy_ns,
            kernels=1429,
            launch_latency_ns=2_900_000 if mode == "eager-static" else 60_000,
            device_gap_ns=3_000 if mode == "eager-static" else 520_000,
            pause_ns=20 * MS,
            top=(KernelTotal("nvjet<int&>", 56.0, 537_589),),
        )
        events.append(window)
        now += 60 * MS
    events.append(EngineStage(now + SECOND, "paused"))
    return events


def sensor_story(until_ns: int) -> list[SensorEvent]:
    """Four samples a second; a neighbour keeps two cores busy all the time."""
    events: list[SensorEvent] = [HOST, GPU]
    for t_ns in range(START_NS + 10 * MS, until_ns, 250 * MS):
        events.append(
            CpuSample(
                t_ns,
                (99.0, 98.5, 3.0, 1.0),
                engine_pct=101.0,
                monitor_pct=3.0,
                others_pct=196.0,
                steal_pct=0.0,
                decode_core=1,
                load_1m=2.5,
                missing={"core_mhz": because("stale", because("no-cpufreq"), age_s=12)},
            )
        )
        events.append(CgroupSample(t_ns + 1, 2.0, 1, 5 * MS, 900, 1000, 250 * MS, missing={}))
        events.append(
            GpuSample(t_ns + 2, 97.0, 3 << 30, 212_000, 1980, 3201, 41, 0x4, 96.0, 24.9, 15.7, 90_000)
        )
    return events


def story(rounds: int = 3, tokens: int = 64) -> list[AnyEvent]:
    """Engine and sensors together, and the monitor's own samples, in the order of time."""
    engine = engine_story(rounds, tokens)
    end_ns = engine[-1].t_ns
    monitor = [MonitorSample(t, 1.9, 2 * MS, 3100.0, 4.0) for t in range(START_NS, end_ns, SECOND)]
    # By time, but with the engine's own order kept where it stamps something late.
    newest = 0
    timed: list[tuple[int, AnyEvent]] = []
    for event in engine:
        newest = max(newest, event.t_ns)
        timed.append((newest, event))
    timed += [(event.t_ns, event) for event in (*sensor_story(end_ns), *monitor)]
    return [event for _, event in sorted(timed, key=lambda pair: pair[0])]


def record(path: Path, events: Sequence[AnyEvent], **options: float) -> Path:
    """Record `events` as they are, from the first one on."""
    clock = FakeClock(events[0].t_ns if events else START_NS)
    recorder = Recorder(clock=clock, host="rented-7", spec_bytes_per_s=options.get("spec_bytes_per_s"))
    recorder.start(path)
    for event in events:
        clock.now_ns = max(clock.now_ns, event.t_ns)
        recorder(event)
    recorder.stop()
    return path


def live(path: Path, engine: Sequence[AnyEvent], sensors: Sequence[SensorEvent], frame_ns: int) -> Snapshot:
    """Run a live session over both, a frame at a time, recording it; its last snapshot."""
    clock = FakeClock()
    source = FakeEngine(engine, clock)
    heard: deque[SensorEvent] = deque()
    coming = deque(sensors)
    recorder = Recorder(clock=clock, spec_bytes_per_s=4.8e12)
    session = Session(source, sensor_events=heard, listeners=[recorder], spec_bytes_per_s=4.8e12, clock=clock)
    recorder.start(path)
    session.start()
    end_ns = max(engine[-1].t_ns, sensors[-1].t_ns)
    frames = 0
    while clock.now_ns < end_ns:
        clock.now_ns = min(clock.now_ns + frame_ns, end_ns)
        while coming and coming[0].t_ns <= clock.now_ns:
            heard.append(coming.popleft())
        session.pump()
        frames += 1
        if frames % 4 == 0:
            session.note_frame(MonitorSample(clock.now_ns, 2.0, 2 * MS, 3000.0, 4.0))
    session.close()
    recorder.stop()
    return session.snapshot(clock.now_ns)
