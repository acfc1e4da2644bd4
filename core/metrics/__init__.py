"""What a session knows, for Prometheus: counters fed by events, all else read at scrape time.

Give a `MetricsListener` to the session, register a `MetricsCollector` of the last snapshot with its
registry, and serve that with a `MetricsServer`. docs/recording.md lists the metrics.
"""

from idlegap.core.metrics.collector import MetricsCollector
from idlegap.core.metrics.listener import MetricsListener
from idlegap.core.metrics.server import MetricsError, MetricsServer, parse_address

__all__ = ["MetricsCollector", "MetricsError", "MetricsListener", "MetricsServer", "parse_address"]
