"""Machines side by side: the article's figures, measured results, and what may not be mixed."""

import re
from collections.abc import Sequence

import msgspec
import pytest

from idlegap.core.bench.schema import Arm, BenchResult, PublishedFigures
from idlegap.core.compare.differences import differences
from idlegap.core.compare.differences import inversions as found_inversions
from idlegap.core.compare.machines import Machine, machine
from idlegap.core.protocol.events import Bandwidth
from idlegap.core.protocol.modes import ModeName
from idlegap.core.results.store import read
from idlegap.core.text.units import ms
from idlegap.tui.tables.bench import bench_text
from idlegap.tui.tables.compare import ceiling_slope, compare_text, points
from idlegap.tui.tables.compare_words import (
    difference_words,
    inversion_words,
    limit_reason,
    limit_words,
    ratio_words,
)
from tests.core.bench.fake_engine import READY, replace_struct
from tests.core.bench.results import GPU, HOST, MS, arm, bench, columns, run, window
from tests.paths import EXAMPLES

BOTH: tuple[ModeName, ...] = ("eager-static", "graph")
ARTICLE = [machine(read(EXAMPLES / f"article-rtx-{name}.json")) for name in ("4060-ti", "3070", "3070-ti")]


def inversions(machines: Sequence[Machine]) -> list[str]:
    return [inversion_words(found) for found in found_inversions(machines)]


def measured(**changes: object) -> Machine:
    return machine(bench(**changes))


def like_the_article() -> BenchResult:
    return bench(arm("eager"), arm("graph"), engine=replace_struct(READY, new_tokens=255, cache_len=767))


# --- the article's own figures ------------------------------------------------------


def test_the_articles_table_is_reproduced() -> None:
    assert [m.gpu for m in ARTICLE] == ["RTX 4060 Ti", "RTX 3070", "RTX 3070 Ti"]
    assert [m.cpu for m in ARTICLE] == ["Core i7-11700", "Ryzen 7 3700X", "Xeon E5-2680 v4"]
    assert [m.eager_rate for m in ARTICLE] == [70.09, 59.75, 30.56]
    shares = [m.mbu_spec for m in ARTICLE]
    assert [round(100 * share, 1) for share in shares if share is not None] == [75.2, 41.2, 15.5]
    assert ARTICLE[1].idle_share == pytest.approx(0.41, abs=0.005)


def test_what_limits_whom_is_inferred_from_published_figures() -> None:
    assert [limit_words(m) for m in ARTICLE] == ["bandwidth?", "mixed?", "host?"]
    assert "inferred: 15.5 % of its 608 GB/s" in limit_reason(ARTICLE[2])
    assert "inferred: the GPU idles in 41 % of a token" in limit_reason(ARTICLE[1])


def test_the_articles_inversion_is_explained_and_its_inference_is_called_one() -> None:
    first, second = inversions(ARTICLE)
    assert first.startswith("RTX 3070 has 1.56x the bandwidth of RTX 4060 Ti and decodes eagerly at 0.85x")
    assert "idles in 41 % of each token; that it waits for its host (Ryzen 7 3700X) is likely" in first
    assert second.startswith(
        "RTX 3070 Ti has 2.11x the bandwidth of RTX 4060 Ti and decodes eagerly at 0.44x"
    )
    assert "it uses 15.5 % of its own, the other 75.2 %" in second
    assert "(Xeon E5-2680 v4) is likely, not shown" in second


def test_a_ratio_is_that_of_the_rates_in_the_table() -> None:
    """The article gives the median of five runs as the rate, which their mean is not."""
    (found,) = differences([ARTICLE[2], ARTICLE[1]])
    assert found.ratios["eager"].value == pytest.approx(59.75 / 30.56)
    (again,) = differences([machine(like_the_article()), ARTICLE[1]])
    ratio = again.ratios["eager"]
    assert ratio.value == pytest.approx(59.75 * 0.021)
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low < ratio.value < ratio.high


def test_machines_in_the_expected_order_have_no_inversion() -> None:
    assert inversions([ARTICLE[2], machine(like_the_article())]) == []
    assert inversions([]) == []


def test_a_machine_without_a_specified_bandwidth_takes_no_part() -> None:
    unknown = measured(gpu=None)
    assert unknown.spec_bytes_per_s is None
    assert inversions([unknown, *ARTICLE])[0].startswith("RTX 3070 has")
    assert len(points([unknown])) == 0


