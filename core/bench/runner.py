"""Takes a benchmark: enters and verifies each arm, then decodes its runs in turns.

Arms are interleaved, because rented hosts drift, and a drift that all arms share cancels in
their ratio. Every other turn runs backwards (A B C, C B A), because in a fixed order a steady
drift would always favour the same arm: simulated, a drift of 10 % over a benchmark then makes
two equal arms "significantly" different in every second one, and in none with mirrored turns.
The first turn warms caches, clocks and allocators up: it is kept and marked. Device time is
profiled last, because a window can leave graph replays slower for the rest of the process.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import msgspec

from idlegap.core.bench.assemble import assemble_run, idle_gpu
from idlegap.core.bench.driver import Driver, EngineEndedError, InterruptedBenchError, Round
from idlegap.core.bench.environment import finished, now_utc, placed, read_environment
from idlegap.core.bench.plan import BenchPlan, Enough
from idlegap.core.bench.schema import Arm, BenchResult, Environment
from idlegap.core.protocol import events
from idlegap.core.protocol.modes import BASELINE, EAGER, ModeName
from idlegap.core.protocol.reasons import because

CHECKOUT = Path(__file__).resolve().parents[2]
"""A git clone of idlegap, unless this is an installed package."""

MOMENT_S = 2
"""What is over sooner needs no estimate."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a benchmark is: `done` of `total` runs (None where time ends it, not a count, and
    until it is known which modes can run). `left_ns` is None until each arm's duration is known."""

    text: str
    done: int
    total: int | None
    left_ns: int | None


@dataclass(frozen=True, slots=True)
class BenchOutcome:
    """How a benchmark ended. `result` is None where not even the engine came up."""

    result: BenchResult | None
    failed: events.EngineFailed | None = None
    interrupted: bool = False


@dataclass(slots=True)
class _ArmState:
    """What is known of an arm so far; `taken` are its turns with their rounds as they were decoded."""

    arm: Arm
    taken: list[tuple[int, Round]] = field(default_factory=list)
    took_ns: int | None = None

    def note(self, **changes: object) -> None:
        """Fill in fields of the arm."""
        self.arm = msgspec.structs.replace(self.arm, **changes)


