"""What a token would take with graphs, with a faster host, or with a faster GPU.

The model: **token = max(host, device) + beside**, where

- *host* is the time to submit the token's kernels (the measured dispatch);
- *device* is the least time that the device needs once its queue is never empty: busy time,
  and the gap that remains between two queued kernels;
- *beside* is what the measured token took beyond the larger of both, mostly the final wait.

With a graph the host submits once, so host is next to nothing. A host of twice the speed halves
host. A GPU of twice the bandwidth halves the weight-stream bound within device; the rest of
busy time is kernels too small to be limited by bandwidth, and stays. Host and device overlap
fully in this model, which real queues only approach: it errs most where both are equally long.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from idlegap.core.bench.summary import ArmSummary, first_of
from idlegap.core.protocol.modes import BASELINE, REPLAYED

QUEUED_GAP_NS = 460
"""Between two kernels of a graph: 0.45 to 0.47 µs in every profile window of an H200, for
graphs of 423 and of 1,429 kernels. Other GPUs differ; a measured graph run shows by how much."""


@dataclass(frozen=True, slots=True)
class TokenModel:
    """One token's parts in ns. `bound_ns` is the weight-stream bound within `busy_ns`."""

    host_ns: float
    busy_ns: float
    kernels: int
    bound_ns: float
    beside_ns: float = 0.0

    @classmethod
    def of(cls, arm: ArmSummary) -> "TokenModel | None":
        """The model that reproduces the median token of `arm`; None without its profile."""
        if arm.split is None or arm.window is None or arm.median_ns is None or arm.dispatch_ns is None:
            return None
        bare = cls(arm.dispatch_ns, arm.split.busy_ns, arm.window.kernels, arm.split.bound_ns or 0)
        # Less than nothing beside both only says that the kernels' gaps are shorter here.
        return replace(bare, beside_ns=max(arm.median_ns - bare.token_ns, 0))

    @property
    def device_ns(self) -> float:
        """The token's time on a device that never waits for the host."""
        return self.busy_ns + self.kernels * QUEUED_GAP_NS

    @property
    def token_ns(self) -> float:
        """The predicted token."""
        return max(self.host_ns, self.device_ns) + self.beside_ns

    def replayed(self) -> "TokenModel":
        """All kernels submitted with one call."""
        return replace(self, host_ns=0.0)

    def with_host(self, speed: float) -> "TokenModel":
        """A host of `speed` times the speed."""
        return replace(self, host_ns=self.host_ns / speed)

    def with_bandwidth(self, factor: float) -> "TokenModel":
        """A GPU of `factor` times the memory bandwidth, and no faster otherwise."""
        bound_ns = self.bound_ns / factor
        return replace(self, busy_ns=self.busy_ns - self.bound_ns + bound_ns, bound_ns=bound_ns)


class Prediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row: what is changed, and the predicted ms/token submitted one by one and replayed."""

    name: str
    eager_ns: float
    replayed_ns: float


class Predictions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table, with the model's error where `graph` was measured as well.

    `error` is (predicted - measured) / measured of the graph's token, predicted from the eager
    arm alone; None without a graph run. `reason` says why there are no rows.
    """

    rows: tuple[Prediction, ...]
    measured_graph_ns: int | None = None
    error: float | None = None
    reason: str = ""


def predict(arms: Sequence[ArmSummary]) -> Predictions:
    """Predictions from the eager-static arm."""
    eager, graph = first_of(arms, BASELINE), first_of(arms, REPLAYED)
    if eager is None or not eager.median_ns:
        return Predictions((), reason="eager-static was not measured")
    model = TokenModel.of(eager)
    if model is None:
        return Predictions((), reason=f"no profile of eager-static: {eager.missing.get('split', 'unknown')}")
    rows = tuple(
        Prediction(name, changed.token_ns, changed.replayed().token_ns)
        for name, changed in (
            ("this machine", model),
            ("host twice as fast", model.with_host(speed=2)),
            ("GPU of twice the bandwidth", model.with_bandwidth(2)),
        )
    )
    if graph is None or graph.median_ns is None:
        return Predictions(rows)
    return Predictions(rows, graph.median_ns, rows[0].replayed_ns / graph.median_ns - 1)