# --- limits of measured machines ------------------------------------------------------


@pytest.mark.parametrize(
    ("busy_ms", "limit"), [(3.6, "host"), (12.0, "mixed"), (21.0, "GPU")], ids=["idle", "half", "busy"]
)
def test_a_profile_decides_what_limits(busy_ms: float, limit: str) -> None:
    windows = (window("eager-static", busy_ns=round(busy_ms * MS), launch_latency_ns=0, device_gap_ns=0),)
    found = machine(bench(arm("eager-static", windows=windows)))
    assert not found.limit.inferred
    assert limit_words(found) == limit


def test_without_a_profile_a_graph_tells_as_it_does_in_the_bench() -> None:
    found = machine(bench(arm("eager-static", windows=()), arm("graph")))
    assert limit_words(found) == "host"
    assert "replaying the same kernels from a graph saves 81 % of a token" in limit_reason(found)


def test_without_any_clue_the_limit_is_unknown() -> None:
    found = machine(bench(arm("eager-static", windows=()), gpu=None))
    assert limit_words(found) == "unknown"
    assert "neither a profile nor a specified bandwidth" in limit_reason(found)


def test_the_fastest_eager_mode_stands_for_eager() -> None:
    found = machine(bench(arm("eager", [21.0] * 5), arm("eager-static", [22.4] * 5), arm("graph")))
    assert found.eager_mode == "eager"
    assert found.eager_rate == pytest.approx(1000 / 21.0)
    assert found.graph_rate == pytest.approx(1000 / 4.22)
    assert found.dispatch_per_kernel_ns == pytest.approx(22.3e6 / 1429)


# --- differences ------------------------------------------------------------------------


def with_eager(*levels: float, **changes: object) -> Machine:
    return machine(bench(arm("eager-static", levels), arm("graph"), **changes))


def test_equal_machines_show_no_significant_difference() -> None:
    (found,) = differences(
        [with_eager(22.4, 22.5, 22.3, 22.6, 22.4), with_eager(22.5, 22.4, 22.6, 22.3, 22.5)]
    )
    assert found.unlike == ()
    assert ratio_words(found.ratios["eager-static"]).startswith("no significant difference")


def test_a_faster_machine_is_told_with_its_interval() -> None:
    (found,) = differences(
        [with_eager(22.4, 22.5, 22.3, 22.6, 22.4), with_eager(11.2, 11.3, 11.2, 11.1, 11.2)]
    )
    eager = found.ratios["eager-static"]
    assert eager.value == pytest.approx(2.0, rel=0.01)
    assert ratio_words(eager).startswith("2.00x (1.9")
    assert found.ratios["graph"].value == pytest.approx(1.0)


def computing(
    wall_ms: float,
    cpu_share: float = 1.0,
    gpu: str | None = "6a0e0c1a",
    mode: ModeName = "eager-static",
    busy_ms: float | None = 3.6,
) -> Machine:
    """A result whose `mode` computed for `cpu_share` of each token."""
    windows = () if busy_ms is None else (window(mode, busy_ns=round(busy_ms * MS)),)
    made = arm(mode, windows=windows, medians_ms=[wall_ms * (1 + step / 1000) for step in range(5)])
    runs = tuple(
        replace_struct(
            run,
            tokens=replace_struct(
                run.tokens, cpu_ns=tuple(round(cpu_share * wall) for wall in run.tokens.wall_ns)
            ),
        )
        for run in made.runs
    )
    return machine(bench(replace_struct(made, runs=runs), engine=replace_struct(READY, device_uuid=gpu)))


SLOW_HOST = (
    "the same GPU, and eager-static took 42.1 ms of CPU time a token, not 23.0: its host changed speed"
)


def test_one_gpu_whose_host_changed_speed_is_said_to_have_one() -> None:
    (found,) = differences([computing(23.0), computing(42.0)])
    assert found.reasons == (SLOW_HOST,)
    assert f"; {SLOW_HOST}" in " ".join(compare_text([computing(23.0), computing(42.0)], 200).split())
    (back,) = differences([computing(42.0), computing(23.0)])
    assert "took 23.0 ms of CPU time a token, not 42.1" in back.reasons[0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (computing(23.0), computing(42.0, gpu="another")),
        (computing(23.0, gpu=None), computing(42.0, gpu=None)),
        # Somebody else had the CPU, or the thread slept.
        (computing(23.0), computing(42.0, cpu_share=0.55)),
        # Longer than one speed of the host explains, but the GPU may have set the pace.
        (computing(23.0, busy_ms=12.0), computing(42.0, busy_ms=12.0)),
        (computing(23.0, busy_ms=None), computing(42.0, busy_ms=None)),
        # A graph's thread spins while it waits.
        (computing(4.2, mode="graph"), computing(8.4, mode="graph")),
        (with_eager(23.0, 23.1, 23.2), with_eager(42.0, 42.1, 42.2)),
    ],
)
def test_nothing_else_is_called_a_host_that_changed_speed(first: Machine, second: Machine) -> None:
    (found,) = differences([first, second])
    assert found.reasons == ()


