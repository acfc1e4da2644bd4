"""What the app may ask of the engine, in the same tagged form as the events."""

import msgspec

from idlegap.core.protocol.modes import ModeName


class Command(msgspec.Struct, frozen=True, tag_field="type", forbid_unknown_fields=True):
    """Base of all commands."""


class SetMode(Command, frozen=True, tag="set-mode"):
    """Enter `mode`; it takes effect before the next token."""

    mode: ModeName


class SetPaused(Command, frozen=True, tag="set-paused"):
    """Stop decoding between two tokens, or go on."""

    paused: bool


class RestartRound(Command, frozen=True, tag="restart-round"):
    """Begin again with the prefill."""


class SetShape(Command, frozen=True, tag="set-shape"):
    """Decode with another batch size or prompt length; graphs are captured anew."""

    batch: int
    prompt_tokens: int


class TakeProfile(Command, frozen=True, tag="take-profile"):
    """Measure device-busy time in the current mode now."""


class VerifyModes(Command, frozen=True, tag="verify-modes"):
    """Compare the tokens of the current mode with eager's."""


class ProbeDispatch(Command, frozen=True, tag="probe-dispatch"):
    """Measure what it costs the host to submit an empty kernel."""


class Stop(Command, frozen=True, tag="stop"):
    """End the engine in an orderly way."""


AnyCommand = SetMode | SetPaused | RestartRound | SetShape | TakeProfile | VerifyModes | ProbeDispatch | Stop
