"""Answers a scrape from the last snapshot; between scrapes it does nothing.

Names and units follow Prometheus' conventions: base units, ``_total`` for counters, ratios from
0 to 1. A reading that is missing has no sample, so that nobody takes it for 0.
"""

import time
from collections.abc import Callable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from idlegap.core.metrics.engine import engine_families
from idlegap.core.metrics.families import NS, gauge
from idlegap.core.metrics.machine import machine_families
from idlegap.core.session.snapshot import Snapshot


class MetricsCollector(Collector):
    """Asks `latest` for the last snapshot (None: none yet), from the server's threads.

    `clock` is CLOCK_MONOTONIC in ns; it tells how old the snapshot is.
    """

    def __init__(
        self,
        latest: Callable[[], Snapshot | None],
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._latest, self._clock = latest, clock

    def collect(self) -> Iterator[Metric]:
        """All families that have a sample now."""
        snapshot = self._latest()
        if snapshot is None:
            return
        age_s = (self._clock() - snapshot.t_ns) * NS
        families = [gauge("snapshot_age_seconds", "Time since the last snapshot.", age_s)]
        families += engine_families(snapshot)
        families += machine_families(snapshot)
        yield from (family for family in families if family.samples)
