"""Events that cannot be: the decoder checks their form, this their figures.

Whatever passes can be analysed and drawn without a division by zero or a negative bar.
"""

from collections.abc import Iterator

import msgspec

from idlegap.core.protocol.events import Bandwidth, EngineReady, EngineStage, GpuSample, Token, TokenBatch
from idlegap.core.recording.format import MAX_NS, Line

MAY_BE_NEGATIVE = frozenset({"temperature_c"})
"""Every other figure counts something or measures a time, a share or a rate."""


def implausible(event: Line) -> str | None:
    """What is wrong with the figures of a line, or None."""
    if isinstance(event, TokenBatch):
        return _batch_fault(event)
    for name, figure in _figures(event):
        if not 0 <= figure < MAX_NS and name not in MAY_BE_NEGATIVE:
            return f"{name} {figure}: cannot be"
    match event:
        case EngineReady() if event.batch < 1:
            return "batch 0: cannot be"
        case EngineStage() if event.fraction is not None and event.fraction > 1:
            return f"fraction {event.fraction}: more than the whole"
        case Bandwidth() if any(
            rate is not None and rate < 1 for rate in (event.copy_bytes_per_s, event.read_bytes_per_s)
        ):
            return "a bandwidth below 1 byte/s: cannot be"
        case GpuSample() if event.temperature_c is not None and not -273 <= event.temperature_c < 1000:
            return f"temperature_c {event.temperature_c}: cannot be"
        case _:
            return None


def _batch_fault(batch: TokenBatch) -> str | None:
    for name in ("t_ns", "round", "first"):
        figure = getattr(batch, name)
        if not 0 <= figure < MAX_NS:
            return f"{name} {figure}: cannot be"
    before_ns = 0
    for index, token in enumerate(batch.tokens, batch.first):
        if fault := _token_fault(token, before_ns):
            return f"token {index}: {fault}"
        before_ns = token.done_ns
    return None


def _token_fault(token: Token, before_ns: int) -> str | None:
    if not before_ns <= token.start_ns <= token.dispatched_ns <= token.done_ns < MAX_NS:
        return "its times are out of order"
    if token.start_ns == token.done_ns:
        return "took no time"
    for value in (token.cpu_ns, token.run_delay_ns, token.preempted, token.blocked):
        if value is not None and not 0 <= value < MAX_NS:
            return f"a reading of {value}: cannot be"
    return None


def _figures(value: msgspec.Struct) -> Iterator[tuple[str, int | float]]:
    """All numbers of an event, those in its tuples and nested structs too."""
    for name in value.__struct_fields__:
        item = getattr(value, name)
        for part in item if isinstance(item, tuple) else (item,):
            if isinstance(part, msgspec.Struct):
                yield from _figures(part)
            elif isinstance(part, (int, float)):
                yield name, part
