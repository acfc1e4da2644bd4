"""The screen as an app: one timer polls snapshots. What only a live run or only a replay can do
is in `tui.apps.live` and `tui.apps.replay`."""

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path

from textual.binding import Binding

from idlegap.core.session.first_snapshot import first_snapshot
from idlegap.core.session.snapshot import FromApp, Snapshot
from idlegap.tui.apps.answers import Answers
from idlegap.tui.apps.frames import FrameRate, ScreenCost
from idlegap.tui.apps.screen_session import ScreenSession
from idlegap.tui.apps.svg_file import save_svg
from idlegap.tui.exit_codes import ExitCode, signal_code
from idlegap.tui.screens.main import MainScreen
from idlegap.tui.screens.page import PageScreen
from idlegap.tui.terminal.driver import TerminalApp, TerminalDriver
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.terminal.output import TerminalOutput
from idlegap.tui.widgets.palette import BACKGROUND
from idlegap.tui.widgets.snapshot_screen import SnapshotScreen

DEFAULT_FPS = 4
HERE = Path()
"""Where pictures and recordings go: the working directory, which may be gone."""

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class IdlegapApp(TerminalApp):
    """Shows a session. Ends with the exit code of `tui.exit_codes` as its return code.

    Args:
        session: where snapshots come from and commands go; None where it is opened after the first
            paint, which needs none of what it loads.
        before: the snapshot while no session is open.
        level: which characters the terminal can show.
        fps: frames a second at most.
        output: the terminal, where it is to be counted and watched; None in tests.
        clock: CLOCK_MONOTONIC in ns.
        greeting: said once at the start.
        on_snapshot: given every snapshot that is shown.
    """

    CSS = f"Screen {{ background: {BACKGROUND}; }}"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [
        Binding("s", "save_picture"),
        Binding("d", "page('detail')"),
        Binding("e", "page('explain')"),
        Binding("w", "page('why')"),
        Binding("question_mark,h", "page('help')"),
        Binding("q", "quit_app"),
        Binding("ctrl+c,ctrl+q", "quit_app", priority=True),
    ]

    def __init__(
        self,
        session: ScreenSession | None = None,
        *,
        before: Callable[[int, FromApp], Snapshot] = first_snapshot,
        level: GlyphLevel = GlyphLevel.BRAILLE,
        fps: float = DEFAULT_FPS,
        output: TerminalOutput | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
        greeting: str = "",
        on_snapshot: Callable[[Snapshot], object] = lambda snap: None,
    ) -> None:
        super().__init__(driver_class=TerminalDriver if output is not None else None)
        self.output = output
        self._session = session
        self._before = before
        self._fps = fps
        self._clock = clock
        self._greeting = greeting
        self._on_snapshot = on_snapshot
        self._pace = FrameRate(fps)
        self._meter = ScreenCost(clock)
        self._answers = Answers()
        self._snapshot = self.picture(clock(), FromApp())
        self._level = level
        self._pages: dict[str, PageScreen] = {}
        self._begun = False

    def on_load(self) -> None:
        """Before the terminal is touched: from here on signals end the app in good order."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._end, signal_code(number))

    def get_default_screen(self) -> SnapshotScreen:
        """The screen below all others; Textual asks for it once."""
        return MainScreen(self._level)

    def on_mount(self) -> None:
        """Paint once, then let the engine start."""
        if self._greeting:
            self._say(self._greeting)
        else:
            self.draw()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self.set_interval(1 / self._fps, self._tick)
            self.session.start()

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
            self.session.note_frame(sample)

    def draw(self) -> None:
        """Show the newest snapshot on the screen that is on top."""
        if not self.screen_stack:
            return  # The app is leaving, and a last tick has come after its screens were closed.
        now_ns = self._clock()
        snap = self._snapshot = self.picture(now_ns, self.from_app(now_ns))
        self._answers.shown(snap)
        self._on_snapshot(snap)
        code = self.verdict(snap)
        if code is not None:
            self._end(code)
            return
        screen = self.screen
        if isinstance(screen, SnapshotScreen):
            screen.show(snap)
            screen.draw_touched()

    def picture(self, now_ns: int, app: FromApp) -> Snapshot:
        """The newest snapshot, with what the app itself knows."""
        return (self._session.snapshot if self._session is not None else self._before)(now_ns, app)

    @property
    def session(self) -> ScreenSession:
        """The session, opened by now."""
        if self._session is None:
            self._session = self.open_session()
        return self._session

    def open_session(self) -> ScreenSession:
        """Make the session, where none was given."""
        raise NotImplementedError

    def from_app(self, now_ns: int) -> FromApp:
        """What the snapshot cannot know by itself."""
        return FromApp(answer=self._answers.current(now_ns))

    def verdict(self, snap: Snapshot) -> ExitCode | None:
        """The exit code with which `snap` ends the app by itself; None goes on."""
        return None

    def farewell(self) -> list[str]:
        """Lines for stderr after the screen has been left."""
        return []

    @property
    def snapshot(self) -> Snapshot:
        """What is on the screen."""
        return self._snapshot

    # Keys ------------------------------------------------------------------------------

    def action_save_picture(self) -> None:
        """Save what is on the screen as an SVG in the working directory."""
        try:
            path = save_svg(self.export_screenshot(title="idlegap"), HERE, self._snapshot.mode or "start")
        except OSError as error:
            self._say(f"cannot save the picture: {error.strerror}")
        else:
            self._say(f"saved {path.name}")

    def action_page(self, name: str) -> None:
        """Open a page, or close it when it is open."""
        # A page that covers the first screen before it was painted would put this off until it is closed.
        self._begin()
        page = self._page(name)
        if self.screen is page:
            self.action_close_page()
            return
        if isinstance(self.screen, PageScreen):
            self.pop_screen()
        self.push_screen(page)
        self.call_after_refresh(self.draw)

    def _page(self, name: str) -> PageScreen:
        if name not in self._pages:
            from idlegap.tui.screens.pages import PAGES

            page = self._pages[name] = PageScreen(self._level, name, PAGES[name])
            # Otherwise Textual removes a page for good when it is closed.
            self.install_screen(page, name)
        return self._pages[name]

    def action_close_page(self) -> None:
        """Close the page that is open."""
        if isinstance(self.screen, PageScreen):
            self.pop_screen()
            self.call_after_refresh(self.draw)

    def action_quit_app(self) -> None:
        """Leave."""
        self._end(ExitCode.DONE)

    # Ends ------------------------------------------------------------------------------

    def terminal_lost(self) -> None:
        """The terminal has gone: the same end as a hang-up."""
        self._end(signal_code(signal.SIGHUP))

    def _end(self, code: int) -> None:
        if self.output is not None:
            self.output.release()
        if not self.return_code:
            self.exit(return_code=code)

    def _say(self, text: str) -> None:
        self._answers.say(text, self._clock())
        self.draw()
