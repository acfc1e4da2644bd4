"""The same tokens get the same limit, rate and MBU from the live screen, bench, compare and check."""

import statistics
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.bench.conclusion import conclude
from idlegap.core.bench.schema import Arm, BenchResult
from idlegap.core.bench.summary import summarise
from idlegap.core.check.check import judge as judge_card
from idlegap.core.compare.machines import Machine, machine
from idlegap.core.measure.limits import Judgement
from idlegap.core.protocol.events import AnyEvent, EngineStage, ModeEntered, Token, TokenBatch
from idlegap.core.protocol.modes import ModeName
from idlegap.core.recording import Recorder
from idlegap.core.report.gather import gather
from idlegap.core.session.build import snapshot_of
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.session.state import State
from idlegap.core.text.phrases import LIMIT_WORDS
from idlegap.tui.tables.bench_words import headline
from idlegap.tui.tables.compare_words import limit_words
from tests.core.bench.fake_engine import READY
from tests.core.bench.results import GPU, MS, arm, bench, columns, run, window

TOKENS = 8


def split(
    busy_ms: float, device_gap_ms: float, late_ms: float, dispatch_ms: float, with_graph: bool = True
) -> BenchResult:
    """A bench whose eager-static token has these parts; its graph drops what the host costs."""
    wall_ms = busy_ms + device_gap_ms + late_ms
    parts = {"busy_ns": round(busy_ms * MS), "device_gap_ns": round(device_gap_ms * MS)}
    runs = tuple(run(turn, columns([wall_ms] * TOKENS, min(dispatch_ms, wall_ms))) for turn in range(4))
    profile = window("eager-static", launch_latency_ns=0, **parts)
    eager = arm("eager-static", runs=runs, windows=(profile,))
    graph = arm("graph", [busy_ms + device_gap_ms] * 3)
    return bench(eager, graph) if with_graph else bench(eager)


def live(result: BenchResult) -> Snapshot:
    """What the live screen shows of the eager-static tokens of `result`."""
    eager, start_ns = result.arms[0], 0
    tokens = []
    for seen in eager.counted:
        for wall_ns, dispatch_ns in zip(seen.tokens.wall_ns, seen.tokens.dispatch_ns, strict=True):
            tokens.append(Token(start_ns, start_ns + dispatch_ns, start_ns + wall_ns))
            start_ns += wall_ns
    assert result.bandwidth is not None
    assert eager.window is not None
    events: list[AnyEvent] = [GPU, READY, EngineStage(0, "decoding"), result.bandwidth]
    events += [ModeEntered(0, "eager-static"), eager.window]
    events.append(TokenBatch(start_ns, "eager-static", 1, 0, tuple(tokens), None))
    state = State(0)
    for event in events:
        state.apply(event)
    return snapshot_of(state, start_ns, in_process=False, spec_bytes_per_s=None)


def judgements(result: BenchResult) -> tuple[Judgement, Judgement, Judgement]:
    """The judgement of bench, of compare and of the live screen."""
    row = live(result).mode_view("eager-static")
    assert row is not None
    return conclude(result, summarise(result)).judgement, machine(result).limit, row.judgement


@pytest.mark.parametrize("with_graph", [True, False])
@pytest.mark.parametrize(
    ("busy_ms", "device_gap_ms", "late_ms", "dispatch_ms", "limit"),
    [
        (6.0, 2.0, 2.0, 5.0, "mixed"),
        (6.0, 2.1, 1.9, 5.0, "gpu"),
        (6.0, 1.0, 3.0, 9.8, "mixed"),
        (3.6, 0.4, 6.0, 9.9, "host"),
        (5.0, 0.0, 5.0, 9.9, "host"),
        (5.1, 0.0, 4.9, 9.9, "mixed"),
        (9.0, 0.9, 0.1, 1.0, "gpu"),
        (1.1, 0.05, 0.02, 0.1, "bandwidth"),
    ],
)
def test_one_token_is_limited_by_the_same_everywhere(
    busy_ms: float, device_gap_ms: float, late_ms: float, dispatch_ms: float, limit: str, with_graph: bool
) -> None:
    result = split(busy_ms, device_gap_ms, late_ms, dispatch_ms, with_graph)
    found = judgements(result)
    assert [judgement.limit for judgement in found] == [limit] * 3
    assert len(set(found)) == 1
    said = headline(result, conclude(result, summarise(result)))
    assert LIMIT_WORDS[found[0].limit] in said.lower().replace("gpu", "GPU")
    assert limit_words(machine(result)) == {"gpu": "GPU"}.get(limit, limit)
    (idle,) = [line for line in judge_card(result).card.lines if line.name == "GPU idle in eager"]
    assert (idle.grade == "warn") == (limit == "host")


PART = st.floats(0, 60)


@given(st.floats(0.3, 60), PART, PART, st.floats(0, 1))
def test_bench_compare_and_screen_agree_on_any_token(
    busy_ms: float, device_gap_ms: float, late_ms: float, dispatched: float
) -> None:
    wall_ms = busy_ms + device_gap_ms + late_ms
    of_bench, of_compare, of_screen = judgements(
        split(busy_ms, device_gap_ms, late_ms, dispatched * wall_ms, with_graph=False)
    )
    assert of_bench == of_compare == of_screen
    assert of_bench.limit != "unknown"


