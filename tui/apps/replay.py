"""The screen on a recording: keys move through its time."""

from typing import Any

from textual.binding import Binding

from idlegap.core.protocol.modes import MODES
from idlegap.core.sources.recording import Replay
from idlegap.tui.apps.app import IdlegapApp

JUMP_NS = 5_000_000_000
LIVE_ONLY = (
    *((spec.key, f"{spec.key} enters mode {spec.name}") for spec in MODES),
    ("t", "t restarts the round"),
    ("m", "m measures device time"),
    ("v", "v verifies tokens"),
    ("b,B", "b and B change the batch"),
    ("left_square_bracket,right_square_bracket", "[ and ] change the prompt"),
    ("n,N", "n and N start and end neighbours"),
    ("r", "r records"),
    ("R", "R restarts an engine"),
)
"""Keys that ask something of an engine, and what they do in a live run."""


class ReplayApp(IdlegapApp):
    """Shows a `Replay`; the other arguments are those of `IdlegapApp`."""

    BINDINGS = [
        Binding("space,p", "play_or_pause"),
        Binding("plus,equals_sign", "speed(1)"),
        Binding("minus", "speed(-1)"),
        Binding("full_stop", "step"),
        Binding("greater_than_sign", "next_mode"),
        Binding("exclamation_mark", "next_slow"),
        Binding("left", "jump(-1)"),
        Binding("right", "jump(1)"),
        *(Binding(keys, f"live_only('{meaning}')") for keys, meaning in LIVE_ONLY),
    ]

    def __init__(self, replay: Replay, **options: Any) -> None:
        self._source = replay.source
        super().__init__(replay, greeting=replay.source.index.ending.text, **options)

    def farewell(self) -> list[str]:
        """What is wrong with the end of the recording, if anything is."""
        ending = self._source.index.ending.text
        return [f"idlegap: {ending}"] if ending else []

    # Keys ------------------------------------------------------------------------------

    def action_play_or_pause(self) -> None:
        """Let the recording run, from the start if it is at its end, or stand."""
        if self._source.playing:
            self._source.pause()
        else:
            self._source.play()
        self.draw()

    def action_speed(self, steps: int) -> None:
        """Play faster or slower."""
        self._source.change_speed(steps)
        self.draw()

    def action_step(self) -> None:
        """Pause at the end of the next token."""
        self._go(self._source.step(), "no further token in this recording")

    def action_next_mode(self) -> None:
        """Go to where another mode is entered."""
        self._go(self._source.next_mode(), "the mode does not change any more")

    def action_next_slow(self) -> None:
        """Go to the next token that took far longer than its neighbours."""
        self._go(self._source.next_slow(), "no slow token follows")

    def action_jump(self, direction: int) -> None:
        """Go a little back or ahead."""
        self._source.seek(self._source.position_ns + direction * JUMP_NS)
        self.draw()

    def action_live_only(self, meaning: str) -> None:
        """Answer a key that asks something of an engine."""
        self._say(f"{meaning} in a live run; this is a recording")

    def _go(self, found: bool, otherwise: str) -> None:
        if found:
            self.draw()
        else:
            self._say(otherwise)
