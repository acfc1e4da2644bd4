"""What a session knows, for Prometheus: counters kept per batch, all else read at scrape time.

Give a `Tally` to the session as a listener, and serve a `MetricsCollector` over it and the last
snapshot with a `MetricsServer`. docs/recording.md lists the metrics.
"""

from idlegap.core.metrics.collector import MetricsCollector
from idlegap.core.metrics.server import MetricsError, MetricsServer, parse_address
from idlegap.core.metrics.tally import Tally

__all__ = ["MetricsCollector", "MetricsError", "MetricsServer", "Tally", "parse_address"]
