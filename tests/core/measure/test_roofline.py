"""Ceilings, checked against published figures for an RTX 3070 and an H200."""

import pytest

from idlegap.core.measure.roofline import ceiling, mbu, specified_bandwidth, weight_stream_bound_ns
from idlegap.core.protocol.events import Bandwidth, EngineReady, GpuInfo

WEIGHT_BYTES = round(2945.29 * 2**20)  # Qwen2.5-1.5B in fp16, tied embeddings counted once
RTX_3070_COPY = 402.6e9
H200_WEIGHT_BYTES = 3_087_428_608
H200 = GpuInfo(t_ns=0, name="NVIDIA H200", uuid=None, bus_width_bits=6016, max_memory_mhz=3201)


def test_the_bound_of_the_3070() -> None:
    bound_ns = weight_stream_bound_ns(WEIGHT_BYTES, RTX_3070_COPY)
    assert bound_ns / 1e6 == pytest.approx(7.671, abs=0.0005)
    assert 1e9 / bound_ns == pytest.approx(130.4, abs=0.05)


@pytest.mark.parametrize(
    ("tok_per_s", "bandwidth", "percent"),
    [
        (70.09, 288e9, 75.2),  # RTX 4060 Ti, against the specification
        (59.75, 448e9, 41.2),  # RTX 3070
        (30.56, 608e9, 15.5),  # RTX 3070 Ti
        (54.33, RTX_3070_COPY, 41.68),  # the 3070's two arms, against the measured copy
        (91.65, RTX_3070_COPY, 70.30),
    ],
)
def test_mbu_agrees_with_published_tables(tok_per_s: float, bandwidth: float, percent: float) -> None:
    assert 100 * mbu(WEIGHT_BYTES, tok_per_s, bandwidth) == pytest.approx(percent, abs=0.06)


@pytest.mark.parametrize(("tok_per_s", "beyond_ms"), [(54.33, 10.73), (91.65, 3.24)])
def test_the_time_beyond_the_bound(tok_per_s: float, beyond_ms: float) -> None:
    beyond_ns = 1e9 / tok_per_s - weight_stream_bound_ns(WEIGHT_BYTES, RTX_3070_COPY)
    assert beyond_ns / 1e6 == pytest.approx(beyond_ms, abs=0.01)


def engine(device: str = "cuda:0", batch: int = 1) -> EngineReady:
    return EngineReady(
        t_ns=0,
        pid=1,
        tid=1,
        model="synthetic:qwen2.5-1.5b",
        shape="Qwen2.5-1.5B",
        random_weights=True,
        dtype="float16",
        attention="sdpa",
        device=device,
        device_name="NVIDIA H200",
        device_uuid=None,
        weight_bytes=H200_WEIGHT_BYTES,
        parameters=1_543_714_304,
        prompt_tokens=512,
        new_tokens=255,
        cache_len=767,
        batch=batch,
        modes=(),
        torch="2.11.0",
        transformers="5.17.0",
        python="3.12.3",
    )


def test_the_ceiling_of_an_h200() -> None:
    found = ceiling(engine(), Bandwidth(0, 4290e9, None), H200, tok_per_s=235.0)
    assert found is not None
    assert found.bound_ns == pytest.approx(720_000, abs=500)
    assert found.spec_bytes_per_s == pytest.approx(4814e9, rel=1e-3)
    assert found.spec_source == "NVML: 6,016 bit x 3,201 MHz x 2 / 8"
    assert found.mbu_spec == pytest.approx(0.151, abs=0.001)
    assert found.mbu_measured == pytest.approx(0.169, abs=0.001)


def test_a_batch_streams_the_weights_once_for_all_its_sequences() -> None:
    one = ceiling(engine(), Bandwidth(0, 4290e9, None), H200, tok_per_s=235.0)
    eight = ceiling(engine(batch=8), Bandwidth(0, 4290e9, None), H200, tok_per_s=8 * 235.0)
    assert one == eight


def test_a_model_on_the_cpu_is_not_held_against_the_gpu_beside_it() -> None:
    found = ceiling(engine("cpu"), None, H200, tok_per_s=80.0)
    assert found is not None
    assert (found.spec_bytes_per_s, found.spec_source) == (None, "decoding on the CPU")
    assert found.mbu_spec is None
    told = ceiling(engine("cpu"), None, None, spec_override=50e9, tok_per_s=8.0)
    assert told.mbu_spec == pytest.approx(0.494, abs=0.001)


def test_the_option_wins_over_nvml() -> None:
    assert specified_bandwidth(4.8e12, H200) == (4.8e12, "--spec-bandwidth")


@pytest.mark.parametrize(
    ("gpu", "reason"),
    [
        (None, "no NVML reading"),
        (GpuInfo(0, "x", None, missing={"bus_width_bits": "NotSupported"}), "NotSupported"),
        (GpuInfo(0, "x", None, bus_width_bits=6016, missing={"max_memory_mhz": "MIG"}), "MIG"),
        (GpuInfo(0, "x", None), "NVML does not say"),
    ],
)
def test_a_missing_specification_says_why(gpu: GpuInfo | None, reason: str) -> None:
    assert specified_bandwidth(None, gpu) == (None, reason)


@pytest.mark.parametrize(
    "bandwidth", [None, Bandwidth(0, None, None, missing={"copy_bytes_per_s": "no memory"})]
)
def test_without_a_measured_bandwidth_only_the_specification_remains(bandwidth: Bandwidth | None) -> None:
    found = ceiling(engine(), bandwidth, H200, tok_per_s=235.0)
    assert found is not None
    assert (found.bound_ns, found.mbu_measured) == (None, None)
    assert found.mbu_spec is not None
    assert found.bandwidth is bandwidth


def test_before_the_first_token_there_is_a_bound_but_no_share() -> None:
    found = ceiling(engine(), Bandwidth(0, 4290e9, None), H200)
    assert found is not None
    assert found.bound_ns is not None
    assert (found.mbu_spec, found.mbu_measured) == (None, None)
