"""Families of what adds up: tokens by wall time, and what held the decode thread back."""

from collections.abc import Iterator

from prometheus_client.core import HistogramMetricFamily, Metric

from idlegap.core.metrics.families import NS, PREFIX, US, counter, counters, scaled
from idlegap.core.metrics.tally import BOUNDS_S, ModeTally, Totals


def token_families(totals: Totals) -> Iterator[Metric]:
    """All counters; those of tokens are of counted ones alone."""
    modes = totals.modes.items()
    wall = HistogramMetricFamily(
        PREFIX + "token_wall_seconds", "Synchronised wall time of one counted token.", labels=["mode"]
    )
    for name, tally in modes:
        wall.add_metric([name], buckets=list(_cumulative(tally)), sum_value=tally.wall_ns * NS)
    yield wall
    yield counters("excluded_tokens", "Tokens that do not count.", "reason", totals.excluded.items())
    yield counters(
        "run_delay_seconds",
        "Time in which the decode thread was runnable but had no core.",
        "mode",
        ((name, scaled(tally.run_delay_ns, NS)) for name, tally in modes),
    )
    yield counters(
        "decode_cpu_seconds",
        "CPU time of the decode thread.",
        "mode",
        ((name, scaled(tally.cpu_ns, NS)) for name, tally in modes),
    )
    yield counters(
        "preemptions",
        "Involuntary context switches of the decode thread.",
        "mode",
        ((name, tally.preempted) for name, tally in modes),
    )
    taken_s = scaled(totals.throttled_ns, NS)
    yield counter("throttled_seconds", "Time that the CPU quota took from this cgroup.", taken_s)
    yield counter("throttled_periods", "Periods in which the CPU quota was used up.", totals.throttled)
    yield counters(
        "cpu_pressure_seconds",
        "Time in which some task waited for a CPU (PSI some).",
        "scope",
        (
            ("cgroup", scaled(totals.cgroup_pressure_us, US)),
            ("system", scaled(totals.system_pressure_us, US)),
        ),
    )


def _cumulative(tally: ModeTally) -> Iterator[tuple[str, float]]:
    total = 0
    for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), tally.buckets, strict=True):
        total += count
        yield bound, total
