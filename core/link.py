"""The app's end of the engine: a process of its own, or the same thread in this process."""

import contextlib
import importlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

import msgspec

from core.commands import AnyCommand, Stop
from core.events import AnyEvent, EngineEvent, EngineFailed, EngineReady, Notice
from core.locations import Folder, log_dir
from core.settings import Settings

LOG_TAIL_LINES = 12
KEPT_LOGS = 20
CLOSE_TIMEOUT_S = 5.0
"""A decode step or a capture ends within this; a compilation may not, and is then killed."""


class EngineProcess:
    """The engine in a process of its own: decoding is not disturbed by the screen.

    Start it from a thread that lives as long as the app: the parent-death signal follows the
    thread that created the process.
    """

    in_process = False

    def __init__(
        self,
        settings: Settings,
        log_path: Path | None = None,
        *,
        logs: Callable[[], Folder] = log_dir,
        close_timeout_s: float = CLOSE_TIMEOUT_S,
    ) -> None:
        """The log is `log_path`, or else a file of its own for each start in the folder that
        `logs` finds. `close` waits `close_timeout_s` for an engine that decodes."""
        self._settings = settings
        self._fixed_log_path = log_path
        self._logs = logs
        self._close_timeout_s = close_timeout_s
        self._log_path = log_path
        self._no_log = ""
        self._starts = 0
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
        root = str(Path(__file__).resolve().parent.parent)
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._starts += 1
        with self._open_log() as log:
            self._process = subprocess.Popen(
                # -P keeps the working directory, which may hold another "core", off the path.
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "core.engine",
                    str(theirs.fileno()),
                    msgspec.json.encode(self._settings).decode(),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,
            )
        theirs.close()
        self._closing = self._started = False
        self._connection = ours
        self._reader = threading.Thread(
            target=self._read, args=(ours, self._process), name="engine-reader", daemon=True
        )
        self._reader.start()

    def poll(self) -> list[AnyEvent]:
        return _drain(self._events)

    def send(self, command: AnyCommand) -> None:
        if self._connection is None:
            return
        try:
            self._connection.send_bytes(msgspec.msgpack.encode(command))
        except OSError:
            # The reader has noticed the same end and reports it with its cause.
            return

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
                    log_tail=self._log_tail(),
                )
            )

    def _hint(self, code: int) -> str:
        log = self._no_log or f"its log: {self._log_path}"
        # The kernel does this where memory runs out; the process can say nothing any more.
        return (
            f"if memory ran out, use a smaller --batch or --model; {log}" if code == -signal.SIGKILL else log
        )

    def _open_log(self) -> IO[bytes]:
        """The log of this start; a restarted engine gets a new one, as the old one explains the failure."""
        path = self._fixed_log_path
        if path is None:
            folder = self._logs()
            if folder.path is None:
                self._log_path, self._no_log = None, f"no log of the engine is kept: {folder.reason}"
                self._note(self._no_log)
                return Path(os.devnull).open("wb")
            path = folder.path / f"engine-{os.getpid()}-{self._starts}.log"
            if folder.reason:
                self._note(f"the engine's log is {path}; {folder.reason}")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._log_path, self._no_log = path, ""
        _prune_logs(path.parent)
        return path.open("wb")

    def _note(self, text: str) -> None:
        self._events.append(Notice(time.perf_counter_ns(), text))

    def _log_tail(self) -> tuple[str, ...]:
        if self._log_path is None:
            return ()
        try:
            text = self._log_path.read_text(errors="replace")
        except OSError:
            return ()
        return tuple(text.splitlines()[-LOG_TAIL_LINES:])


class InProcessEngine:
    """The same decode thread inside the app: its figures include the screen's disturbance.

    For debuggers, for machines that allow no second process, and to show the observer effect.
    """

    in_process = True

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._thread: Any = None
        self._last: list[AnyEvent] = []

    def start(self) -> None:
        # Loaded by name, because only the engine may pull in torch, and only when asked to.
        worker = importlib.import_module("core.engine.worker")
        outbox = importlib.import_module("core.engine.outbox").Outbox(time.perf_counter_ns)
        self._thread = worker.EngineThread(self._settings, outbox, queue.SimpleQueue())
        self._thread.start()

    def poll(self) -> list[AnyEvent]:
        last, self._last = self._last, []
        return last + (self._thread.outbox.drain() if self._thread else [])

    def send(self, command: AnyCommand) -> None:
        if self._thread is not None:
            self._thread.commands.put(command)

    def restart(self) -> None:
        self.close()
        if self._thread is not None:
            # Two threads in torch at once would break what keeps compiled modes right.
            busy = "the old decode thread is still busy (compiling?); try again when it has ended"
            self._last.append(EngineFailed(time.perf_counter_ns(), busy))
            return
        self.start()

    def close(self) -> None:
        if self._thread is None:
            return
        self._thread.commands.put(Stop())
        self._thread.join(CLOSE_TIMEOUT_S)
        self._last += self._thread.outbox.drain()
        if not self._thread.is_alive():
            self._thread = None


def describe_exit(code: int) -> str:
    """An exit code as people say it: ``exit code 4`` or ``signal 9 (SIGKILL)``."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"


def _prune_logs(folder: Path) -> None:
    """Keep the newest engine logs; the older ones have told what they had to tell."""
    ages = {}
    for path in folder.glob("engine-*.log"):
        with contextlib.suppress(FileNotFoundError):  # another idlegap prunes too
            ages[path] = path.stat().st_mtime_ns
    for path in sorted(ages, key=ages.__getitem__)[:-KEPT_LOGS]:
        path.unlink(missing_ok=True)


def _drain(events: "deque[AnyEvent]") -> list[AnyEvent]:
    taken = []
    while events:
        taken.append(events.popleft())
    return taken
