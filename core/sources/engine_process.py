"""The app's end of an engine that has a process of its own."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

import idlegap
from idlegap.core.protocol.commands import AnyCommand, Stop
from idlegap.core.protocol.events import AnyEvent, EngineEvent, EngineFailed, EngineReady, Notice
from idlegap.core.protocol.settings import Settings
from idlegap.core.sources.engine_log import EngineLog

CLOSE_TIMEOUT_S = 5.0
"""A decode step or a capture ends within this; a compilation may not, and is then killed."""


class EngineProcess:
    """The engine in a process of its own: decoding is not disturbed by the screen.

    Start it from a thread that lives as long as the app: the parent-death signal follows the
    thread that created the process.
    """

    in_process = False

    def __init__(
        self, settings: Settings, log: EngineLog | None = None, *, close_timeout_s: float = CLOSE_TIMEOUT_S
    ) -> None:
        """`close` waits `close_timeout_s` for an engine that decodes."""
        self._settings = settings
        self._log = log or EngineLog()
        self._close_timeout_s = close_timeout_s
        self._events: deque[AnyEvent] = deque()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._reader: threading.Thread | None = None
        self._closing = False
        self._started = False

    def start(self) -> None:
        """Start the process; its stdout and stderr go to the log. Where that is not in its usual
        place, or is nowhere, a notice says so."""
        ours, theirs = Pipe(duplex=True)
        root = str(Path(idlegap.__file__).parent.parent)
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        with self._log.open() as log:
            settings = msgspec.json.encode(self._settings).decode()
            self._process = subprocess.Popen(
                # -P keeps the working directory off the path.
                [sys.executable, "-P", "-m", "idlegap.core.engine", str(theirs.fileno()), settings],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,
            )
        theirs.close()
        if self._log.notice:
            self._events.append(Notice(time.perf_counter_ns(), self._log.notice))
        self._closing = self._started = False
        self._connection = ours
        self._reader = threading.Thread(
            target=self._read, args=(ours, self._process), name="engine-reader", daemon=True
        )
        self._reader.start()

    def poll(self) -> list[AnyEvent]:
        return [self._events.popleft() for _ in range(len(self._events))]

    def send(self, command: AnyCommand) -> None:
        if self._connection is None:
            return
        # Where it fails, the reader has noticed the same end and reports it with its cause.
        with suppress(OSError):
            self._connection.send_bytes(msgspec.msgpack.encode(command))

    def restart(self) -> None:
        self.close()
        self.start()

    def close(self) -> None:
        if self._process is None:
            return
        self._closing = True
        self.send(Stop())
        try:
            # One that still imports torch or builds its model hears nothing, and has nothing to
            # end in good order; one that has failed is writing into its log why.
            self._process.wait(self._close_timeout_s if self._started else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._reader is not None:
            self._reader.join(CLOSE_TIMEOUT_S)
        if self._connection is not None:
            self._connection.close()
        self._process = self._connection = self._reader = None

    def _read(self, connection: Connection, process: "subprocess.Popen[bytes]") -> None:
        decoder = msgspec.msgpack.Decoder(EngineEvent)
        explained = False
        while True:
            try:
                event = decoder.decode(connection.recv_bytes())
            except (EOFError, OSError):
                break
            except msgspec.MsgspecError as error:
                # Its end without the reason would be a riddle; the log cannot know this one.
                self._events.append(
                    EngineFailed(time.perf_counter_ns(), f"the engine said something unreadable: {error}")
                )
                process.kill()
                return
            explained = explained or isinstance(event, EngineFailed)
            self._started = self._started or isinstance(event, EngineReady | EngineFailed)
            self._events.append(event)
        code = process.wait()
        if not explained and not self._closing:
            self._events.append(
                EngineFailed(
                    time.perf_counter_ns(),
                    f"the engine process ended by itself: {describe_exit(code)}",
                    hint=self._hint(code),
                    log_tail=self._log.tail(),
                )
            )

    def _hint(self, code: int) -> str:
        if code == -signal.SIGKILL:
            # The kernel does this where memory runs out; the process can say nothing any more.
            return f"if memory ran out, use a smaller --batch or --model; {self._log.place}"
        return self._log.place


def describe_exit(code: int) -> str:
    """An exit code as people say it: ``exit code 4`` or ``signal 9 (SIGKILL)``."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"
