"""The same tokens get the same limit, rate and MBU from the live screen, bench, compare and check."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.bench.conclusion import conclude
from idlegap.core.bench.schema import BenchResult
from idlegap.core.bench.summary import summarise
from idlegap.core.check.check import judge as judge_card
from idlegap.core.compare.differences import limit_words
from idlegap.core.compare.machines import Machine, machine
from idlegap.core.measure.limits import Judgement
from idlegap.core.protocol.events import AnyEvent, EngineStage, ModeEntered, Token, TokenBatch
from idlegap.core.session.build import snapshot_of
from idlegap.core.session.snapshot import Snapshot
from idlegap.core.session.state import State
from idlegap.core.text.limit_words import LIMIT_WORDS
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
    return conclude(result, summarise(result)).judgement, machine("m", result).limit, row.judgement


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
    headline = conclude(result, summarise(result)).headline
    assert LIMIT_WORDS[found[0].limit] in headline.lower().replace("gpu", "GPU")
    assert limit_words(machine("m", result)) == {"gpu": "GPU"}.get(limit, limit)
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
    row: Machine = machine("m", result)
    shown = live(result)
    assert shown.rate is not None
    assert shown.ceiling is not None
    assert row.tok_per_s["eager-static"] == arm_summary.tok_per_s == shown.rate.tok_per_s
    assert arm_summary.mean_ns == shown.rate.mean_ns
    assert row.mbu_spec == arm_summary.mbu_spec == shown.ceiling.mbu_spec
    assert arm_summary.mbu_measured == shown.ceiling.mbu_measured
