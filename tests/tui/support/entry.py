"""The real screen on the real terminal, with a fake session: the program that pty tests run.

    python entry.py REPORT [SCENE]

Touches a file beside REPORT, with suffix ``.started``, once the session is started. Writes to
REPORT at the end, as JSON, what the session was asked and the screen's last own reading. SCENE
is ``moving`` (the default), ``slideshow`` or a name of `tests.tui.support.scenes.SCENES`.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import msgspec

from idlegap.tui.apps.live import LiveApp
from idlegap.tui.apps.run import run_screen
from tests.tui.support.fake_session import FakeSession
from tests.tui.support.moving import MovingSession
from tests.tui.support.scenes import SCENES, slideshow, unsupported


def main() -> int:
    """Run the screen; its exit code."""
    report, scene = Path(sys.argv[1]), (sys.argv[2:] or ["moving"])[0]
    feed = make_feed(scene)
    feed.on_start = report.with_suffix(".started").touch
    code = run_screen(feed.close, lambda level, output: LiveApp(feed, level=level, fps=4, output=output))
    monitor = feed.monitor if isinstance(feed, MovingSession) else None
    report.write_text(
        json.dumps(
            {
                "commands": [msgspec.to_builtins(command) for command in feed.commands],
                "calls": feed.calls,
                "monitor": msgspec.to_builtins(monitor),
            }
        )
    )
    return code


def make_feed(scene: str) -> MovingSession | FakeSession:
    """The session called `scene`."""
    if scene == "moving":
        return MovingSession()
    if scene == "slideshow":
        return FakeSession.slideshow(slideshow())
    return FakeSession.still({**SCENES, "unsupported": unsupported}[scene]())


if __name__ == "__main__":
    sys.exit(main())
