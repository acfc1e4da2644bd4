"""The benchmark's text in both forms."""

import pytest

from idlegap.core.bench.schema import Arm, Conditions, Environment
from idlegap.core.bench.summary import summarise
from idlegap.core.protocol.modes import MODE_NAMES
from idlegap.core.protocol.settings import Wait
from idlegap.tui.tables.bench import bench_text
from idlegap.tui.tables.bench_table import FIGURES, narrow, wide
from tests.core.bench.fake_engine import READY, replace_struct
from tests.core.bench.results import MS, arm, bench, columns, run, window

ALL = tuple(arm(mode) for mode in MODE_NAMES)


@pytest.mark.parametrize("width", [40, 80, 100, 120, 200])
def test_lines_never_exceed_the_width(width: int) -> None:
    text = bench_text(bench(*ALL), width)
    assert max(map(len, text.splitlines())) <= max(width, 80)


@pytest.mark.parametrize("width", [80, 130])
def test_the_text_is_plain_ascii_for_any_locale(width: int) -> None:
    assert bench_text(bench(*ALL), width).isascii()


def test_both_forms_hold_every_figure_of_every_mode() -> None:
    summaries = summarise(bench(*ALL))
    for lines in (narrow(summaries), wide(summaries)):
        text = "\n".join(lines)
        for arm_summary in summaries:
            for figure in FIGURES:
                shown = figure.show(arm_summary)
                assert shown is not None
                assert shown in text


def test_rate_and_mean_belong_together_and_the_median_is_called_one() -> None:
    """Nine tokens of 10 ms and one of 110: the mean is 20 ms, or 50 tok/s, and the median 10."""
    skewed = arm("eager-static", runs=tuple(run(turn, columns([10.0] * 9 + [110.0])) for turn in range(4)))
    text = bench_text(bench(skewed))
    rows = {line[:20].strip(): line[20:].strip() for line in text.splitlines()}
    assert (rows["tokens/s, mean"], rows["ms/token, mean"], rows["median"]) == ("50.0", "20.0", "10.0")
    assert "MBU is of that rate; dispatch, gaps," in " ".join(text.split())
    heads = list(zip(*(figure.heading for figure in FIGURES[:3]), strict=True))
    assert heads == [("tok/s", "ms", "ms"), ("mean", "mean", "p50")]


def test_the_mean_of_a_batch_is_that_of_its_steps() -> None:
    (found,) = summarise(bench(arm("graph", [4.0] * 3), engine=replace_struct(READY, batch=4)))
    assert (found.tok_per_s, found.mean_ns) == (1000.0, 4 * MS)


def test_the_narrow_form_has_figures_down_and_the_wide_one_modes_down() -> None:
    assert any(line.startswith("tokens/s, mean") for line in bench_text(bench(*ALL), 80).splitlines())
    wide_lines = bench_text(bench(*ALL), 130).splitlines()
    assert [line.split()[0] for line in wide_lines if line.startswith(tuple(MODE_NAMES))][:6] == list(
        MODE_NAMES
    )


def test_more_modes_than_fit_go_into_another_block() -> None:
    twice = (*ALL, arm("graph", label="graph#2"))
    lines = narrow(summarise(bench(*twice)))
    assert sum(line.startswith("tokens/s") for line in lines) == 2
    assert max(map(len, lines)) <= 80


def test_what_is_not_known_is_na_with_one_line_for_each_reason() -> None:
    no_window = (window("eager", accepted=False, steps=0, reason="profile windows need CUDA"),)
    made = bench(arm("eager", windows=no_window), bandwidth=None, gpu=None)
    text = bench_text(made)
    assert "n/a  device busy ms, host gap ms, launch latency ms, device gap ms," in text
    assert "kernels/token: profile windows need CUDA" in text
    assert "n/a  MBU of specified, %: no NVML reading" in text
    one_of_two = bench_text(bench(arm("eager", windows=no_window), arm("graph")))
    assert "kernels/token (eager): profile windows need CUDA" in one_of_two


def test_refused_modes_are_named_with_their_reason() -> None:
    text = bench_text(bench(arm("eager-static"), arm("graph", runs=(), refused="needs CUDA")))
    assert "graph  not run: needs CUDA" in text


def speed_ups(*arms: Arm) -> list[str]:
    lines = bench_text(bench(*arms)).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("speed-up"))
    return lines[start : lines.index("", start)]


