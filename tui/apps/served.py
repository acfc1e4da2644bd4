"""The replay screen inside a browser: the program that the replay server runs for each visitor.

    python -m idlegap.tui.apps.served RECORDING

It talks the protocol of textual-serve on stdin and stdout, by the driver that TEXTUAL_DRIVER names.
"""

import ctypes
import signal
import sys
from pathlib import Path

from idlegap.core.sources.recording import Replay
from idlegap.tui.apps.replay import ReplayApp

_PR_SET_PDEATHSIG = 1


class ServedReplay(ReplayApp):
    """A replay that leaves nothing on the machine it runs on."""

    def action_save_picture(self) -> None:
        """A visitor may look, not write."""
        self._say("pictures are saved by a replay in a terminal; here the browser can print the page")


def die_with_parent() -> None:
    """Have the kernel kill this process when the server ends, for whatever reason."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main(arguments: list[str]) -> int:
    """Show the recording until the visitor leaves; the exit code."""
    die_with_parent()
    replay = Replay(Path(arguments[0]))
    app = ServedReplay(replay)
    try:
        app.run(mouse=False)
    finally:
        replay.close()
    return app.return_code or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
