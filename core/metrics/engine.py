"""Families of the engine: its state, the current mode, each visited mode, the ceilings."""

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, InfoMetricFamily, Metric

from idlegap.core.measure.device_time import Split
from idlegap.core.measure.roofline import Ceiling
from idlegap.core.metrics.families import NS, PREFIX, Value, gauge, gauges, scaled
from idlegap.core.protocol.events import EngineReady
from idlegap.core.session.snapshot import ModeView, Snapshot

_DOWN = ("starting", "stopped", "failed")


def engine_families(snapshot: Snapshot) -> Iterator[Metric]:
    """What runs, whether it runs, and how fast: a present speed only while tokens flow."""
    engine, rate = snapshot.engine, snapshot.rate
    up = engine is not None and snapshot.failed is None and snapshot.stage.stage not in _DOWN
    yield gauge("engine_up", "1 while the engine has a model and runs.", int(up))
    yield gauge("decoding", "1 while tokens flow.", int(not snapshot.halted))
    yield gauge("paused", "1 while decoding is paused.", int(snapshot.paused))
    dropped = "Events of the engine that nobody read in time."
    yield CounterMetricFamily(PREFIX + "dropped_events", dropped, value=snapshot.dropped)
    if engine is not None:
        yield InfoMetricFamily(PREFIX + "engine", "What runs, on what.", value=_description(engine))
        yield gauge("weight_bytes", "Bytes of weights on the device.", engine.weight_bytes)
    active = ((row.name, int(row.current)) for row in snapshot.modes)
    yield gauges("mode_active", "1 for the mode that decodes now.", "mode", active)
    speed = rate.tok_per_s if rate is not None and not snapshot.halted else None
    yield gauge(
        "tokens_per_second",
        "Speed of the current mode over its last tokens, those at new cache lengths too.",
        speed,
    )
    if (work := snapshot.cpu_work) is not None:
        yield gauge("token_cpu_seconds", "CPU time to submit a token, now.", work.cpu_ns * NS)
        yield gauge("token_cpu_least_seconds", "The least that it took in this mode.", work.least_ns * NS)
    yield from _mode_families([row for row in snapshot.modes if row.visited])
    if snapshot.ceiling is not None:
        yield from _ceiling_families(snapshot.ceiling, decoding=not snapshot.halted)


def _description(engine: EngineReady) -> dict[str, str]:
    return {
        "model": engine.model,
        "weights": "random" if engine.random_weights else "real",
        "dtype": engine.dtype,
        "attention": engine.attention,
        "device": engine.device,
        "device_name": engine.device_name,
        "torch": engine.torch,
    }


def _mode_families(rows: Sequence[ModeView]) -> Iterator[Metric]:
    """Figures over the last tokens of each mode; the split needs an accepted profile window. Those
    that tell of a token's time are of counted tokens alone."""

    def always(name: str, text: str, value: Callable[[ModeView], Value]) -> Metric:
        return gauges(name, text, "mode", ((row.name, value(row)) for row in rows))

    def each(name: str, text: str, value: Callable[[ModeView], Value]) -> Metric:
        return always(name, text, lambda row: None if row.first_round else value(row))

    def part(name: str, text: str, value: Callable[[Split], int]) -> Metric:
        return each(name, text, lambda row: None if row.split is None else value(row.split) * NS)

    yield each("token_wall_median_seconds", "Median wall time of a token.", lambda r: scaled(r.wall_ns, NS))
    yield each("token_wall_p99_seconds", "99th percentile of it.", lambda r: scaled(r.p99_ns, NS))
    yield each("dispatch_seconds", "Median time to submit a token.", lambda r: scaled(r.dispatch_ns, NS))
    yield each("wait_seconds", "Median wait for the device after it.", lambda r: scaled(r.wait_ns, NS))
    yield always("prefill_seconds", "Median wall time of a prefill.", lambda r: scaled(r.prefill_ns, NS))
    yield each("speedup_ratio", "Speed against eager-static.", lambda r: r.speedup)
    yield always("device_busy_seconds", "Time of a token in which the device works.", _busy_s)
    yield each("device_busy_ratio", "Share of a token in which the device works.", _busy_ratio)
    yield part("host_gap_seconds", "Idle time of a token: the host is late.", lambda s: s.host_gap_ns)
    yield part("launch_latency_seconds", "Idle time: a launch is under way.", lambda s: s.launch_latency_ns)
    yield part("device_gap_seconds", "Idle time between queued kernels.", lambda s: s.device_gap_ns)
    yield always(
        "kernels_per_token", "Kernels of a token.", lambda r: r.profile.kernels if r.profile else None
    )


def _busy_s(row: ModeView) -> float | None:
    return row.split.busy_ns * NS if row.split is not None else None


def _busy_ratio(row: ModeView) -> float | None:
    return row.split.busy_ns / row.wall_ns if row.split is not None and row.wall_ns else None


def _ceiling_families(ceiling: Ceiling, *, decoding: bool) -> Iterator[Metric]:
    measured = ceiling.bandwidth.copy_bytes_per_s if ceiling.bandwidth is not None else None
    yield gauge(
        "weight_stream_bound_seconds", "Least time to read all weights once.", scaled(ceiling.bound_ns, NS)
    )
    yield gauges(
        "mbu_ratio",
        "Share of a bandwidth that reading the weights takes at the present speed.",
        "bandwidth",
        (("specified", ceiling.mbu_spec), ("measured", ceiling.mbu_measured)) if decoding else (),
    )
    yield gauges(
        "memory_bytes_per_second",
        "Bandwidth of device memory.",
        "bandwidth",
        (("specified", ceiling.spec_bytes_per_s), ("measured", measured)),
    )
