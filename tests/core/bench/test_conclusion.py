"""The conclusion for each kind of machine, and what it must never claim."""

from dataclasses import dataclass
from random import Random

import msgspec
import numpy as np
import pytest

from idlegap.core.bench.conclusion import Conclusion, conclude, speed_up
from idlegap.core.bench.schema import Arm, BenchResult
from idlegap.core.bench.summary import ArmSummary, summarise
from idlegap.core.measure.limits import Judgement
from idlegap.core.protocol.events import Bandwidth, Verified
from idlegap.core.protocol.modes import ModeName
from idlegap.tui.tables.bench_words import caveats, headline, prefill_words
from tests.core.bench.fake_engine import READY, replace_struct
from tests.core.bench.results import MS, arm, bench, window


def spread(median: float, share: float = 0.005, seed: int = 3) -> list[float]:
    random = Random(seed)
    return [median * random.gauss(1, share) for _ in range(5)]


@dataclass
class Said:
    """A conclusion and its words."""

    found: Conclusion
    headline: str
    prefill: str
    caveats: tuple[str, ...]

    @property
    def judgement(self) -> Judgement:
        return self.found.judgement


def said(result: BenchResult) -> Said:
    arms = summarise(result)
    found = conclude(result, arms)
    texts = headline(result, found), prefill_words(found), tuple(caveats(result, arms, found))
    return Said(found, *texts)


def judged(*arms: Arm, **changes: object) -> Said:
    return said(bench(*arms, **changes))


def busy(mode: str, busy_ms: float, **changes: object) -> tuple[object, ...]:
    return (window(mode, busy_ns=round(busy_ms * MS), launch_latency_ns=0, device_gap_ns=0, **changes),)


# --- what limits ------------------------------------------------------------------


def test_a_gpu_that_waits_longer_than_it_works_is_limited_by_the_host() -> None:
    found = judged(arm("eager-static", spread(22.4)), arm("graph", spread(4.22, seed=5)))
    assert found.judgement.limit == "host"
    assert found.headline.startswith("The host limits: the GPU works 3.63 of the median token's 22.")
    assert "5.3" in found.headline


def test_a_gpu_that_waits_for_a_third_of_the_token_is_mixed() -> None:
    found = judged(
        arm("eager-static", spread(18.4), windows=busy("eager-static", 10.8)),
        arm("graph", spread(11.6, seed=5), windows=busy("graph", 10.9)),
    )
    assert found.judgement.limit == "mixed"
    assert found.headline.startswith("Host and GPU both limit: the GPU works 10.8 of the median token's 18.")


def test_a_busy_gpu_limits_whether_graphs_help_a_little_or_not_at_all() -> None:
    eager = arm("eager-static", spread(17.4), windows=busy("eager-static", 16.9))
    little = judged(eager, arm("graph", spread(16.0, seed=5), windows=busy("graph", 16.9)))
    nothing = judged(eager, arm("graph", spread(17.4), windows=busy("graph", 16.9)))
    assert little.judgement.limit == nothing.judgement.limit == "gpu"
    assert little.headline.startswith("The GPU limits: the GPU works 16.9 of")
    assert "no significant difference" in nothing.headline


def test_where_nothing_was_busy_and_nothing_helped_nothing_is_concluded() -> None:
    found = judged(
        arm("eager-static", spread(22.4, 0.3), windows=busy("eager-static", 3.6)),
        arm("graph", spread(20.0, 0.3, seed=9), windows=busy("graph", 3.7)),
    )
    assert found.headline.startswith("Not significant: ")
    assert found.headline.endswith(": 1 is not ruled out. By the profile, the host limits.")


def test_two_runs_are_too_few_to_conclude_from() -> None:
    found = judged(arm("eager-static", [22.4, 22.5]), arm("graph", [4.2, 4.2]))
    assert found.headline.startswith("Not significant: ")
    assert "2 counted runs are too few" in found.headline


def test_a_difference_below_one_per_cent_is_none_however_narrow_its_interval() -> None:
    a = [20.0, 20.001, 20.002, 20.001, 20.0]
    slower, faster = arm("eager-static", [v * 1.005 for v in a]), arm("graph", a)
    summaries = summarise(bench(slower, faster))
    found = speed_up(summaries[1], summaries[0])
    assert found is not None
    assert found.ratio.significant
    assert not found.significant


def test_replay_and_profile_that_disagree_are_said_to() -> None:
    found = judged(
        arm("eager-static", spread(22.4), windows=busy("eager-static", 20.0)),
        arm("graph", spread(4.2, seed=5), windows=busy("graph", 3.7)),
    )
    assert found.judgement.limit == "gpu"
    assert found.headline.startswith("The GPU limits: ")
    assert "Replay saves 81 % of the token, but the profile saw" in found.headline
    assert "the two disagree" in found.headline


@pytest.mark.parametrize(
    ("graph_ms", "limit"), [(4.2, "host"), (14.0, "mixed"), (21.0, "gpu"), (22.4, "unknown"), (30.0, "gpu")]
)
def test_without_a_profile_what_replay_saves_decides(graph_ms: float, limit: str) -> None:
    found = judged(arm("eager-static", spread(22.4), windows=()), arm("graph", spread(graph_ms)))
    assert (found.judgement.limit, found.judgement.inferred) == (limit, False)
    assert ("1 is not ruled out" in found.headline) == (limit == "unknown")


def test_weights_that_take_most_of_the_token_make_it_the_bandwidth() -> None:
    slow = Bandwidth(0, 3_087_428_608 / 0.0144, None)
    eager = arm("eager-static", spread(17.4), windows=busy("eager-static", 16.9))
    found = judged(eager, arm("graph", spread(16.0, seed=5)), bandwidth=slow)
    assert found.judgement.limit == "bandwidth"
    assert found.headline.startswith("Memory bandwidth limits: ")


