"""How fast a decode step could be at most, and how near to that it comes.

At batch 1 every weight is read once per step, so memory bandwidth sets a floor under the step's
time, the **weight-stream bound**: weight bytes over the *measured* copy bandwidth (bytes read
plus bytes written per second of a large contiguous copy). Activations and the cache come on top
of it; a larger batch shares the one pass over the weights, so the bound is per step, not per
sequence.

**MBU** (model bandwidth utilisation) is the share of a bandwidth that streaming the weights at
the observed rate needs: weight bytes x steps/s over bytes/s. Against the *specified* bandwidth it
compares cards; against the *measured* one it says how far this card is from its own bound
(bound over wall).
"""

from dataclasses import dataclass

from idlegap.core.protocol.events import Bandwidth, EngineReady, GpuInfo
from idlegap.core.protocol.reasons import ReasonOrText


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The weight-stream bound and what the current mode reaches of the bandwidth.

    `spec_source` says where the specified bandwidth came from, or why there is none. `mbu_spec` and
    `mbu_measured` are shares (0..1) of the specified and of the measured copy bandwidth.
    """

    bound_ns: int | None
    spec_bytes_per_s: float | None
    spec_source: ReasonOrText
    mbu_spec: float | None
    mbu_measured: float | None
    bandwidth: Bandwidth | None


def weight_stream_bound_ns(weight_bytes: int, copy_bytes_per_s: float) -> int:
    """Least time in which all weights can be streamed once."""
    return round(weight_bytes / copy_bytes_per_s * 1e9)


def mbu(weight_bytes: int, steps_per_s: float, bytes_per_s: float) -> float:
    """Share (0..1) of `bytes_per_s` that streaming the weights `steps_per_s` times needs."""
    return weight_bytes * steps_per_s / bytes_per_s


def specified_bandwidth(override: float | None, gpu: GpuInfo | None) -> tuple[float | None, ReasonOrText]:
    """The specified bandwidth in bytes/s and where it came from, or None and why."""
    if override is not None:
        return override, "--spec-bandwidth"
    if gpu is None:
        return None, "no NVML reading"
    if gpu.spec_bytes_per_s:
        return gpu.spec_bytes_per_s, f"NVML: {gpu.bus_width_bits:,} bit x {gpu.max_memory_mhz:,} MHz x 2 / 8"
    reason = gpu.missing.get("bus_width_bits") or gpu.missing.get("max_memory_mhz") or "NVML does not say"
    return None, reason


def ceiling(
    engine: EngineReady,
    bandwidth: Bandwidth | None,
    gpu: GpuInfo | None,
    spec_override: float | None = None,
    tok_per_s: float | None = None,
) -> Ceiling:
    """The bound, and both MBUs of a mode that decodes `tok_per_s` (over all sequences of the
    batch; None: not known yet).

    The GPU's specification is of no use to a model that runs on the CPU.
    """
    spec, source = specified_bandwidth(spec_override, gpu)
    if engine.device == "cpu" and spec_override is None:
        spec, source = None, "decoding on the CPU"
    measured = bandwidth.copy_bytes_per_s if bandwidth is not None else None
    weights, rate = engine.weight_bytes, tok_per_s / engine.batch if tok_per_s is not None else None
    return Ceiling(
        bound_ns=weight_stream_bound_ns(weights, measured) if measured else None,
        spec_bytes_per_s=spec,
        spec_source=source,
        mbu_spec=mbu(weights, rate, spec) if rate is not None and spec else None,
        mbu_measured=mbu(weights, rate, measured) if rate is not None and measured else None,
        bandwidth=bandwidth,
    )
