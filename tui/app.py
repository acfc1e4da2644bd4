"""The live screen as an app: one timer polls snapshots, keys become commands."""

import asyncio
import dataclasses
import signal
import time
from collections.abc import Callable
from pathlib import Path

from textual.app import App
from textual.binding import Binding

from core.commands import (
    AnyCommand,
    RestartRound,
    SetMode,
    SetPaused,
    SetShape,
    TakeProfile,
    VerifyModes,
)
from core.modes import BASELINE, MODES, REPLAYED, ModeName
from core.snapshot import Snapshot
from tui.driver import TerminalDriver
from tui.exit_codes import ExitCode, signal_code
from tui.feed import Feed
from tui.glyphs import GlyphLevel
from tui.meter import FrameMeter
from tui.notices import Notices
from tui.pace import Pace
from tui.palette import BACKGROUND
from tui.picture_file import save_svg
from tui.screens.base import SnapshotScreen
from tui.screens.detail import detail_text
from tui.screens.explain import explain_text
from tui.screens.help import help_text
from tui.screens.main import MainScreen
from tui.screens.page import PageScreen
from tui.terminal import TerminalOutput
from tui.words import is_loading, mode_words

DEFAULT_FPS = 4
BATCHES = (1, 64)
PROMPTS = (16, 8192)
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class IdlegapApp(App[None]):
    """Shows a `Feed`. Ends with the exit code of `tui.exit_codes` as its return code.

    Args:
        feed: where snapshots come from and commands go.
        level: which characters the terminal can show.
        fps: frames a second at most.
        output: the terminal, where it is to be counted and watched; None in tests.
        clock: CLOCK_MONOTONIC in ns.
    """

    CSS = f"Screen {{ background: {BACKGROUND}; }}"
    ENABLE_COMMAND_PALETTE = False
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
        Binding("s", "save_picture"),
        Binding("d", "page('detail')"),
        Binding("e", "page('explain')"),
        Binding("question_mark,h", "page('help')"),
        Binding("R", "restart_engine"),
        Binding("q", "quit_app"),
        Binding("ctrl+c,ctrl+q", "quit_app", priority=True),
    ]

    def __init__(
        self,
        feed: Feed,
        *,
        level: GlyphLevel = GlyphLevel.BRAILLE,
        fps: float = DEFAULT_FPS,
        output: TerminalOutput | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        super().__init__(driver_class=TerminalDriver if output is not None else None)
        self.output = output
        self._feed = feed
        self._level = level
        self._fps = fps
        self._clock = clock
        self._pace = Pace(fps)
        self._meter = FrameMeter(clock)
        self._snapshot = feed.snapshot(clock())
        self._notices = Notices()
        self._main = MainScreen(level)
        self._pages = {
            name: PageScreen(level, name, text)
            for name, text in (("detail", detail_text), ("explain", explain_text), ("help", help_text))
        }

    def on_load(self) -> None:
        """Before the terminal is touched: from here on signals end the app in good order."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._end, signal_code(number))

    def on_mount(self) -> None:
        """Paint once, then let the engine start."""
        self.push_screen(self._main)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.draw()
        self.set_interval(1 / self._fps, self._tick)
        self.call_after_refresh(self._feed.start)

    def on_resize(self) -> None:
        """A new size shows the newest snapshot at once."""
        self.call_after_refresh(self.draw)

    def _tick(self) -> None:
        if self.output is not None and not self.output.isatty():
            self.terminal_lost()
            return
        if not self._pace.due(self._clock(), self.output is not None and self.output.stalled()):
            return
        self.draw()
        self._meter.frame()
        sample = self._meter.sample(self.output.bytes_written if self.output is not None else None)
        if sample is not None:
            self._feed.note_frame(sample)

    def draw(self) -> None:
        """Show the newest snapshot on the screen that is on top."""
        snap = self._snapshot = self._notices.put_on(self._feed.snapshot(self._clock()))
        if snap.failed is not None and snap.failed.unsupported and is_tokenless(snap):
            self._end(ExitCode.UNSUPPORTED)
            return
        screen = self.screen
        if isinstance(screen, SnapshotScreen):
            screen.show(snap)
            screen.draw_touched()

    @property
    def snapshot(self) -> Snapshot:
        """What is on the screen."""
        return self._snapshot

    # Keys ------------------------------------------------------------------------------

    def action_switch(self) -> None:
        """Switch between eager with a static cache and its graph."""
        mode = self._notices.asked or self._snapshot.mode
        self.action_mode(BASELINE if mode == REPLAYED else REPLAYED)

    def action_mode(self, name: ModeName) -> None:
        """Ask for a mode, or say why it cannot run here."""
        view = self._snapshot.mode_view(name)
        if view is None:
            self._say(f"{mode_words(name)}: the engine is not ready yet")
        elif view.reason is not None:
            self._say(f"{mode_words(name)} cannot run here: {view.reason}")
        elif name != self._snapshot.mode or self._notices.asked is not None:
            self._feed.send(SetMode(name))
            self._notices.ask(name, self._snapshot)
            self.draw()

    def action_pause(self) -> None:
        """Pause decoding or go on."""
        paused = not self._snapshot.paused
        self._send(SetPaused(paused), "pausing …" if paused else "going on …")

    def action_restart_round(self) -> None:
        """Begin the round again with its prefill."""
        self._send(RestartRound(), "restarting the round …")

    def action_measure(self) -> None:
        """Take a profile window now."""
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
            self._say(f"batch goes from 1 to {BATCHES[1]}, prompts from {PROMPTS[0]} to {PROMPTS[1]} tokens")
            return
        text = f"batch {batch}, prompt of {prompt_tokens} tokens; graphs are captured anew …"
        self._send(SetShape(batch, prompt_tokens), text)

    def action_save_picture(self) -> None:
        """Save what is on the screen as an SVG in the working directory."""
        try:
            path = save_svg(
                self.export_screenshot(title="idlegap"), Path.cwd(), self._snapshot.mode or "start"
            )
        except OSError as error:
            self._say(f"cannot save the picture: {error.strerror}: {Path.cwd()}")
        else:
            self._say(f"saved {path.name}")

    def action_restart_engine(self) -> None:
        """Start a failed engine again."""
        if self._snapshot.failed is None:
            self._say("R restarts the engine after it has ended; it is running")
            return
        self._feed.restart()
        self._say("starting the engine again …")

    def action_page(self, name: str) -> None:
        """Open a page, or close it when it is open."""
        page = self._pages[name]
        if self.screen is page:
            self.action_close_page()
            return
        if isinstance(self.screen, PageScreen):
            self.pop_screen()
        self.push_screen(page)
        self.call_after_refresh(self.draw)

    def action_close_page(self) -> None:
        """Close the page that is open."""
        if isinstance(self.screen, PageScreen):
            self.pop_screen()
            self.call_after_refresh(self.draw)

    def action_quit_app(self) -> None:
        """Leave; with a dead engine on the screen the exit code says so."""
        failed = self._snapshot.failed
        if failed is None:
            self._end(ExitCode.DONE)
        else:
            self._end(ExitCode.UNSUPPORTED if failed.unsupported else ExitCode.ENGINE_FAILED)

    # Ends ------------------------------------------------------------------------------

    def terminal_lost(self) -> None:
        """The terminal has gone: the same end as a hang-up."""
        self._end(signal_code(signal.SIGHUP))

    def _end(self, code: int) -> None:
        if self.output is not None:
            self.output.release()
        if not self.return_code:
            self.exit(return_code=code)

    def _send(self, command: AnyCommand, notice: str) -> None:
        self._feed.send(command)
        self._say(notice)

    def _say(self, text: str) -> None:
        self._notices.say(text, self._clock())
        self.draw()


def clamp(value: int, limits: tuple[int, int]) -> int:
    """`value`, or the limit that it lies beyond."""
    return min(max(value, limits[0]), limits[1])


def is_tokenless(snap: Snapshot) -> bool:
    """Whether the engine ended before it decoded anything."""
    return is_loading(dataclasses.replace(snap, failed=None))
