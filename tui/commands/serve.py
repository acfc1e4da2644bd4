"""The verb `serve`: a recording in a browser."""

import argparse
import errno
import platform
import sys

from idlegap.core.text.sanitize import printable
from idlegap.tui.commands.base import UsageError
from idlegap.tui.commands.recording_option import add_recording, recording_path
from idlegap.tui.exit_codes import ExitCode, signal_code

HELP = "show a recording in a browser on this machine"
DEFAULT_PORT = 8000


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serve`."""
    add_recording(parser)
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, metavar="N", help=f"on 127.0.0.1 (default {DEFAULT_PORT})"
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until ctrl+c, which is exit code 0, or until another signal, which is that signal's.

    Raises:
        UsageError: the recording cannot be read, the port not be had, or the extra is not
            installed.
        KeyboardInterrupt: ctrl+c came before anything was served.
    """
    from idlegap.core.recording import read_index

    port: int = arguments.port
    if not 0 < port < 65536:
        raise UsageError(f"--port {port}: must be from 1 to 65535")
    with recording_path(arguments.file) as path:
        ending = read_index(path).ending.text
        try:
            from idlegap.tui.apps.replay_server import ReplayServer
        except ImportError as error:
            raise UsageError(f"serving needs {error.name}: pip install 'idlegap[serve]'") from error

        def ready() -> None:
            print(
                f"idlegap: {printable(arguments.file)} is shown at http://127.0.0.1:{port}/ (ctrl+c ends)",
                file=sys.stderr,
            )
            reach = f"ssh -L {port}:127.0.0.1:{port} {platform.node()}"
            print(f"  from another machine: {reach}, then the same address", file=sys.stderr)
            if ending:
                print(f"  {ending}", file=sys.stderr)

        server = ReplayServer(path, port, ready)
        try:
            server.serve()
        except OSError as error:
            instead = "; choose another with --port" if error.errno == errno.EADDRINUSE else ""
            raise UsageError(f"--port {port}: {error.strerror or error}{instead}") from error
    if not server.is_ready:
        raise KeyboardInterrupt
    return ExitCode.DONE if server.ended_by is None else signal_code(server.ended_by)
