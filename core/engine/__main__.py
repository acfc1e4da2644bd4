"""The engine process: ``python -m core.engine FD SETTINGS`` (started by `core.sources.engine_process`).

FD is an inherited socket: events go out as MessagePack, commands come in. The process ends
when it is told to, when the other end of the socket closes, or when its parent dies.
"""

import ctypes
import os
import queue
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection

import msgspec

from idlegap.core.engine.outbox import Outbox
from idlegap.core.engine.worker import EngineThread
from idlegap.core.protocol.commands import AnyCommand
from idlegap.core.protocol.settings import Settings

PR_SET_PDEATHSIG = 1
FAILED = 4


def main(argv: list[str]) -> int:
    """Run the engine over the socket; returns the process's exit code."""
    _die_with_parent()
    # ctrl-c in the terminal is the app's business; it says `Stop`.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(int(argv[0]))
    commands: queue.SimpleQueue[AnyCommand] = queue.SimpleQueue()
    settings = msgspec.json.decode(argv[1], type=Settings)
    thread = EngineThread(settings, Outbox(time.perf_counter_ns), commands)
    threading.Thread(target=_receive, args=(connection, commands), name="control", daemon=True).start()
    thread.start()
    _send_all(connection, thread.outbox)
    # A poisoned CUDA context hangs in its own destructors: leave without them.
    sys.stderr.flush()
    os._exit(FAILED if thread.failed else 0)


def _die_with_parent() -> None:
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(FAILED)


def _send_all(connection: Connection, outbox: Outbox) -> None:
    """Forward events until the engine's end; a closed socket means that the app has gone."""
    encoder = msgspec.msgpack.Encoder()
    try:
        while (event := outbox.take()) is not None:
            connection.send_bytes(encoder.encode(event))
    except OSError:
        os._exit(0)


def _receive(connection: Connection, commands: "queue.SimpleQueue[AnyCommand]") -> None:
    decoder = msgspec.msgpack.Decoder(AnyCommand)
    try:
        while True:
            commands.put(decoder.decode(connection.recv_bytes()))
    except (EOFError, OSError):
        os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