def test_a_difference_that_one_speed_of_the_host_explains_is_only_put_in_numbers() -> None:
    (found,) = differences([computing(23.0), computing(24.4)])
    assert found.reasons == ("the same GPU, and eager-static took 24.4 ms of CPU time a token, not 23.0",)


@pytest.mark.parametrize("slow_ms", [94.0, 190.0])
def test_longer_kernels_are_the_reason_and_not_the_host_that_spins_meanwhile(slow_ms: float) -> None:
    """Launches wait for a full queue, so that dispatch and CPU time are the whole token."""
    fast, slow = computing(63.0, busy_ms=62.8), computing(slow_ms, busy_ms=slow_ms - 0.2)
    (found,) = differences([fast, slow])
    shown = ms((slow_ms - 0.2) * MS)
    assert found.reasons == (f"its kernels take {shown} ms a token in eager-static, not 62.8",)
    (back,) = differences([slow, fast])
    assert back.reasons == (f"its kernels take 62.8 ms a token in eager-static, not {shown}",)
    text = " ".join(compare_text([fast, slow], 200).split())
    assert f"; its kernels take {shown} ms a token in eager-static, not 62.8" in text


def test_where_kernels_explain_it_the_host_is_not_accused_as_well() -> None:
    (found,) = differences([computing(23.0, busy_ms=3.6), computing(42.0, busy_ms=41.0)])
    assert found.reasons == ("its kernels take 41.0 ms a token in eager-static, not 3.60",)


def test_a_host_that_the_faster_result_did_not_wait_for_is_not_accused() -> None:
    (found,) = differences([computing(23.0, busy_ms=20.0), computing(42.0, busy_ms=3.6)])
    assert found.reasons == ()


def test_kernels_that_take_a_little_longer_do_not_explain_a_slower_host() -> None:
    (found,) = differences([computing(23.0, busy_ms=3.6), computing(42.0, busy_ms=4.2)])
    assert found.reasons == (SLOW_HOST,)
    (little,) = differences([computing(23.0, busy_ms=3.6), computing(24.4, busy_ms=5.4)])
    assert little.reasons == ("the same GPU, and eager-static took 24.4 ms of CPU time a token, not 23.0",)


def test_kernels_explain_a_graph_as_well_and_each_mode_is_named() -> None:
    def both(eager_ms: float, graph_ms: float) -> Machine:
        windows = {
            "eager-static": (window("eager-static", busy_ns=round((eager_ms - 0.1) * MS)),),
            "graph": (window("graph", busy_ns=round((graph_ms - 0.1) * MS)),),
        }
        levels = {"eager-static": [eager_ms] * 5, "graph": [graph_ms] * 5}
        return modes(*(arm(mode, levels[mode], windows=windows[mode]) for mode in BOTH))

    (found,) = differences([both(63.0, 62.0), both(94.0, 93.0)])
    told = (
        "its kernels take 93.9 ms a token in eager-static, not 62.9, and 92.9 ms a token in graph, not 61.9"
    )
    assert found.reasons == (told,)


# --- two speeds ---------------------------------------------------------------------------


def test_two_speeds_within_one_result_are_said_beside_its_narrow_interval() -> None:
    """Every run has both in the same shares, so that the runs agree and the interval hides them."""
    runs = tuple(run(turn, columns([23.2] * 31 + [35.1] * 19)) for turn in range(6))
    steady, mixed = with_eager(23.2, 23.2, 23.2), machine(bench(arm("eager-static", runs=runs)))
    told = "eager-static has two speeds: 62 % of the tokens near 23.2 ms, the rest near 35.1 ms"
    assert mixed.two_speeds == {"eager-static": f"{told} (both within 5 of 5 runs)"}
    assert steady.two_speeds == {}
    text = compare_text([steady, mixed], 200)
    assert text.splitlines()[3].split()[0] == "2="
    flat = " ".join(text.split())
    assert f"= row 2: {told}" in flat
    assert "eager-static 0.84x (0.84-0.84)" in flat
    assert "(row 2 with two speeds)" in flat


