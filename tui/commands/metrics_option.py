"""The option `--metrics`, and what it starts: a server of the last snapshot for Prometheus."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from idlegap.tui.commands.base import UsageError

if TYPE_CHECKING:
    from idlegap.core.metrics import MetricsListener
    from idlegap.core.session.snapshot import Snapshot

Address = tuple[str, int]
"""Host and port; port 0 lets the system choose."""


def add_metrics(options: argparse._ActionsContainer) -> None:
    """Add the option to a parser or a group of it."""
    options.add_argument(
        "--metrics",
        metavar="[HOST:]PORT",
        help="serve metrics for Prometheus, on 127.0.0.1 unless a host is given; 0 picks a port",
    )


def metrics_from(arguments: argparse.Namespace) -> Address | None:
    """Where to serve; None where it was not asked for.

    Raises:
        UsageError: for what is no address.
    """
    if arguments.metrics is None:
        return None
    from idlegap.core.metrics import MetricsError, parse_address

    try:
        return parse_address(arguments.metrics)
    except MetricsError as error:
        raise UsageError(str(error)) from error


def listener_for(address: Address | None) -> "MetricsListener | None":
    """The counters to be served at `address`; None, so that nothing is counted, where nothing is served."""
    if address is None:
        return None
    from idlegap.core.metrics import MetricsListener

    return MetricsListener()


@contextmanager
def serving(
    address: Address | None, listener: "MetricsListener | None", latest: "Callable[[], Snapshot | None]"
) -> Iterator[str]:
    """Serve metrics at `address` meanwhile; yields where, "" if not asked for.

    Raises:
        UsageError: the address is taken or not ours.
    """
    if address is None or listener is None:
        yield ""
        return
    from idlegap.core.metrics import MetricsCollector, MetricsError, MetricsServer

    listener.registry.register(MetricsCollector(latest))
    try:
        server = MetricsServer(listener.registry, *address)
    except MetricsError as error:
        raise UsageError(str(error)) from error
    with server:
        yield server.url