def test_without_a_graph_the_profile_alone_decides_and_says_so() -> None:
    found = judged(arm("eager-static", spread(22.4)))
    assert found.judgement.limit == "host"
    assert found.headline.startswith("The host limits, by the profile alone, without a graph run to confirm")


@pytest.mark.parametrize(
    ("result", "part"),
    [
        (bench(arm("eager-static", windows=())), "neither a graph run nor an accepted profile"),
        (bench(arm("graph")), "eager-static, the baseline of the comparison, was not measured"),
        (bench(engine=replace_struct(READY, device="cpu")), "No GPU took part"),
        (bench(arm("eager-static", runs=())), "was not measured"),
    ],
)
def test_what_cannot_be_told_is_not_told(result: BenchResult, part: str) -> None:
    found = said(result)
    assert found.judgement.limit == "unknown"
    assert found.judgement.reason
    assert part in found.headline


# --- the ratios -------------------------------------------------------------------


def test_both_speed_ups_have_their_own_baseline() -> None:
    found = judged(arm("eager", spread(21.0)), arm("eager-static", spread(22.4)), arm("graph", spread(4.2)))
    assert {(s.label, s.against) for s in found.found.controlled} == {
        ("eager", "eager-static"),
        ("graph", "eager-static"),
    }
    assert {(s.label, s.against) for s in found.found.gained} == {
        ("eager-static", "eager"),
        ("graph", "eager"),
    }
    controlled = next(s for s in found.found.controlled if s.label == "graph")
    gained = next(s for s in found.found.gained if s.label == "graph")
    assert controlled.ratio.value == pytest.approx(22.4 / 4.2, rel=1e-6)
    assert gained.ratio.value == pytest.approx(21.0 / 4.2, rel=1e-6)


def test_the_fastest_eager_is_the_static_one_where_that_is_faster() -> None:
    found = judged(arm("eager", spread(25.0)), arm("eager-static", spread(22.4)), arm("graph", spread(4.2)))
    assert {s.against for s in found.found.gained} == {"eager-static"}


def test_ratios_are_paired_by_turn_so_that_a_shared_drift_cancels() -> None:
    drift = np.array([1.0, 1.3, 1.7, 1.2, 2.0])
    eager, graph = arm("eager-static", list(10.3 * drift)), arm("graph", list(10.0 * drift))
    summaries: tuple[ArmSummary, ...] = summarise(bench(eager, graph))
    found = speed_up(summaries[1], summaries[0])
    assert found is not None
    assert found.ratio.value == pytest.approx(1.03, rel=1e-6)
    assert found.significant


def test_only_turns_that_both_took_part_in_are_compared() -> None:
    eager, graph = arm("eager-static", [20.0, 20.0, 20.0, 20.0, 99.0]), arm("graph", [4.0] * 4)
    summaries = summarise(bench(eager, graph))
    found = speed_up(summaries[1], summaries[0])
    assert found is not None
    assert found.ratio.runs == 4
    assert found.ratio.value == pytest.approx(5.0)
    nothing = summarise(bench(arm("eager-static", runs=()), graph))
    assert speed_up(nothing[1], nothing[0]) is None


# --- prefill and caveats ----------------------------------------------------------


def with_prefill(made: Arm, prefill_ms: float) -> Arm:
    runs = tuple(msgspec.structs.replace(r, prefill_ns=round(prefill_ms * MS) + r.turn) for r in made.runs)
    return msgspec.structs.replace(made, runs=runs)


def test_prefill_that_stayed_is_unmoved_and_one_that_moved_is_a_warning() -> None:
    eager = with_prefill(arm("eager-static"), 65.36)
    assert "unmoved" in judged(eager, with_prefill(arm("graph"), 66.97)).prefill
    moved = judged(eager, with_prefill(arm("graph"), 90.0)).prefill
    assert "should not have moved (1.38x" in moved
    assert judged(eager).prefill == ""


def test_other_kernels_are_named_and_dynamic_eager_is_not_blamed_for_its_own() -> None:
    (text,) = [
        caveat
        for caveat in judged(arm("eager"), arm("eager-static"), arm("graph"), arm("compiled")).caveats
        if "other kernels" in caveat
    ]
    assert text.startswith("compiled (565) run other kernels than eager-static (1,429 a token)")


def test_a_copy_that_a_graph_s_kernel_carries_out_makes_no_other_kernels() -> None:
    def with_window(mode: ModeName, kernels: int, copies: int) -> Arm:
        counted = msgspec.structs.replace(window(mode), kernels=kernels, copies=copies, fills=2)
        return arm(mode, windows=(counted,))

    base = with_window("eager-static", 1429, 1)
    same = judged(base, with_window("graph", 1430, 0)).caveats
    other = judged(base, with_window("graph", 1430, 1)).caveats
    assert not any("other kernels" in caveat for caveat in same)
    assert any(caveat.startswith("graph (1,430) run other kernels") for caveat in other)


def test_a_mode_that_decodes_something_else_is_named() -> None:
    wrong = Verified(0, "graph", 255, 100, 3.2, 255, 0.0134, flagged=True)
    found = judged(arm("eager-static"), arm("graph", verified=wrong))
    assert any(c.startswith("graph did not decode the same: its logits differ by 3.2") for c in found.caveats)


def test_every_conclusion_says_where_it_ends() -> None:
    found = judged(
        arm("eager-static", verified=None, verify_reason="not asked for"),
        complete=False,
        reason="interrupted",
    )
    assert "not for larger batches" in found.caveats[0]
    assert "The benchmark is incomplete (interrupted)." in found.caveats
    assert "Tokens were not compared (eager-static): not asked for." in found.caveats