class Bench:
    """One benchmark being taken. `run` may be called once."""

    def __init__(
        self,
        driver: Driver,
        plan: BenchPlan,
        *,
        report: Callable[[Progress], None] = lambda progress: None,
        root: Path = Path("/"),
        spec_bandwidth: float | None = None,
        pin_core: int | None = None,
        nice: int | None = None,
    ) -> None:
        """`root` is where ``proc`` and ``sys`` are found; the engine was asked for `pin_core` and
        `nice` by its settings."""
        self._driver = driver
        self._plan = plan
        self._report = report
        self._root = root
        self._spec_bandwidth = spec_bandwidth
        self._pin_core, self._nice = pin_core, nice
        self._created = now_utc()
        self._environment = Environment()
        self._states = [_ArmState(Arm(spec.label, spec.mode)) for spec in plan.arms]
        self._ready: events.EngineReady | None = None
        self._probe: events.DispatchProbe | None = None
        self._current: _ArmState | None = None
        self._started_ns = 0
        self._compared = self._prepared = False
        self._done = 0
        self._turn = 0

    def run(self) -> BenchOutcome:
        """Measure. An interruption or a failure of the engine ends it early, and what was
        measured until then is in the outcome all the same. The driver is left open."""
        self._started_ns = self._driver.clock()
        self._environment = read_environment(self._root, CHECKOUT)
        failed, interrupted, reason = None, False, ""
        try:
            self._say("starting the engine")
            self._ready = self._driver.start()
            self._prepare()
            self._prepared = True
            self._take_turns()
            self._profile()
            if self._plan.probe:
                if not self._on_cpu:
                    self._say("probing dispatch")
                self._probe = self._driver.probe()
        except InterruptedBenchError:
            interrupted, reason = True, "interrupted"
        except EngineEndedError as error:
            failed, reason = error.failed, f"the engine failed: {error.failed.reason}"
        refused = self._ready.missing if self._ready is not None else {}
        self._environment = placed(
            finished(self._environment, self._root), self._pin_core, self._nice, refused
        )
        return BenchOutcome(self._result(reason), failed, interrupted)

    # --- steps --------------------------------------------------------------------

    def _prepare(self) -> None:
        """Enter every arm once, and verify it; those that cannot run say why."""
        compared: dict[ModeName, dict[str, object]] = {}
        for state in self._states:
            mode = state.arm.mode
            self._say(f"entering {state.arm.label}")
            answer = self._driver.enter(mode)
            if isinstance(answer, events.ModeRefused):
                state.note(refused=answer.reason)
                continue
            if mode not in compared:
                compared[mode] = self._verify(state.arm)
            state.note(setup_ns=answer.setup_ns, **compared[mode])

    def _verify(self, arm: Arm) -> dict[str, object]:
        """The fields of `arm` that say how its tokens compare, or why they were not compared."""
        if not self._plan.verify:
            return {"verify_reason": because("not-asked-for")}
        self._say(f"comparing the tokens of {arm.label}{self._duration(arm.mode)}")
        answer = self._driver.verify(arm.mode)
        self._compared = True
        return (
            {"verify_reason": answer.reason}
            if isinstance(answer, events.NotVerified)
            else {"verified": answer}
        )

    def _duration(self, mode: ModeName) -> str:
        """About how long it takes to compare the tokens of `mode`; "" for a moment, and where no
        token was seen yet. Two rounds of the baseline come first, once; then one of `mode`."""
        modes = self._driver.state.setup.modes
        baseline_ns = modes[BASELINE].token_ns
        if baseline_ns is None or self._ready is None:
            return ""
        token_ns = 0 if self._compared else 2 * baseline_ns
        if mode != BASELINE:
            token_ns += modes[mode].token_ns or (baseline_ns if mode in EAGER else 0)
        seconds = round(self._ready.new_tokens * token_ns / 1e9)
        return f", about {seconds} s" if seconds >= MOMENT_S else ""

    def _take_turns(self) -> None:
        able = [state for state in self._states if state.arm.refused is None]
        if not able:
            return
        for turn in count():
            if turn > 1 and (self._has_enough(able, turn - 1) or self._out_of_time(able)):
                return
            self._turn = turn
            for state in able if turn % 2 == 0 else reversed(able):
                self._take_run(state, turn)

    def _take_run(self, state: _ArmState, turn: int) -> None:
        self._current = state
        of = f" of {self._plan.runs}" if self._plan.seconds is None else ""
        name = "warm-up" if turn == 0 else f"run {turn}{of}"
        self._say(f"{state.arm.label}, {name}")
        started = self._driver.clock()
        state.taken.append((turn, self._driver.decode_round(state.arm.mode)))
        state.took_ns = self._driver.clock() - started
        self._done += 1
        self._current = None

    def _profile(self) -> None:
        """Measure the device time of every arm."""
        for state in self._states:
            if state.arm.refused is not None:
                continue
            # The CPU's engine only says why it has neither windows nor a probe, which takes no time.
            if not self._on_cpu:
                self._say(f"profiling {state.arm.label}")
            self._driver.enter(state.arm.mode)
            state.note(windows=tuple(self._driver.profile(self._plan.windows)))

    @property
    def _on_cpu(self) -> bool:
        return self._ready is not None and self._ready.device == "cpu"

    @property
    def _enough(self) -> Enough:
        """What ends the turns, time aside."""
        return self._plan.on_cpu if self._on_cpu and self._plan.on_cpu else Enough(self._plan.runs, 0.0)

    def _has_enough(self, able: Sequence[_ArmState], runs: int) -> bool:
        return runs >= self._enough.runs and _counted_ns(able) >= self._enough.seconds * 1e9

    def _out_of_time(self, able: Sequence[_ArmState]) -> bool:
        if self._plan.seconds is None:
            return False
        turn_ns = sum(state.took_ns or 0 for state in able)
        return self._driver.clock() + turn_ns > self._started_ns + self._plan.seconds * 1e9

    def _say(self, text: str) -> None:
        able = [state for state in self._states if state.arm.refused is None]
        turns = self._enough.runs + 1
        left: int | None = None
        if all(state.took_ns is not None for state in able):
            runs_ns = sum((turns - len(state.taken)) * (state.took_ns or 0) for state in able)
            left = max(runs_ns, round(self._enough.seconds * 1e9) - _counted_ns(able))
            # After the last run there are windows to take, and how long they last is not known.
            left = left if left > 0 else None
        if left is not None and self._plan.seconds is not None:
            until = self._started_ns + round(self._plan.seconds * 1e9)
            left = min(left, max(until - self._driver.clock(), 0))
        total = turns * len(able) if self._prepared and self._plan.seconds is None else None
        self._report(Progress(text, self._done, total, left))

    # --- the result ---------------------------------------------------------------

    def _result(self, reason: str) -> BenchResult | None:
        if self._ready is None:
            return None
        state = self._driver.state
        facts = state.facts
        if self._current is not None and self._driver.round is not None:
            self._current.taken.append((self._turn, self._driver.round))
        idle_pct, idle_bytes = idle_gpu(state.samples, self._ready.t_ns)
        return BenchResult(
            created=self._created,
            complete=not reason,
            reason=reason,
            engine=self._ready,
            host=facts.newest(events.HostInfo),
            gpu=facts.newest(events.GpuInfo),
            bandwidth=facts.newest(events.Bandwidth),
            environment=self._environment,
            arms=tuple(self._arm(state) for state in self._states),
            probe=self._probe,
            spec_bandwidth=self._spec_bandwidth,
            dropped=facts.dropped,
            idle_gpu_pct=idle_pct,
            idle_gpu_bytes=idle_bytes,
        )

    def _arm(self, state: _ArmState) -> Arm:
        samples = self._driver.state.samples
        starts = [taken.started.t_ns for state in self._states for _, taken in state.taken]
        runs = tuple(assemble_run(turn, taken, samples, min(starts)) for turn, taken in state.taken)
        return msgspec.structs.replace(state.arm, runs=runs)


def _counted_ns(states: Sequence[_ArmState]) -> int:
    """Time from the first counted token to the end of the last one."""
    rounds = [taken for state in states for turn, taken in state.taken if turn > 0]
    ends = [batch.tokens[-1].done_ns for taken in rounds for batch in taken.batches[-1:]]
    return max(ends) - min(taken.started.t_ns for taken in rounds) if ends else 0
