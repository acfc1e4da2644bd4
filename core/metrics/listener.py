"""Metrics that only grow, fed by events as they pass: tokens by wall time, what held them back, quotas."""

from collections.abc import Iterable
from functools import cached_property

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from idlegap.core.metrics.families import NS, PREFIX, US
from idlegap.core.protocol.events import AnyEvent, CgroupSample, TokenBatch
from idlegap.core.protocol.modes import ModeName

BOUNDS_S = (
    *(0.0005, 0.001, 0.0015, 0.002, 0.0025, 0.003, 0.0035, 0.004, 0.005, 0.0075),
    *(0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0),
)
"""Upper bounds of the token histogram: dense from the fastest graph to the slowest eager mode."""


_COUNTERS = {
    "excluded_tokens": ("Tokens that do not count.", "reason"),
    "run_delay_seconds": ("Time in which the decode thread was runnable but had no core.", "mode"),
    "decode_cpu_seconds": ("CPU time of the decode thread.", "mode"),
    "preemptions": ("Involuntary context switches of the decode thread.", "mode"),
    "throttled_seconds": ("Time that the CPU quota took from this cgroup.", ""),
    "throttled_periods": ("Periods in which the CPU quota was used up.", ""),
    "cpu_pressure_seconds": ("Time in which some task waited for a CPU (PSI some).", "scope"),
}
"""What each counter says, and its label, if any."""


class MetricsListener:
    """A listener of a session, whose counters stand in `registry`. One thread calls it; any may scrape.

    Each series is made with its first reading: what was never taken has no sample, and is not 0.
    """

    def __init__(self) -> None:
        # Of the whole process, but the library offers no other way: a time series for each series' age.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._families: dict[str, Counter] = {}
        # Looking a series up by its label takes the library 1 us.
        self._series: dict[tuple[str, str], Counter] = {}
        self._walls: dict[ModeName, Histogram] = {}

    def __call__(self, event: AnyEvent) -> None:
        """Take one event: 2 us for each token of a batch of 20, 6 us for one alone (0.2 % of a core at
        the fastest mode's 700 tokens a second)."""
        match event:
            case TokenBatch():
                self._batch(event)
            case CgroupSample():
                self._add("throttled_seconds", "", [event.throttled_ns], NS)
                self._add("throttled_periods", "", [event.throttled])
                self._add("cpu_pressure_seconds", "cgroup", [event.cgroup_pressure_us], US)
                self._add("cpu_pressure_seconds", "system", [event.system_pressure_us], US)
            case _:
                pass

    def _batch(self, batch: TokenBatch) -> None:
        tokens, mode = batch.tokens, batch.mode
        if batch.excluded is not None:
            self._add("excluded_tokens", batch.excluded, [len(tokens)])
            return
        observe = self._wall(mode).observe
        for token in tokens:
            # A division, because it gives the very float that a bound is: a product may lie above it.
            observe((token.done_ns - token.start_ns) / 1e9)
        self._add("run_delay_seconds", mode, [token.run_delay_ns for token in tokens], NS)
        self._add("decode_cpu_seconds", mode, [token.cpu_ns for token in tokens], NS)
        self._add("preemptions", mode, [token.preempted for token in tokens])

    def _add(self, name: str, label: str, readings: Iterable[int | None], unit: float = 1) -> None:
        """Count what was read, if anything was."""
        known = [reading for reading in readings if reading is not None]
        if not known:
            return
        series = self._series.get((name, label))
        if series is None:
            series = self._series[name, label] = self._new_series(name, label)
        series.inc(sum(known) * unit)

    def _new_series(self, name: str, label: str) -> Counter:
        text, key = _COUNTERS[name]
        if name not in self._families:
            self._families[name] = Counter(PREFIX + name, text, [key] if key else [], registry=self.registry)
        return self._families[name].labels(label) if key else self._families[name]

    def _wall(self, mode: ModeName) -> Histogram:
        if mode not in self._walls:
            self._walls[mode] = self._histogram.labels(mode)
        return self._walls[mode]

    @cached_property
    def _histogram(self) -> Histogram:
        text = "Synchronised wall time of one counted token."
        return Histogram(
            PREFIX + "token_wall_seconds", text, ["mode"], registry=self.registry, buckets=BOUNDS_S
        )