def modes(*arms: Arm) -> Machine:
    return machine(bench(*arms))


def test_each_mode_is_compared_with_itself_alone_and_named() -> None:
    """The first machine's fastest eager mode is the static one, the second's is the other."""
    ours = modes(arm("eager", [24.0] * 5), arm("eager-static", [12.0] * 5), arm("graph", [4.0] * 5))
    theirs = modes(arm("eager", [8.0] * 5), arm("eager-static", [24.0] * 5), arm("graph", [8.0] * 5))
    assert (ours.eager_mode, theirs.eager_mode) == ("eager-static", "eager")
    (found,) = differences([ours, theirs])
    values = {mode: ratio.value for mode, ratio in found.ratios.items()}
    assert values == pytest.approx({"eager": 3.0, "eager-static": 0.5, "graph": 0.5})
    told = "eager 3.00x (3.00-3.00), eager-static 0.50x (0.50-0.50), graph 0.50x (0.50-0.50)"
    assert difference_words(found) == told
    assert told in " ".join(compare_text([ours, theirs], 160).split())


def test_modes_of_inductor_are_compared_too_where_both_ran_them() -> None:
    both = arm("graph"), arm("fused", [4.0] * 5), arm("fused-graph", [2.0] * 5)
    first = modes(*both, arm("compiled", [3.0] * 5))
    (found,) = differences([first, modes(*both[:2], arm("fused-graph", [1.0] * 5))])
    assert list(found.ratios) == ["graph", "fused", "fused-graph"]
    assert found.ratios["fused-graph"].value == pytest.approx(2)
    assert "fused no significant difference, 1.00x" in difference_words(found)


def test_without_an_eager_mode_in_common_that_is_said_and_nothing_is_divided() -> None:
    static, plain, none = modes(arm("eager-static")), modes(arm("eager")), modes(arm("graph"))
    against_static, against_none = differences([static, plain, none])
    assert against_static.ratios == {}
    assert difference_words(against_static) == "no eager mode in common (eager, not eager-static), graph n/a"
    assert difference_words(against_none).startswith("no eager mode in common (none, not eager-static)")


def test_more_bandwidth_decodes_slower_only_if_it_does_so_in_the_same_mode() -> None:
    """An H200's eager against a small card's eager-static says nothing; against its eager it does."""
    small = msgspec.structs.replace(GPU, bus_width_bits=128)
    card = replace_struct(READY, device_name="small card")
    static = machine(bench(arm("eager-static", [2.0] * 5), gpu=small, engine=card))
    both = machine(bench(arm("eager", [10.0] * 5), arm("eager-static", [2.0] * 5), gpu=small, engine=card))
    h200 = modes(arm("eager", [20.0] * 5))
    assert inversions([h200, static]) == []
    (told,) = inversions([h200, both])
    assert "decodes eagerly at 0.50x its rate (eager: 50.0 against 100.0 tok/s)" in told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"new_tokens": 64}, "new tokens 64, not 40"),
        ({"prompt_tokens": 128}, "prompt tokens 128, not 512"),
        ({"dtype": "bfloat16"}, "dtype bfloat16, not float16"),
        ({"cache_len": 4096}, "cache len 4096, not 552"),
        ({"batch": 4}, "batch 4, not 1"),
        ({"shape": "2 layers"}, "shape 2 layers, not 28 layers, hidden 1536"),
    ],
)
def test_another_workload_is_flagged_and_not_compared(changes: dict[str, object], told: str) -> None:
    other = measured(engine=replace_struct(READY, **changes))
    (found,) = differences([measured(), other])
    assert found.ratios == {}
    assert found.unlike[0].startswith(told)
    assert f"NOT COMPARED, another workload: {told[:20]}" in compare_text([measured(), other])


def cached(slots: int, *names: ModeName) -> Machine:
    return machine(bench(*(arm(name) for name in names), engine=replace_struct(READY, cache_len=slots)))


