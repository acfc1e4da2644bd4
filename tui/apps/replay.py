"""The screen on a recording: keys move through its time."""

import dataclasses
from typing import Any

from textual.binding import Binding

from idlegap.core.protocol.modes import MODES
from idlegap.core.recording.slow_token_index import TokenPlace
from idlegap.core.session.snapshot import Playback, Snapshot
from idlegap.core.sources.recording import Replay
from idlegap.core.text import units
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
        super().__init__(replay, greeting=replay.source.survey.ending.text, **options)
        self._source = replay.source
        survey = self._source.survey
        self._switches_ns = tuple(ns - survey.start_ns for ns in survey.switches_ns)

    def picture(self, now_ns: int) -> Snapshot:
        """The snapshot at the recording's present time, with where that is."""
        return dataclasses.replace(super().picture(now_ns), playback=self._playback())

    def farewell(self) -> list[str]:
        """What is wrong with the end of the recording, if anything is."""
        ending = self._source.survey.ending.text
        return [f"idlegap: {ending}"] if ending else []

    def _playback(self) -> Playback:
        source = self._source
        return Playback(
            position_ns=source.position_ns,
            length_ns=source.length_ns,
            speed=source.speed,
            playing=source.playing,
            ended=source.ended,
            behind=source.behind,
            switches_ns=self._switches_ns,
            token=token_words(source.token) if source.token is not None else "",
            ending=source.survey.ending.text,
        )

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


def token_words(place: TokenPlace) -> str:
    """One token: which it is and what it took."""
    token = place.token
    text = f"token {place.index:,} of round {place.round}: {units.ms(token.wall_ns)} ms"
    return f"{text}, {place.excluded}" if place.excluded else text
