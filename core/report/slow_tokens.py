"""All slow tokens of a recording, explained."""

from collections.abc import Iterable

from idlegap.core.protocol.events import AnyEvent, EngineReady, ModeEntered, TokenBatch
from idlegap.core.protocol.modes import MODE_NAMES
from idlegap.core.session.mode_history import ModeHistory
from idlegap.core.slow_tokens.attribution import Attribution
from idlegap.core.slow_tokens.explain import SlowToken


def slow_tokens(events: Iterable[AnyEvent]) -> tuple[SlowToken, ...]:
    """All slow tokens of a recording, each judged by the tokens of its mode up to its batch."""
    attribution = Attribution()
    histories = {name: ModeHistory() for name in MODE_NAMES}
    found: list[SlowToken] = []
    for event in events:
        attribution.observe(event)
        match event:
            case EngineReady():  # another shape or engine: nothing is usual yet
                histories = {name: ModeHistory() for name in MODE_NAMES}
            case ModeEntered():
                histories[event.mode].entered()
            case TokenBatch():
                history = histories[event.mode]
                if event.excluded is None:
                    history.add(event.tokens)
                attribution.add(event, history.usual())
            case _:
                pass
        found += attribution.settled()
    return (*found, *attribution.rest())