@pytest.mark.parametrize(("slots", "compared"), [(767, True), (768 + 15, True), (752, False), (784, False)])
def test_a_cache_that_differs_by_less_than_a_step_is_a_remark(slots: int, compared: bool) -> None:
    rows = [cached(slots, "eager-static", "graph"), cached(768, "eager-static", "graph")]
    (found,) = differences(rows)
    assert set(found.ratios) == ({"eager-static", "graph"} if compared else set())
    told = f"(cache {slots} and 768 slots)" if compared else f"workload: cache len 768, not {slots}"
    assert told in " ".join(compare_text(rows).split())


def test_the_length_of_a_cache_does_not_matter_to_a_mode_without_it() -> None:
    short, long = (cached(slots, "eager", "eager-static", "graph") for slots in (552, 4096))
    (found,) = differences([short, long])
    assert set(found.ratios) == {"eager"}
    assert difference_words(found).endswith(", other modes NOT COMPARED: cache len 4096, not 552")
    (plain,) = differences([cached(767, "eager"), cached(768, "eager")])
    assert (set(plain.ratios), plain.remark) == ({"eager"}, "")


@pytest.mark.parametrize(
    ("slots", "mode", "told"), [(552, "eager-static", 1), (600, "eager-static", 0), (600, "eager", 1)]
)
def test_an_inversion_needs_caches_alike_only_where_there_are_some(
    slots: int, mode: ModeName, told: int
) -> None:
    small = msgspec.structs.replace(GPU, bus_width_bits=128)
    card = replace_struct(READY, device_name="small card", cache_len=slots)
    fast = machine(bench(arm(mode, [2.0] * 5), gpu=small, engine=card))
    assert len(inversions([modes(arm(mode, [20.0] * 5)), fast])) == told


def test_what_a_publication_leaves_open_is_flagged_and_compared_all_the_same() -> None:
    (found,) = differences([machine(like_the_article()), ARTICLE[1]])
    assert found.unlike == ()
    assert found.unstated == ("cache len",)
    assert found.ratios["eager"].low is not None
    (single,) = differences([machine(like_the_article()), ARTICLE[0]])
    assert ratio_words(single.ratios["eager"]).endswith("(no interval: 1 run)")


# --- contention -----------------------------------------------------------------------


def contended() -> BenchResult:
    """The decode thread waited for a CPU in 40 % of three of its ten counted runs."""
    made = [run(turn, columns([10.0] * 20, delays_ms=[4.0 * (turn < 4)] * 20)) for turn in range(6)]
    return bench(arm("eager-static", runs=tuple(made)), arm("graph"))


def test_a_contended_row_is_marked_and_its_footnote_says_what_its_own_bench_says() -> None:
    rows = [machine(bench()), machine(contended()), ARTICLE[0]]
    text = compare_text(rows)
    assert [text.splitlines()[n].split()[0] for n in (2, 3, 4)] == ["1", "2!", "3*"]
    flat = " ".join(text.split())
    seen = "in 3 of 10 runs the decode thread waited for a CPU, 40 % of the time in eager-static run 1"
    assert f"! row 2 CONTENDED: {seen}" in flat
    assert f"CONTENDED: {seen}" in " ".join(bench_text(contended()).split())
    assert "(row 2 contended)" in flat
    assert max(map(len, text.splitlines())) <= 80


def test_quiet_rows_have_no_mark() -> None:
    text = compare_text([machine(bench()), machine(bench()), *ARTICLE])
    assert "!" not in text
    assert "+" not in text.split("what limits whom")[0]
    assert "contended" not in text.lower()


def test_differences_say_whichever_side_was_contended() -> None:
    both = compare_text([machine(contended()), machine(contended()), machine(bench())])
    first, second = both.split("by runs:")[1].split(" 3  H200:")
    assert "(rows 1 and 2 contended)" in " ".join(first.split())
    assert "(row 1 contended)" in " ".join(second.split())


# --- the decode thread ------------------------------------------------------------------


def blocked() -> BenchResult:
    return bench(engine=replace_struct(READY, wait="block"))


def test_how_an_unusual_decode_thread_was_run_is_a_footnote() -> None:
    placed = msgspec.structs.replace(bench().environment, pin_core=0, nice=-5)
    both = msgspec.structs.replace(contended(), environment=placed)
    text = compare_text([machine(bench()), machine(blocked()), machine(both), *ARTICLE])
    assert [line.split()[0] for line in text.splitlines()[2:6]] == ["1", "2+", "3!+", "4*"]
    assert "\n+  row 2 decoded with --wait block\n" in text
    assert "\n+  row 3 decoded with --pin 0, --nice -5\n" in text
    assert max(map(len, text.splitlines())) <= 80


