"""From what the engine said within a round to a run of the result."""

from collections.abc import Sequence

from idlegap.core.bench.conditions import conditions
from idlegap.core.bench.driver import Round
from idlegap.core.bench.schema import Columns, Run
from idlegap.core.protocol.events import Token
from idlegap.core.protocol.reasons import because
from idlegap.core.slow_tokens.samples import Samples

LEAD_IN = 3
"""Tokens at the head of each run that never count. The engine marks the first ones after a
change of mode, but some of its marks may fall into a round that our request then cuts off."""


def assemble_run(turn: int, taken: Round, samples: Samples, first_ns: int) -> Run:
    """The run that `taken` was. `first_ns` is when the first run's prefill ended.

    A round that was cut short, or that lost tokens on the way, is kept but not complete.
    """
    started, ended = taken.started, taken.finished
    tokens = [token for batch in taken.batches for token in batch.tokens]
    end_ns = tokens[-1].done_ns if tokens else started.t_ns
    return Run(
        turn=turn,
        warm_up=turn == 0,
        started_ns=started.t_ns - first_ns,
        prefill_ns=started.prefill_ns,
        tokens=_columns(taken, started.t_ns),
        conditions=conditions(samples, started.t_ns - started.prefill_ns, end_ns),
        complete=ended is not None and ended.tokens == len(tokens),
        peak_memory_bytes=ended.peak_memory_bytes if ended else None,
        missing=ended.missing if ended else {"peak_memory_bytes": because("run-cut-short")},
    )


def _columns(taken: Round, origin_ns: int) -> Columns:
    tokens: list[Token] = []
    excluded: list[int] = []
    for batch in taken.batches:
        first = len(tokens)
        tokens.extend(batch.tokens)
        excluded.extend(i for i in range(first, len(tokens)) if batch.excluded is not None or i < LEAD_IN)
    return Columns(
        start_ns=tuple(token.start_ns - origin_ns for token in tokens),
        wall_ns=tuple(token.wall_ns for token in tokens),
        dispatch_ns=tuple(token.dispatch_ns for token in tokens),
        cpu_ns=_complete([token.cpu_ns for token in tokens]),
        run_delay_ns=_complete([token.run_delay_ns for token in tokens]),
        preempted=_complete([token.preempted for token in tokens]),
        blocked=_complete([token.blocked for token in tokens]),
        excluded=tuple(excluded),
    )


def _complete(values: Sequence[int | None]) -> tuple[int, ...] | None:
    """The column, or None where the engine could not read a single one of its values."""
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) and known else None
