"""A benchmark from start to end, over a simulated engine."""

from dataclasses import replace
from itertools import pairwise

import pytest

from idlegap.core.bench.assemble import LEAD_IN
from idlegap.core.bench.plan import ArmSpec, BenchPlan, Enough, arms_for, engine_settings
from idlegap.core.bench.runner import Bench, BenchOutcome, Progress
from idlegap.core.bench.schema import BenchResult
from idlegap.core.protocol.commands import SetMode, TakeProfile, VerifyModes
from idlegap.core.protocol.events import AnyEvent, EngineStage, RoundFinished, TokenBatch
from idlegap.core.protocol.modes import EAGER, MODE_NAMES
from idlegap.core.protocol.reasons import because
from idlegap.core.protocol.settings import Settings
from tests.core.bench.fake_engine import H200, READY, FakeEngine, drive, replace_struct

THREE = arms_for(["eager", "eager-static", "graph"])


def take(engine: FakeEngine, plan: BenchPlan, **options: object) -> BenchOutcome:
    return Bench(drive(engine), plan, **options).run()  # type: ignore[arg-type]


def result_of(outcome: BenchOutcome) -> BenchResult:
    assert outcome.result is not None
    return outcome.result


def order(result: BenchResult) -> list[tuple[int, str]]:
    """(turn, label) of all runs in the order in which they were taken."""
    runs = [(run.started_ns, run.turn, arm.label) for arm in result.arms for run in arm.runs]
    return [(turn, label) for _, turn, label in sorted(runs)]


def test_runs_are_interleaved_and_the_first_of_each_mode_is_a_marked_warm_up() -> None:
    result = result_of(take(FakeEngine(), BenchPlan(THREE, runs=5)))
    labels = ["eager", "eager-static", "graph"]
    turns = [labels, labels[::-1]] * 3
    assert order(result) == [(turn, label) for turn, row in enumerate(turns) for label in row]
    for arm in result.arms:
        assert [run.warm_up for run in arm.runs] == [True] + [False] * 5
        assert len(arm.counted) == 5
    assert result.complete
    assert result.reason == ""


def test_each_run_is_one_whole_round_whose_first_tokens_do_not_count() -> None:
    result = result_of(take(FakeEngine(), BenchPlan(THREE, runs=2)))
    for run in (run for arm in result.arms for run in arm.runs):
        assert len(run.tokens.wall_ns) == READY.new_tokens
        assert run.tokens.excluded == tuple(range(LEAD_IN))
        starts = run.tokens.start_ns
        assert starts[0] >= 0
        assert all(b - a >= wall for (a, b), wall in zip(pairwise(starts), run.tokens.wall_ns, strict=False))
        assert run.peak_memory_bytes == 3_210_000_000


def test_every_mode_is_verified_once_and_profiled_once_outside_its_counted_runs() -> None:
    engine = FakeEngine()
    result = result_of(take(engine, BenchPlan(THREE, runs=3)))
    assert sum(isinstance(command, VerifyModes) for command in engine.commands) == 3
    assert sum(isinstance(command, TakeProfile) for command in engine.commands) == 3
    for arm in result.arms:
        assert arm.verified is not None
        assert arm.window is not None
        assert [window.accepted for window in arm.windows] == [False, True]


def test_a_mode_that_cannot_run_says_why_and_the_others_go_on() -> None:
    engine = FakeEngine({mode: H200[mode] for mode in ("eager-static", "graph")})
    result = result_of(take(engine, BenchPlan(arms_for(None), runs=1)))
    assert {arm.label: arm.refused for arm in result.arms if arm.refused} == {
        "eager": because("needs-cuda"),
        "fused": because("needs-cuda"),
        "compiled": because("needs-cuda"),
        "fused-graph": because("needs-cuda"),
    }
    assert [label for _, label in order(result)] == ["eager-static", "graph", "graph", "eager-static"]


def test_without_the_baseline_tokens_are_not_compared_and_the_reason_stands() -> None:
    engine = FakeEngine({"graph": H200["graph"]})
    (arm,) = result_of(take(engine, BenchPlan(arms_for(["graph"]), runs=1))).arms
    assert arm.verified is None
    assert arm.verify_reason == "eager-static: left out"


def test_the_same_mode_twice_gets_two_names() -> None:
    assert arms_for(["eager", "eager", "graph", "eager"]) == (
        ArmSpec("eager", "eager"),
        ArmSpec("eager#2", "eager"),
        ArmSpec("graph", "graph"),
        ArmSpec("eager#3", "eager"),
    )
    assert [arm.label for arm in arms_for(None)] == list(MODE_NAMES)