def test_differences_say_which_side_waited_in_another_way() -> None:
    text = compare_text([machine(bench()), machine(blocked()), machine(bench())])
    first, second = text.split("by runs:")[1].split(" 3  H200:")
    assert "(row 2 with --wait block)" in " ".join(first.split())
    assert "--wait" not in second
    swapped = compare_text([machine(blocked()), machine(bench())])
    assert "(row 1 with --wait block)" in " ".join(swapped.split())


# --- text ---------------------------------------------------------------------------------


def test_the_text_fits_its_width_and_holds_every_part() -> None:
    rows = [machine(like_the_article()), *ARTICLE, measured(host=None, gpu=None, bandwidth=None)]
    for width in (80, 100, 160):
        text = compare_text(rows, width)
        assert max(map(len, text.splitlines())) <= width
        assert text.isascii()
        for part in ("limit", "what limits whom", "against 1 (H200)", "GB/s specified", "NOT COMPARED", "2*"):
            assert part in text
    assert "not measured by idlegap" in text


def test_long_names_are_cut_to_fit_and_short_ones_are_not() -> None:
    long = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
    rows = [measured(engine=replace_struct(READY, device_name=long)), *ARTICLE]
    narrow, wide = compare_text(rows, 80), compare_text(rows, 160)
    assert max(map(len, narrow.splitlines())) <= 80
    assert re.search(r"RTX PRO [0-9B]*.*~ ", narrow)
    assert "RTX PRO 6000 Blackwell Max-Q Workstatio~" in wide


def test_one_result_alone_is_a_table_without_differences() -> None:
    text = compare_text([measured()])
    assert "against 1" not in text
    assert "Xeon Platinum 84" in text


def test_machines_without_any_rate_are_listed_without_a_plot() -> None:
    text = compare_text([measured(arms=(arm("graph", runs=()),), gpu=None)])
    assert "GB/s specified" not in text
    assert "n/a" in text
    assert text.endswith("\nnot in the plot, without a specified bandwidth: row 1\n")


def test_no_row_leaves_the_plot_without_a_word() -> None:
    here, cpu = measured(), measured(engine=replace_struct(READY, device="cpu", device_name="CPU"))
    text = compare_text([here, cpu, here, cpu])
    assert "\n1, 3: at the same place, where only 3 shows\n" in text
    assert "\na, c: at the same place, where only c shows\n" in text
    assert text.endswith("\nnot in the plot, without a specified bandwidth: row 2, 4\n")
    assert "same place" not in compare_text(ARTICLE)
    assert "not in the plot" not in compare_text(ARTICLE)


def test_the_ceiling_is_drawn_for_one_model_only() -> None:
    here, small = measured(), measured(engine=replace_struct(READY, weight_bytes=1_000_000))
    assert ceiling_slope([here, *ARTICLE]) == pytest.approx(1e9 / 3.088e9)
    assert ceiling_slope([here, small]) is None


def test_marks_of_points_name_their_rows() -> None:
    assert [mark for _, _, mark in points([ARTICLE[0], measured()])] == ["1", "2", "b"]


def test_names_lose_their_noise() -> None:
    host = replace_host("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz")
    assert measured(host=host).cpu == "Xeon E5-2680 v4"
    assert measured(host=replace_host("AMD Ryzen 7 3700X 8-Core Processor")).cpu == "Ryzen 7 3700X"
    assert measured(engine=replace_struct(READY, device_name="NVIDIA GeForce RTX 3070")).gpu == "RTX 3070"


def replace_host(model: str) -> object:
    return msgspec.structs.replace(HOST, cpu_model=model)


def test_figures_of_a_publication_without_eager_fall_back_to_the_static_one() -> None:
    figures = read(EXAMPLES / "article-rtx-3070.json")
    assert isinstance(figures, PublishedFigures)
    static_only = {mode: found for mode, found in figures.modes.items() if mode != "eager"}
    found = machine(msgspec.structs.replace(figures, modes=static_only))
    assert found.eager_mode == "eager-static"
    assert found.tok_per_s["eager-static"] == 54.33


def test_a_copy_bandwidth_is_shown_where_it_was_measured() -> None:
    assert measured(bandwidth=Bandwidth(0, 4e12, None)).copy_bytes_per_s == 4e12
    assert measured(bandwidth=None).copy_bytes_per_s is None
