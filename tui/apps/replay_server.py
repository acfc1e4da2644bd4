"""A recording in a browser, by textual-serve (the extra ``serve``): on this machine alone.

Each visitor gets a replay of their own, in a process of its own, at their own pace. No visitor
starts a model: what is served is a file.
"""

import asyncio
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from aiohttp import web
from textual_serve.server import Server

HOST = "127.0.0.1"
MOST_VISITORS = 8
"""Each one is a process that reads the recording."""

ENDING = (signal.SIGTERM, signal.SIGHUP)


class ReplayServer(Server):
    """Serves the recording at `path` until SIGINT or one of ENDING; `ready` is called once it does.

    `is_ready` says whether it has been called, `ended_by` which of ENDING arrived.

    Pages of other sites cannot reach it through the visitor's browser, and its own page loads
    nothing from the network.
    """

    def __init__(self, path: Path, port: int, ready: Callable[[], None]) -> None:
        # `exec`, so that the visitor's process is a child of ours and not of a shell.
        program = [sys.executable, "-m", "idlegap.tui.apps.served"]
        command = "exec " + shlex.join([*program, str(path.absolute())])
        super().__init__(command, host=HOST, port=port, title="idlegap")
        self._ready = ready
        self.is_ready = False
        self.ended_by: int | None = None
        self._own = {f"http://{host}:{port}" for host in (HOST, "localhost")}
        self._visits: set[asyncio.Task[object]] = set()

    def serve(self, debug: bool = False) -> None:
        """Serve until a signal ends it, without textual-serve's banner and log of requests.

        Raises:
            OSError: the port is not available.
        """
        app = self._make_app()
        web.run_app(app, host=self.host, port=self.port, print=lambda *_: self._say_ready(), access_log=None)

    def _say_ready(self) -> None:
        self.is_ready = True
        self._ready()

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.on_response_prepare.append(self._forbid_strangers)
        return app

    async def _forbid_strangers(self, request: web.Request, response: web.StreamResponse) -> None:
        # textual-serve's page asks a font service for its font; the browser has one of its own.
        sockets = " ".join(origin.replace("http:", "ws:") for origin in sorted(self._own))
        response.headers["Content-Security-Policy"] = (
            f"default-src 'self' 'unsafe-inline' data: blob:; connect-src 'self' {sockets}"
        )

    async def on_startup(self, app: web.Application) -> None:
        """Tell ENDING from SIGINT from here on, except what is ignored (SIGHUP under nohup). Nothing is
        announced before the port is ours."""
        loop = asyncio.get_running_loop()
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._end, number)

    def _end(self, number: int) -> None:
        self.ended_by = number
        raise web.GracefulExit

    async def on_shutdown(self, app: web.Application) -> None:
        """End all visits, or the server would wait for them."""
        for visit in self._visits:
            visit.cancel()

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """One visit. Pages of other sites are refused, and so is anyone beyond MOST_VISITORS."""
        if request.headers.get("Origin") not in self._own:
            raise web.HTTPForbidden(text="this page may not watch the replay")
        if len(self._visits) >= MOST_VISITORS:
            raise web.HTTPServiceUnavailable(text=f"{MOST_VISITORS} visitors are the most")
        visit = asyncio.current_task()
        assert visit is not None, "aiohttp runs every request in a task"
        self._visits.add(visit)
        try:
            return await super().handle_websocket(request)
        finally:
            self._visits.discard(visit)
