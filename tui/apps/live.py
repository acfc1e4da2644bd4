"""The screen on a live engine: keys become commands, recordings and neighbours."""

from functools import partial
from typing import Any

from textual.binding import Binding

from idlegap.core.protocol.commands import (
    AnyCommand,
    RestartRound,
    SetMode,
    SetPaused,
    SetShape,
    TakeProfile,
    VerifyModes,
)
from idlegap.core.protocol.modes import BASELINE, MODES, REPLAYED, ModeName
from idlegap.core.session.first_snapshot import first_snapshot
from idlegap.core.session.snapshot import FromApp, Snapshot
from idlegap.core.text import units
from idlegap.core.text.names import mode_words
from idlegap.core.text.reasons import words
from idlegap.core.text.sanitize import printable
from idlegap.tui.apps.app import HERE, IdlegapApp
from idlegap.tui.apps.screen_session import ScreenRun, ScreenSession
from idlegap.tui.exit_codes import ExitCode
from idlegap.tui.widgets.readings import is_tokenless

BATCHES = (1, 64)
PROMPTS = (16, 8192)


class LiveApp(IdlegapApp):
    """Shows a live run; the other arguments are those of `IdlegapApp`."""

    BINDINGS = [
        Binding("space", "switch"),
        *(Binding(spec.key, f"mode('{spec.name}')") for spec in MODES),
        Binding("p", "pause"),
        Binding("t", "restart_round"),
        Binding("m", "measure"),
        Binding("v", "verify"),
        Binding("b", "batch(2)"),
        Binding("B", "batch(0.5)"),
        Binding("right_square_bracket", "prompt(2)"),
        Binding("left_square_bracket", "prompt(0.5)"),
        Binding("n", "add_neighbour"),
        Binding("N", "remove_neighbour"),
        Binding("r", "record"),
        Binding("R", "restart_engine"),
    ]

    def __init__(self, live: ScreenRun, **options: Any) -> None:
        self._live = live
        self._problem = ""
        super().__init__(before=partial(first_snapshot, in_process=live.in_process), **options)

    def open_session(self) -> ScreenSession:
        """Make engine, sensors and what joins them."""
        return self._live.session

    def from_app(self, now_ns: int) -> FromApp:
        """With the state of the recording, whose end is said once."""
        recording = self._live.recording
        problem = recording.problem if recording is not None else ""
        if recording is not None and problem and problem != self._problem:
            self._answers.say(f"{recording.name}: recording ended: {problem}", now_ns)
        self._problem = problem
        return FromApp(recording=recording, answer=self._answers.current(now_ns))

    def verdict(self, snap: Snapshot) -> ExitCode | None:
        """A machine that cannot do what was asked ends the app."""
        unsupported = snap.failed is not None and snap.failed.unsupported and is_tokenless(snap)
        return ExitCode.UNSUPPORTED if unsupported else None

    def farewell(self) -> list[str]:
        """Why the engine is gone, where it is."""
        failed = self.snapshot.failed
        if failed is None:
            return []
        hint = [f"  {printable(failed.hint)}"] if failed.hint else []
        return [f"idlegap: {printable(failed.reason)}", *hint]

    # Keys ------------------------------------------------------------------------------

    def action_switch(self) -> None:
        """Switch between eager with a static cache and its graph."""
        mode = self._answers.asked or self._snapshot.mode
        self.action_mode(BASELINE if mode == REPLAYED else REPLAYED)

    def action_mode(self, name: ModeName) -> None:
        """Ask for a mode, or say why it cannot run here."""
        view = self._snapshot.mode_view(name)
        if view is None:
            self._say(f"{mode_words(name)}: the engine is not ready yet")
        elif view.reason is not None:
            self._say(f"{mode_words(name)} cannot run here: {words(view.reason)}")
        elif name != self._snapshot.mode or self._answers.asked is not None:
            self.session.send(SetMode(name))
            self._answers.ask(name, self._clock())
            self.draw()

    def action_pause(self) -> None:
        """Pause decoding or go on."""
        paused = not self._snapshot.paused
        self._send(SetPaused(paused), "pausing …" if paused else "going on …")

    def action_restart_round(self) -> None:
        """Begin the round again with its prefill. Every other request is carried out in a pause too,
        but a round is decoding itself."""
        later = "the round restarts when the pause ends"
        self._send(RestartRound(), later if self._snapshot.paused else "restarting the round …")

    def action_measure(self) -> None:
        """Take a profile window now, or say why that cannot be done here."""
        engine = self._snapshot.engine
        if engine is not None and engine.device == "cpu":
            self._say("m cannot measure device time here: profile windows need CUDA")
            return
        self._send(TakeProfile(), "measuring device time …")

    def action_verify(self) -> None:
        """Compare this mode's tokens with eager's over a whole round."""
        self._send(VerifyModes(), "verifying tokens against eager-static …")

    def action_batch(self, factor: float) -> None:
        """Decode with twice or half as many sequences."""
        self._reshape(batch_factor=factor)

    def action_prompt(self, factor: float) -> None:
        """Decode behind a prompt of twice or half the length."""
        self._reshape(prompt_factor=factor)

    def _reshape(self, batch_factor: float = 1, prompt_factor: float = 1) -> None:
        engine = self._snapshot.engine
        if engine is None:
            self._say("batch and prompt can be changed once the engine runs")
            return
        batch = clamp(int(engine.batch * batch_factor), BATCHES)
        prompt_tokens = clamp(int(engine.prompt_tokens * prompt_factor), PROMPTS)
        if (batch, prompt_tokens) == (engine.batch, engine.prompt_tokens):
            self._say(
                f"batch goes from 1 to {BATCHES[1]}, prompts from {PROMPTS[0]} to {PROMPTS[1]:,} tokens"
            )
            return
        anew = "; graphs are captured anew" if has_graphs(self._snapshot) else ""
        text = f"batch {batch}, prompt of {units.count(prompt_tokens)} tokens{anew} …"
        self._send(SetShape(batch, prompt_tokens), text)

    def action_restart_engine(self) -> None:
        """Start a failed engine again."""
        if self._snapshot.failed is None:
            self._say("R restarts the engine after it has ended; it is running")
            return
        self.session.restart()
        self._say("starting the engine again …")

    def action_add_neighbour(self) -> None:
        """Start one more busy process beside the engine."""
        self._say(self._live.add_neighbour())

    def action_remove_neighbour(self) -> None:
        """End the newest of our busy processes."""
        self._say(self._live.remove_neighbour())

    def action_record(self) -> None:
        """Start a recording in the working directory, or end the one that goes on."""
        self._say(self._live.toggle_recording(HERE))

    def action_quit_app(self) -> None:
        """Leave; with a dead engine on the screen the exit code says so."""
        failed = self._snapshot.failed
        if failed is None:
            self._end(ExitCode.DONE)
        else:
            self._end(ExitCode.UNSUPPORTED if failed.unsupported else ExitCode.ENGINE_FAILED)

    def _send(self, command: AnyCommand, notice: str) -> None:
        if self._snapshot.failed is not None:
            self._say("the engine has ended; R starts it again")
            return
        self.session.send(command)
        self._say(notice)


def clamp(value: int, limits: tuple[int, int]) -> int:
    """`value`, or the limit that it lies beyond."""
    return min(max(value, limits[0]), limits[1])


def has_graphs(snap: Snapshot) -> bool:
    """Whether a mode can run here that captures or compiles."""
    return any(
        spec.compiles or spec.name == REPLAYED
        for spec in MODES
        if (view := snap.mode_view(spec.name)) is not None and view.reason is None
    )