@given(st.lists(st.floats(1, 60), min_size=8, max_size=12))
def test_rate_mean_and_mbu_are_one_figure_each(walls_ms: list[float]) -> None:
    """Of all counted tokens; the live screen covers as many, while they fit into its two seconds."""
    runs = (run(0, columns([99.0] * 3)), run(1, columns(walls_ms)), run(2, columns([walls_ms[0]] * 2)))
    result = bench(arm("eager-static", runs=runs))
    (arm_summary,) = summarise(result)
    row: Machine = machine(result)
    shown = live(result)
    assert shown.rate is not None
    assert shown.ceiling is not None
    assert row.tok_per_s["eager-static"] == arm_summary.tok_per_s == shown.rate.tok_per_s
    assert arm_summary.mean_ns == shown.rate.mean_ns
    assert row.mbu_spec == arm_summary.ceiling.mbu_spec == shown.ceiling.mbu_spec
    assert arm_summary.ceiling.mbu_measured == shown.ceiling.mbu_measured


# --- any recording ---------------------------------------------------------------------------

WALLS = st.lists(st.floats(1, 60), min_size=8, max_size=12)
SHARES = st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
"""Of the token: device busy, the rest of it that is device gap or launch latency, dispatch."""


@given(WALLS, SHARES, WALLS, SHARES)
def test_all_readers_of_a_recording_agree(
    eager_ms: list[float],
    eager_parts: tuple[float, float, float],
    graph_ms: list[float],
    graph_parts: tuple[float, float, float],
) -> None:
    """One run of each mode: the screen, the report, the bench and compare say the same of its tokens."""
    eager = one_run("eager-static", eager_ms, *eager_parts)
    graph = one_run("graph", graph_ms, *graph_parts)
    result = bench(eager, graph)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        snapshots = recorded(path, result)
        report = gather(path)
    conclusion, summaries = conclude(result, summarise(result)), summarise(result)
    row = machine(result)
    for summary, snap in zip(summaries, snapshots, strict=True):
        mode = summary.mode
        shown, told = snap.mode_view(mode), report.mode(mode)
        assert shown is not None
        assert told is not None
        assert snap.rate is not None
        assert snap.ceiling is not None
        assert summary.judgement == shown.judgement == told.judgement
        assert summary.tok_per_s == row.tok_per_s[mode] == snap.rate.tok_per_s == told.tok_per_s
        assert summary.ceiling.mbu_spec == snap.ceiling.mbu_spec == told.mbu_spec
        assert (summary.median_ns, summary.p99_ns) == (shown.wall_ns, shown.p99_ns)
        assert (told.wall_ns, told.took.p99_ns) == (shown.wall_ns, shown.p99_ns)
    (speed_up,) = conclusion.controlled
    replayed = snapshots[1].mode_view("graph")
    recorded_row = report.mode("graph")
    assert replayed is not None
    assert recorded_row is not None
    assert replayed.speedup == recorded_row.speedup == pytest.approx(speed_up.ratio.value, rel=1e-6)
    assert conclusion.judgement == row.limit == report.mode("eager-static").judgement  # type: ignore[union-attr]


def one_run(mode: ModeName, walls_ms: list[float], busy: float, gaps: float, dispatch: float) -> Arm:
    """An arm of one counted run, whose token consists of these shares."""
    wall_ns = statistics.median(round(wall * MS) for wall in walls_ms)
    busy_ns = round(busy * wall_ns)
    idle_ns = round(wall_ns - busy_ns)
    parts = {"busy_ns": busy_ns, "device_gap_ns": round(gaps * idle_ns / 2), "launch_latency_ns": 0}
    counted = run(1, columns(walls_ms, min(walls_ms) * dispatch))
    warm_up = run(0, columns([99.0] * 3))
    return arm(mode, runs=(warm_up, counted), windows=(window(mode, **parts),))


def recorded(path: Path, result: BenchResult) -> list[Snapshot]:
    """Write what `result` measured into a recording; what the screen showed at the end of each mode."""
    assert result.bandwidth is not None
    events: list[AnyEvent] = [GPU, READY, EngineStage(0, "decoding"), result.bandwidth]
    state, snapshots, now_ns = State(0), [], 0
    for event in events:
        state.apply(event)
    for number, taken in enumerate(result.arms, 1):
        assert taken.window is not None
        (counted,) = taken.counted
        tokens = []
        for wall_ns, dispatch_ns in zip(counted.tokens.wall_ns, counted.tokens.dispatch_ns, strict=True):
            tokens.append(Token(now_ns, now_ns + dispatch_ns, now_ns + wall_ns))
            now_ns += wall_ns
        said: list[AnyEvent] = [ModeEntered(tokens[0].start_ns, taken.mode), taken.window]
        said.append(TokenBatch(now_ns, taken.mode, number, 0, tuple(tokens)))
        for event in said:
            state.apply(event)
        events += said
        snapshots.append(snapshot_of(state, now_ns, in_process=False, spec_bytes_per_s=None))
    recorder = Recorder(clock=lambda: 0, host="h200")
    recorder.start(path, preamble=events)
    recorder.stop()
    return snapshots
