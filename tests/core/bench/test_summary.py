"""Figures of an arm against numpy over the same samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.bench.schema import Arm
from idlegap.core.bench.summary import ArmSummary, summarise
from idlegap.core.protocol.events import Bandwidth
from tests.core.bench.fake_engine import READY, replace_struct
from tests.core.bench.results import MS, arm, bench, columns, run, window

WALLS = st.lists(st.floats(0.1, 90), min_size=4, max_size=30)


def summary(made: Arm, **changes: object) -> ArmSummary:
    (found,) = summarise(bench(made, **changes))
    return found


@given(st.lists(WALLS, min_size=1, max_size=5))
def test_quantiles_and_rates_agree_with_numpy_over_all_counted_tokens(walls: list[list[float]]) -> None:
    runs = [run(turn, columns(row, excluded=(0,))) for turn, row in enumerate([[50.0] * 4, *walls])]
    found = summary(arm("graph", runs=tuple(runs)))
    counted = [np.round(np.asarray(row[1:]) * MS) for row in walls]
    pooled = np.concatenate(counted)
    assert found.tokens == pooled.size
    assert found.median_ns == pytest.approx(np.median(pooled), abs=1)
    assert found.p95_ns == pytest.approx(np.quantile(pooled, 0.95), abs=1)
    assert found.p99_ns == pytest.approx(np.quantile(pooled, 0.99), abs=1)
    assert found.tok_per_s == pytest.approx(1e9 / np.mean(pooled), rel=1e-9)
    assert found.mean_ns == pytest.approx(np.mean(pooled), abs=1)
    medians = {turn: float(np.median(row)) for turn, row in enumerate(counted, 1)}
    assert found.run_medians_ns == pytest.approx(medians)


def test_warm_ups_incomplete_runs_and_excluded_tokens_enter_nothing() -> None:
    runs = (
        run(0, columns([99.0] * 5)),
        run(1, columns([50.0, 4.0, 4.0, 4.0], excluded=(0,))),
        run(2, columns([77.0] * 5), complete=False),
        run(3, columns([50.0, 4.0, 4.0, 4.0], excluded=(0,))),
    )
    found = summary(arm("graph", runs=runs))
    assert (found.runs, found.tokens) == (2, 6)
    assert found.median_ns == found.p99_ns == 4 * MS


def test_device_times_stand_beside_the_wall_time_of_unprofiled_tokens() -> None:
    found = summary(arm("eager-static", [22.4] * 3))
    assert found.split is not None
    assert found.split.busy_ns == 3_635_000
    assert found.split.launch_latency_ns == 2_930_000
    assert found.split.host_gap_ns == 22_400_000 - 3_635_000 - 2_930_000 - 4_000
    assert found.split.idle_ns == 22_400_000 - 3_635_000
    assert found.judgement.late_ns == 22_400_000 - 3_635_000 - 4_000
    assert found.dispatch_per_kernel_ns == pytest.approx(22.3e6 / 1429)


def test_the_bound_and_both_mbus_follow_their_definitions() -> None:
    found = summary(arm("graph", [4.0] * 3))
    assert found.ceiling.bound_ns == round(3_087_428_608 / 4.272e12 * 1e9)
    assert found.beyond_bound_ns == 4 * MS - (found.ceiling.bound_ns or 0)
    assert found.ceiling.mbu_measured == pytest.approx(3_087_428_608 * 250 / 4.272e12)
    assert found.ceiling.mbu_spec == pytest.approx(3_087_428_608 * 250 / (6016 * 3201e6 * 2 / 8))
    assert summary(arm("graph", [4.0] * 3), spec_bandwidth=4.8e12).ceiling.mbu_spec == pytest.approx(
        3_087_428_608 * 250 / 4.8e12
    )


def test_a_larger_batch_decodes_more_tokens_and_streams_the_weights_as_often() -> None:
    one, eight = (
        summary(arm("graph", [4.0] * 3), engine=replace_struct(READY, batch=batch)) for batch in (1, 8)
    )
    assert (one.tok_per_s, eight.tok_per_s) == (pytest.approx(250), pytest.approx(2000))
    assert one.ceiling.mbu_measured == pytest.approx(eight.ceiling.mbu_measured)


def test_whatever_is_not_known_has_a_reason() -> None:
    missing = Bandwidth(0, None, None, missing={"copy_bytes_per_s": "needs CUDA"})
    made = arm(
        "eager",
        windows=(window("eager", accepted=False, steps=0, reason="profile windows need CUDA"),),
        verified=None,
        verify_reason="not asked for",
        runs=(run(1, columns([4.0]), peak_memory_bytes=None, missing={"peak_memory_bytes": "needs CUDA"}),),
    )
    found = summary(made, bandwidth=missing, gpu=None, engine=replace_struct(READY, device="cpu"))
    reasons = {
        "split": "profile windows need CUDA",
        "bound_ns": "needs CUDA",
        "mbu_spec": "decoding on the CPU",
        "peak_memory_bytes": "needs CUDA",
        "verified": "not asked for",
    }
    assert found.split is found.peak_memory_bytes is found.verified is found.beyond_bound_ns is None
    assert found.ceiling.bound_ns is found.ceiling.mbu_spec is found.ceiling.mbu_measured is None
    assert {name: found.missing[name] for name in reasons} == reasons


@pytest.mark.parametrize(
    ("device", "reason"), [("cpu", "profile windows need CUDA"), ("cuda:0", "no profile window was taken")]
)
def test_a_bench_that_was_interrupted_before_its_windows_says_whether_there_could_be_any(
    device: str, reason: str
) -> None:
    found = summary(arm("eager", windows=()), engine=replace_struct(READY, device=device))
    assert found.missing["split"] == reason


def test_an_arm_without_a_counted_run_says_why() -> None:
    refused = arm("graph", runs=(), windows=(), verified=None, refused="needs CUDA")
    assert summary(refused).missing == {"median_ns": "needs CUDA"}
    only_warm = arm("graph", runs=(run(0, columns([4.0])),))
    assert summary(only_warm).missing == {"median_ns": "no counted run"}