def test_the_engine_of_a_benchmark_profiles_only_on_request_and_offers_the_baseline() -> None:
    settings = engine_settings(Settings(modes=("graph",), mode="graph", new_tokens=40))
    assert (settings.mode, settings.modes, settings.profile_every_ns) == (None, None, None)
    assert settings.new_tokens == 40


def test_progress_counts_runs_and_tells_the_time_left_once_every_mode_has_run() -> None:
    said: list[Progress] = []
    take(FakeEngine(), BenchPlan(THREE, runs=2), report=said.append)
    assert [progress.done for progress in said] == sorted(progress.done for progress in said)
    assert said[-1].total == 9
    assert said[-1].left_ns is None
    assert said[0].left_ns is None
    left = [progress.left_ns for progress in said if progress.left_ns is not None]
    assert left
    assert left == sorted(left, reverse=True)
    texts = [progress.text for progress in said]
    assert texts[0] == "starting the engine"
    assert "graph, run 2 of 2" in texts
    assert "comparing the tokens of eager" in texts


class DecodesBeforeItObeys(FakeEngine):
    """Like the real engine, which decodes until it looks at its commands."""

    def start(self) -> None:
        super().start()
        self._decode(1)


def test_how_long_the_comparison_takes_is_told_where_it_takes_long() -> None:
    """Two rounds of eager-static and one of eager, 255 tokens of about 40 ms each, once."""
    said: list[Progress] = []
    slow = {mode: replace(H200[mode], wall=40.0, dispatch=40.0, noise=0, run_noise=0) for mode in EAGER}
    costs = {**slow, "graph": H200["graph"]}
    engine = DecodesBeforeItObeys(costs, ready=replace_struct(READY, new_tokens=255))
    take(engine, BenchPlan(THREE, runs=1), report=said.append)
    texts = [progress.text for progress in said if progress.text.startswith("comparing")]
    assert texts == [
        "comparing the tokens of eager, about 31 s",
        "comparing the tokens of eager-static",
        "comparing the tokens of graph",
    ]


def test_a_time_limit_ends_the_turns_but_never_before_the_first_counted_one() -> None:
    short = result_of(take(FakeEngine(), BenchPlan(THREE, runs=50, seconds=0.001)))
    assert {len(arm.counted) for arm in short.arms} == {1}
    assert short.complete
    longer = result_of(take(FakeEngine(), BenchPlan(THREE, runs=50, seconds=20)))
    counts = {len(arm.counted) for arm in longer.arms}
    assert len(counts) == 1
    assert 1 < counts.pop() < 50


def test_what_is_enough_on_the_cpu_ends_the_turns_there_and_only_there() -> None:
    said: list[Progress] = []
    plan = BenchPlan(arms_for(["eager-static"]), runs=4, seconds=1000, on_cpu=Enough(6, 7.0))
    costs = {"eager-static": H200["eager-static"]}
    cpu = FakeEngine(costs, ready=replace_struct(READY, device="cpu"))
    (arm,) = result_of(take(cpu, plan, report=said.append)).arms
    ends = [run.started_ns + run.tokens.start_ns[-1] + run.tokens.wall_ns[-1] for run in arm.counted]
    spans = [(end - arm.counted[0].started_ns) / 1e9 for end in ends]
    # The seventh second ends within the last run, not before and not after it.
    assert len(spans) > 6
    assert spans[-2] < 7.0 <= spans[-1]
    (hurried,) = result_of(take(FakeEngine(costs, ready=cpu.ready), replace(plan, on_cpu=Enough(6, 0)))).arms
    assert len(hurried.counted) == 6
    (gpu,) = result_of(take(FakeEngine(costs), plan)).arms
    assert len(gpu.counted) == 4
    left = [progress.left_ns for progress in said if "run" in progress.text]
    assert all(ns is not None and 0 < ns <= 7.5e9 for ns in left)


@pytest.mark.parametrize("batches", [10, 60])
def test_an_interruption_keeps_what_was_measured_and_marks_it(batches: int) -> None:
    engine = FakeEngine()
    seen: list[TokenBatch] = []

    def listen(event: AnyEvent) -> None:
        if isinstance(event, TokenBatch):
            seen.append(event)

    driver = drive(engine, listeners=(listen,), stopped=lambda: len(seen) >= batches)
    outcome = Bench(driver, BenchPlan(THREE, runs=5)).run()
    result = result_of(outcome)
    assert outcome.interrupted
    assert not result.complete
    assert result.reason == "interrupted"
    runs = [run for arm in result.arms for run in arm.runs]
    assert runs
    cut = [run for run in runs if not run.complete]
    assert len(cut) <= 1
    for run in cut:
        assert not run.counts
        assert len(run.tokens.wall_ns) <= READY.new_tokens
        assert run.missing == {"peak_memory_bytes": because("run-cut-short")}


