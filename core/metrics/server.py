"""The HTTP server that Prometheus scrapes; on this machine alone unless told otherwise."""

from errno import EADDRINUSE
from typing import Self

from prometheus_client import CollectorRegistry, start_http_server

DEFAULT_HOST = "127.0.0.1"


class MetricsError(ValueError):
    """The address cannot work; the message names it and says why."""


def parse_address(text: str) -> tuple[str, int]:
    """Split ``[HOST:]PORT`` into host and port. IPv6 hosts stand in brackets (``[::1]:9464``).
    Port 0 lets the system choose.

    Raises:
        MetricsError: for anything else.
    """
    host, colon, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= 65535):
        raise MetricsError(f"--metrics {text}: expected [HOST:]PORT with a port from 0 to 65535")
    if not colon:
        return DEFAULT_HOST, int(port)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise MetricsError(f"--metrics {text}: an IPv6 address stands in brackets, as in [::1]:9464")
    if not host:
        raise MetricsError(f"--metrics {text}: no host before the colon; 0.0.0.0 means all networks")
    return host, int(port)


class MetricsServer:
    """Serves one registry under ``/metrics`` from a thread of its own, until `close`.

    There is no authentication: whoever reaches the address may read.

    Raises:
        MetricsError: the address is taken, not ours, or unknown.
    """

    def __init__(self, registry: CollectorRegistry, host: str, port: int) -> None:
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except OSError as error:
            instead = "; choose another port, 0 takes any free one" if error.errno == EADDRINUSE else ""
            raise MetricsError(f"--metrics {host}:{port}: {error.strerror or error}{instead}") from error
        except UnicodeError as error:
            # The encoding of host names knows no label of more than 63 characters, nor an empty one.
            raise MetricsError(f"--metrics {host}:{port}: no host can have this name") from error
        self.host, self.port = host, self._server.server_port

    @property
    def url(self) -> str:
        """What to enter into a browser or a scrape configuration."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/metrics"

    def close(self) -> None:
        """Stop serving and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
