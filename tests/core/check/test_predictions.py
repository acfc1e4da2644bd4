"""The predictions' model against measured figures of real GPUs, and against its own rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.bench.summary import summarise
from idlegap.core.check.predictions import QUEUED_GAP_NS, TokenModel, predict
from idlegap.tui.tables.check import advice
from tests.core.bench.results import MS, arm, bench, window

TIMES = st.floats(1e5, 1e8)
MODELS = st.builds(
    lambda host, busy, kernels, share, beside: TokenModel(host, busy, kernels, share * busy, beside),
    TIMES,
    TIMES,
    st.integers(1, 3000),
    st.floats(0, 1),
    st.floats(0, 1e6),
)


def test_on_an_h200_the_graph_is_predicted_from_the_eager_run_within_fifteen_per_cent() -> None:
    # Two measurements of one machine: a quiet hour and a noisy one.
    for eager_ms, graph_ms in ((22.4, 4.22), (32.0, 4.5)):
        found = predict(summarise(bench(arm("eager-static", [eager_ms] * 5), arm("graph", [graph_ms] * 5))))
        assert found.error is not None
        assert abs(found.error) < 0.15
        assert found.measured_graph_ns == pytest.approx(graph_ms * MS)


def test_the_model_reproduces_the_token_that_it_was_made_from() -> None:
    (eager,) = summarise(bench(arm("eager-static")))
    model = TokenModel.of(eager)
    assert model is not None
    assert model.token_ns == pytest.approx(eager.median_ns)
    assert model.beside_ns == pytest.approx(22.4e6 - 22.3e6)


def test_each_row_changes_what_it_says() -> None:
    found = predict(summarise(bench(arm("eager-static"))))
    today, host, bandwidth = found.rows
    device = 3_635_000 + 1429 * QUEUED_GAP_NS
    bound = 3_087_428_608 / 4.272e12 * 1e9
    beside = 100_000
    assert today.eager_ns == pytest.approx(22.4e6)
    assert today.replayed_ns == pytest.approx(device + beside)
    assert host.eager_ns == pytest.approx(22.3e6 / 2 + beside)
    assert host.replayed_ns == pytest.approx(today.replayed_ns)
    assert bandwidth.eager_ns == pytest.approx(22.4e6)
    assert bandwidth.replayed_ns == pytest.approx(device - bound / 2 + beside, abs=2)
    assert found.error is None
    assert advice(found).startswith("Eager decode would gain: graphs 5.10x, a host twice as fast 1.99x")


def test_a_device_bound_token_gains_from_bandwidth_and_not_from_the_host() -> None:
    slow = window("eager-static", busy_ns=17 * MS, launch_latency_ns=0)
    (eager,) = summarise(bench(arm("eager-static", [18.0] * 3, windows=(slow,))))
    model = TokenModel.of(eager)
    assert model is not None
    at_device = TokenModel(5 * MS, 17 * MS, 100, 12 * MS)
    assert at_device.with_host(speed=2).token_ns == at_device.token_ns
    assert at_device.with_bandwidth(2).token_ns == pytest.approx(at_device.token_ns - 6 * MS)


@given(MODELS, st.floats(1, 10))
def test_no_change_makes_a_token_slower_and_graphs_do_at_least_as_well_as_any_host(
    model: TokenModel, speed: float
) -> None:
    assert model.with_host(speed=speed).token_ns <= model.token_ns + 1e-3
    assert model.with_bandwidth(speed).token_ns <= model.token_ns + 1e-3
    assert model.replayed().token_ns <= model.with_host(speed=speed).token_ns + 1e-3


def test_without_eager_or_its_profile_nothing_is_predicted() -> None:
    assert predict(summarise(bench(arm("graph")))).reason == "eager-static was not measured"
    unprofiled = predict(summarise(bench(arm("eager-static", windows=()))))
    assert unprofiled.rows == ()
    assert unprofiled.reason == "no profile of eager-static: no profile window was taken"
    assert advice(unprofiled) == ""