def test_both_speed_ups_stand_side_by_side_where_plain_eager_is_the_faster() -> None:
    head, eager, graph, static = speed_ups(arm("eager"), arm("eager-static"), arm("graph"))
    assert head.split("  ")[1:] == ["against eager-static", "against eager (fastest eager)"]
    assert eager.split() == ["eager", "1.07x", "(1.07-1.07)", "-"]
    assert graph.split() == ["graph", "5.31x", "(5.31-5.31)", "4.98x", "(4.98-4.98)"]
    assert static.split() == ["eager-static", "-", "0.94x", "(0.94-0.94)"]


@pytest.mark.parametrize("eager", [(), (arm("eager", [30.0] * 5),)])
def test_one_column_says_all_where_the_baseline_is_the_fastest(eager: tuple[Arm, ...]) -> None:
    head, *rows = speed_ups(*eager, arm("eager-static"), arm("graph"))
    assert head == "speed-up, 95 % interval  against eager-static (fastest eager)"
    assert [row.split()[0] for row in rows] == [*(["eager"] if eager else []), "graph"]
    assert rows[-1].split() == ["graph", "5.31x", "(5.31-5.31)"]


def test_without_the_baseline_there_is_no_empty_column_for_it() -> None:
    head, row = speed_ups(arm("eager"), arm("graph"))
    assert head == "speed-up, 95 % interval  against eager (fastest eager)"
    assert row.split() == ["graph", "4.98x", "(4.98-4.98)"]


def test_contention_stands_beside_the_headline() -> None:
    waiting = run(1, columns([10.0] * 4, delays_ms=[5.0] * 4), conditions=Conditions(others_cores=7.0))
    made = bench(arm("eager-static", runs=(waiting,)))
    headline = bench_text(made, 300).split("not steady:")[0]
    assert "CONTENDED: in 1 of 1 runs the decode thread waited for a CPU, 50 % of the time" in headline
    assert "CONTENDED" not in bench_text(bench())


@pytest.mark.parametrize(
    ("wait", "environment", "said"),
    [
        ("block", Environment(), "warm-up of each, waits for the GPU blocked"),
        ("block", Environment(nice=5), "warm-up of each, nice 5, waits for the GPU blocked"),
        ("spin", Environment(nice=5), "warm-up of each, nice 5"),
        ("spin", Environment(), "warm-up of each"),
    ],
)
def test_a_wait_that_is_not_the_usual_one_stands_at_the_head(
    wait: Wait, environment: Environment, said: str
) -> None:
    made = bench(engine=replace_struct(READY, wait=wait), environment=environment)
    assert bench_text(made, 300).splitlines()[2].endswith(said)


def test_an_incomplete_result_says_so_at_its_head() -> None:
    text = bench_text(bench(complete=False, reason="interrupted"), 200)
    assert "INCOMPLETE (interrupted): 5 counted runs" in text.splitlines()[2]


def test_speed_ups_that_mean_nothing_are_marked() -> None:
    text = bench_text(bench(arm("eager-static", [22.4, 22.5, 22.3]), arm("graph", [22.3, 22.5, 22.4])))
    assert "n.s." in text
    assert "n.s.: no significant difference" in text
    assert "n.s." not in bench_text(bench())


def test_a_benchmark_without_any_run_is_still_told() -> None:
    text = bench_text(bench(arm("graph", runs=(), refused="needs CUDA")))
    assert "graph  not run: needs CUDA" in text
    assert "speed-up" not in text


def test_the_workload_and_the_software_are_named() -> None:
    text = bench_text(bench(engine=replace_struct(READY, random_weights=False)), 200)
    assert "real weights, float16, sdpa, batch 1, 512 + 40 tokens, cache 552" in text
    assert "torch 2.11.0+cu130, CUDA 13.0, transformers 5.17.0" in text
    assert "Xeon Platinum 8480+, 16 usable cores" in text


def test_a_wide_table_that_would_not_fit_falls_back_to_the_narrow_one() -> None:
    slow = arm("eager", [123_456.0] * 3, label="eager#1234567890")
    lines = bench_text(bench(slow, engine=replace_struct(READY, batch=1)), 120).splitlines()
    assert max(map(len, lines)) <= 120
    assert slow.runs[0].tokens.wall_ns[0] > 1000 * MS