def test_an_interruption_before_the_model_is_there_leaves_no_result() -> None:
    driver = drive(FakeEngine(silent=True), stopped=lambda: True)
    outcome = Bench(driver, BenchPlan(THREE)).run()
    assert outcome.result is None
    assert outcome.interrupted


def test_a_failure_of_the_engine_is_told_beside_what_was_measured() -> None:
    outcome = take(FakeEngine(fail_after=12), BenchPlan(THREE, runs=5))
    assert outcome.failed is not None
    assert outcome.failed.reason == "OutOfMemoryError: no room"
    result = result_of(outcome)
    assert result.reason == "the engine failed: OutOfMemoryError: no room"
    assert 0 < sum(len(arm.counted) for arm in result.arms) < 15


def test_an_engine_that_says_nothing_ends_the_benchmark_after_a_while() -> None:
    engine = FakeEngine(silent=True)
    outcome = take(engine, BenchPlan(THREE))
    assert outcome.result is None
    assert outcome.failed is not None
    assert "has said nothing for 900 s" in outcome.failed.reason


def test_a_run_that_lost_tokens_on_the_way_is_kept_and_does_not_count() -> None:
    plan = BenchPlan(arms_for(["graph"]), runs=3, verify=False)
    finished: list[int] = []

    def listen(event: AnyEvent) -> None:
        if isinstance(event, RoundFinished):
            finished.append(event.round)

    Bench(drive(FakeEngine(), listeners=(listen,)), plan).run()
    (arm,) = result_of(take(FakeEngine(lose_tokens_of_round=finished[-1]), plan)).arms
    assert [run.turn for run in arm.counted] == [1, 2]
    assert [(run.turn, run.complete) for run in arm.runs] == [(0, True), (1, True), (2, True), (3, False)]


def test_stages_of_the_engine_reach_whoever_shows_progress() -> None:
    stages: list[EngineStage] = []
    driver = drive(FakeEngine(), on_stage=stages.append)
    Bench(driver, BenchPlan(arms_for(["graph"]), runs=1)).run()
    assert {"importing", "decoding", "profiling"} <= {stage.stage for stage in stages}


def test_the_probe_is_taken_where_it_is_asked_for() -> None:
    assert result_of(take(FakeEngine(), BenchPlan(THREE, runs=1))).probe is None
    probed = result_of(take(FakeEngine(), BenchPlan(THREE, runs=1, probe=True))).probe
    assert probed is not None
    assert (probed.launch_ns, probed.operator_ns) == (2_600, 8_400)


def test_counters_that_the_engine_cannot_read_are_no_column() -> None:
    engine = FakeEngine(delay_ns=lambda random: None)
    result = result_of(take(engine, BenchPlan(arms_for(["graph"]), runs=1)))
    tokens = result.arms[0].runs[0].tokens
    assert tokens.run_delay_ns is None
    assert tokens.cpu_ns is not None


def test_a_benchmark_on_the_cpu_has_reasons_where_a_gpu_would_have_figures() -> None:
    ready = replace_struct(READY, device="cpu", device_name="CPU")
    costs = {mode: H200[mode] for mode in ("eager", "eager-static")}
    engine = FakeEngine(costs, ready=ready, peak_memory_bytes=None, copy_bytes_per_s=None)
    result = result_of(take(engine, BenchPlan(arms_for(None), runs=1)))
    eager = result.arm("eager")
    assert eager is not None
    assert [window.reason for window in eager.windows] == [because("windows-need-cuda")]
    assert eager.runs[0].missing == {"peak_memory_bytes": because("needs-cuda")}
    assert result.arm("graph").refused == because("needs-cuda")  # type: ignore[union-attr]


def test_the_baseline_is_the_mode_that_the_engine_enters_first_unasked() -> None:
    engine = FakeEngine()
    take(engine, BenchPlan(arms_for(["graph"]), runs=1))
    assert SetMode("eager-static") not in engine.commands


def test_random_times_do_not_confuse_the_bookkeeping() -> None:
    for seed in range(5):
        engine = FakeEngine(seed=seed, delay_ns=lambda random: round(random.expovariate(1 / 1e6)))
        result = result_of(take(engine, BenchPlan(THREE, runs=2)))
        assert len(order(result)) == 9
