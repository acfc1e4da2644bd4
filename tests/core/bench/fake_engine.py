"""An engine without torch: obeys commands like the real one, on a clock of its own.

Between two looks at it, it decodes a few tokens whose times are drawn from `Cost`. Nothing
waits: time passes only as far as the simulated work takes.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random

from idlegap.core.bench.driver import Driver
from idlegap.core.protocol.commands import (
    AnyCommand,
    ProbeDispatch,
    RestartRound,
    SetMode,
    Stop,
    TakeProfile,
    VerifyModes,
)
from idlegap.core.protocol.events import (
    AnyEvent,
    Bandwidth,
    DispatchProbe,
    EngineFailed,
    EngineReady,
    EngineStage,
    ModeEntered,
    ModeRefused,
    ModeStatus,
    Notice,
    NotVerified,
    ProfileWindow,
    RoundFinished,
    RoundStarted,
    Token,
    TokenBatch,
    Verified,
)
from idlegap.core.protocol.modes import BASELINE, MODE_NAMES, ModeName
from idlegap.core.protocol.reasons import because
from tests.ready import engine_ready

MS = 1_000_000
WARM_UP = 3
TOKENS_PER_LOOK = 16

READY = engine_ready(
    pid=423, tid=426, device_uuid="b90d2063-f0d3-3b7a-88c3-f745e5d78049", new_tokens=40, cache_len=552
)


@dataclass(frozen=True)
class Cost:
    """What a token of one mode takes, in ms. `noise` is the relative deviation of one token,
    `run_noise` that of a whole run."""

    wall: float
    dispatch: float
    busy: float
    latency: float = 0.0
    gap: float = 0.0
    kernels: int = 1429
    noise: float = 0.01
    run_noise: float = 0.003
    prefill: float = 30.0


H200: Mapping[ModeName, Cost] = {
    "eager": Cost(21.0, 20.9, 3.136, 2.59, 0.005, 1198),
    "eager-static": Cost(22.4, 22.3, 3.635, 2.93, 0.004),
    "graph": Cost(4.22, 0.03, 3.718, 0.0, 0.671),
    "fused": Cost(11.2, 11.1, 2.224, 0.72, 0.004, 423),
    "compiled": Cost(3.36, 1.14, 2.281, 1.14, 0.012, 565),
    "fused-graph": Cost(2.6, 0.2, 2.27, 0.002, 0.19, 423),
}
"""Figures of a real H200, rounded."""


@dataclass
class FakeEngine:
    """A `core.session.session.Source`.

    Attributes:
        costs: by mode; a mode without one is refused.
        speed: factor on every token's time, as a function of the time since the start in ns.
        delay_ns: run delay of a token, drawn with its mode.
        window_faults: reasons of the profile windows to come; "" is an accepted one, and when
            they are used up all are accepted.
        fail_after: end with a failure after so many finished rounds.
        silent: never say anything.
        notices: said once, before anything is decoded.
    """

    costs: Mapping[ModeName, Cost] = field(default_factory=lambda: H200)
    ready: EngineReady = READY
    seed: int = 1
    speed: Callable[[int], float] = lambda now_ns: 1.0
    delay_ns: Callable[[Random], int | None] = lambda random: 0
    window_faults: list[str] = field(default_factory=list)
    copy_bytes_per_s: float | None = 4.272e12
    peak_memory_bytes: int | None = 3_210_000_000
    fail_after: int | None = None
    silent: bool = False
    notices: tuple[str, ...] = ()
    lose_tokens_of_round: int | None = None
    in_process: bool = False

    def __post_init__(self) -> None:
        self.now_ns = 1_000
        self.commands: list[AnyCommand] = []
        self.closed = False
        self._random = Random(self.seed)
        self._events: deque[AnyEvent] = deque()
        self._pending: deque[AnyCommand] = deque()
        self._prepared: set[ModeName] = set()
        self._profiled: set[ModeName] = set()
        self._mode: ModeName = BASELINE if BASELINE in self.costs else next(iter(self.costs))
        self._round = self._decoded = 0
        self._warm_up = WARM_UP
        self._finished = 0
        self._run_factor = 1.0
        self._ended = True

    # --- Source -------------------------------------------------------------------

    def start(self) -> None:
        if self.silent:
            return
        refused = {name: because("needs-cuda") for name in MODE_NAMES if name not in self.costs}
        modes = tuple(ModeStatus(name, refused.get(name)) for name in MODE_NAMES)
        self._say(EngineStage(self._pass(1), "importing"))
        self._say(replace_struct(self.ready, t_ns=self._pass(1), modes=modes))
        self._say(EngineStage(self._pass(1), "bandwidth", "copying device memory"))
        missing = {} if self.copy_bytes_per_s else {"copy_bytes_per_s": because("needs-cuda")}
        self._say(Bandwidth(self._pass(1), self.copy_bytes_per_s, None, missing=missing))
        for text in self.notices:
            self._say(Notice(self._pass(1), text))
        self._enter(self._mode)
        self._ended = False

    def poll(self) -> list[AnyEvent]:
        if not self._ended:
            while self._pending:
                self._obey(self._pending.popleft())
            if not self._events:
                self._decode(TOKENS_PER_LOOK)
        taken = list(self._events)
        self._events.clear()
        return taken

    def send(self, command: AnyCommand) -> None:
        self.commands.append(command)
        self._pending.append(command)

    def restart(self) -> None:
        raise AssertionError("a benchmark never restarts its engine")

    def close(self) -> None:
        self.closed = self._ended = True

    # --- the engine ------------------------------------------------------------------

    def _obey(self, command: AnyCommand) -> None:
        match command:
            case SetMode(mode):
                self._enter(mode)
            case RestartRound():
                self._round_over()
            case TakeProfile():
                self._profile()
            case VerifyModes():
                self._verify()
            case ProbeDispatch():
                self._say(DispatchProbe(self._pass(5 * MS), 2_600, 8_400, launches=256))
            case Stop():
                self._ended = True
            case _:
                raise AssertionError(f"a benchmark has no use for {command}")

    def _enter(self, mode: ModeName) -> None:
        if mode not in self.costs:
            self._say(ModeRefused(self._pass(0), mode, because("needs-cuda")))
            return
        setup_ns = 0 if mode in self._prepared else 100 * MS
        self._prepared.add(mode)
        if setup_ns or "eager" in (mode, self._mode):
            self._round_over()
        self._mode, self._warm_up = mode, WARM_UP
        self._say(ModeEntered(self._pass(setup_ns), mode, setup_ns))
        self._say(EngineStage(self.now_ns, "decoding"))

    def _round_over(self) -> None:
        self._decoded = self.ready.new_tokens

    def _profile(self) -> None:
        cost = self.costs[self._mode]
        if self.ready.device == "cpu":
            reason = because("windows-need-cuda")
            self._say(ProfileWindow(self._pass(0), self._mode, 0, accepted=False, reason=reason))
            return
        reasons = [self.window_faults.pop(0) if self.window_faults else ""]
        if self._mode not in self._profiled:
            reasons.insert(0, "first window: waiting for a second one to agree")
        self._profiled.add(self._mode)
        for reason in reasons:
            self._say(EngineStage(self._pass(0), "profiling"))
            self._say(
                ProfileWindow(
                    self._pass(300 * MS),
                    self._mode,
                    4,
                    accepted=not reason,
                    reason=reason,
                    busy_ns=round(cost.busy * MS),
                    busy_sum_ns=round(cost.busy * MS),
                    kernels=cost.kernels,
                    launch_latency_ns=round(cost.latency * MS),
                    device_gap_ns=round(cost.gap * MS),
                )
            )
        self._warm_up = WARM_UP
        self._say(EngineStage(self._pass(0), "decoding"))

    def _verify(self) -> None:
        if BASELINE not in self.costs:
            self._say(NotVerified(self._pass(0), self._mode, f"{BASELINE}: left out"))
            return
        steps = self.ready.new_tokens
        self._say(
            Verified(self._pass(900 * MS), self._mode, steps, steps, 0.0142, steps, 0.0134, flagged=False)
        )
        self._round_over()

    def _decode(self, tokens: int) -> None:
        if self._round == 0 or self._decoded >= self.ready.new_tokens:
            self._begin_round()
        batch: list[Token] = []
        first, warm = self._decoded, self._warm_up > 0
        while len(batch) < tokens and self._decoded < self.ready.new_tokens and warm == (self._warm_up > 0):
            batch.append(self._token())
            self._decoded += 1
            self._warm_up = max(self._warm_up - 1, 0)
        if self._round != self.lose_tokens_of_round:
            excluded = "warm-up" if warm else None
            self._say(TokenBatch(self.now_ns, self._mode, self._round, first, tuple(batch), excluded))
        if self._decoded >= self.ready.new_tokens:
            self._finish_round()

    def _begin_round(self) -> None:
        cost = self.costs[self._mode]
        self._round += 1
        self._decoded = 0
        self._run_factor = self._random.gauss(1.0, cost.run_noise)
        prefill_ns = round(cost.prefill * MS * self._random.gauss(1.0, cost.noise))
        self._say(RoundStarted(self._pass(prefill_ns), self._round, self._mode, prefill_ns, 512))

    def _finish_round(self) -> None:
        self._finished += 1
        missing = {} if self.peak_memory_bytes else {"peak_memory_bytes": because("needs-cuda")}
        peak = self.peak_memory_bytes
        self._say(RoundFinished(self.now_ns, self._round, self._mode, self._decoded, peak, missing))
        if self.fail_after is not None and self._finished > self.fail_after:
            self._say(EngineFailed(self.now_ns, "OutOfMemoryError: no room", log_tail=("...",)))
            self._ended = True

    def _token(self) -> Token:
        cost = self.costs[self._mode]
        factor = self._run_factor * self.speed(self.now_ns) * max(self._random.gauss(1.0, cost.noise), 0.5)
        delay_ns = self.delay_ns(self._random)
        wall_ns = round(cost.wall * MS * factor) + (delay_ns or 0)
        dispatch_ns = min(round(cost.dispatch * MS * factor) + (delay_ns or 0), wall_ns)
        start = self.now_ns
        return Token(start, start + dispatch_ns, self._pass(wall_ns), dispatch_ns, delay_ns, 0, 0)

    def _pass(self, ns: int) -> int:
        self.now_ns += ns
        return self.now_ns

    def _say(self, event: AnyEvent) -> None:
        self._events.append(event)


def replace_struct(event: EngineReady, **changes: object) -> EngineReady:
    """`event` with some fields changed."""
    import msgspec

    return msgspec.structs.replace(event, **changes)


def drive(engine: FakeEngine, **options: object) -> Driver:
    """A driver on the engine's own clock, where waiting is time that passes at once."""

    def pause(seconds: float) -> None:
        engine.now_ns += round(seconds * 1e9)

    return Driver(engine, clock=lambda: engine.now_ns, pause=pause, **options)  # type: ignore[arg-type]


def cheaper(cost: Cost, factor: float) -> Cost:
    """`cost` with a wall and dispatch time of `factor` times as much."""
    return replace(cost, wall=cost.wall * factor, dispatch=cost.dispatch * factor)
