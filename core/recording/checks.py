"""Of an event, what its schema cannot say, because it takes more than one figure."""

from idlegap.core.protocol.events import TokenBatch


def disorder(batch: TokenBatch) -> str | None:
    """What is wrong with the times of a batch's tokens, or None: each ends before the next begins.

    Not a part of the schema: it would run for each batch that the engine builds too.
    """
    before_ns = 0
    for index, token in enumerate(batch.tokens, batch.first):
        if not before_ns <= token.start_ns <= token.dispatched_ns <= token.done_ns:
            return f"token {index}: its times are out of order"
        if token.start_ns == token.done_ns:
            return f"token {index}: took no time"
        before_ns = token.done_ns
    return None
