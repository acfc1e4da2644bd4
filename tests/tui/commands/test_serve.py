"""The replay in a browser: the page, the visit, and who is turned away."""

import base64
import contextlib
import io
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest
from PIL import Image

from idlegap.tui import cli
from idlegap.tui.exit_codes import ExitCode
from tests.core.recording.stories import REAL
from tests.paths import ROOT

DEADLINE_S = 30.0
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
GREEN, AMBER = (0x6F, 0xD0, 0x8C), (0xF0, 0xB4, 0x5A)
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass
class Serving:
    process: "subprocess.Popen[str]"
    port: int
    said: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def visits(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()


@pytest.fixture
def serving() -> Iterator[Serving]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "idlegap", "serve", str(REAL), "--port", str(port)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = process.stderr.readline() + process.stderr.readline()
    yield Serving(process, port, said)
    process.kill()
    process.wait()
    process.stderr.close()


def test_it_says_where_it_is_and_how_to_get_there(serving: Serving) -> None:
    assert f"is shown at {serving.url}/" in serving.said
    assert f"ssh -L {serving.port}:127.0.0.1:{serving.port} " in serving.said


async def read_until(socket: aiohttp.ClientWebSocketResponse, wanted: str) -> str:
    """What the visit draws, without escape sequences, until `wanted` is in it."""
    shown = ""
    end = time.monotonic() + DEADLINE_S
    while wanted not in shown:
        assert time.monotonic() < end, f"never saw {wanted}:\n{shown}"
        message = await socket.receive(timeout=DEADLINE_S)
        if message.type is aiohttp.WSMsgType.BINARY:
            shown += ESCAPES.sub("", message.data.decode("utf-8", "replace"))
        else:
            assert message.type is not aiohttp.WSMsgType.CLOSED, shown
    return shown


async def test_a_visitor_watches_and_steers_a_replay_of_their_own(serving: Serving) -> None:
    async with aiohttp.ClientSession(headers={"Origin": serving.url}) as browser:
        async with browser.get(serving.url) as page:
            text = await page.text()
            assert page.status == 200
            policy = page.headers["Content-Security-Policy"]
        assert f"ws://127.0.0.1:{serving.port}/ws" in text
        assert "default-src 'self'" in policy
        assert "http" not in policy
        async with (
            browser.ws_connect(f"{serving.url}/ws?width=100&height=30") as one,
            browser.ws_connect(f"{serving.url}/ws?width=100&height=30") as other,
        ):
            await read_until(one, "REPLAY playing 1x")
            await read_until(other, "REPLAY playing 1x")
            await one.send_json(["stdin", "p"])
            await read_until(one, "paused 1x")
            await one.send_json(["stdin", "s"])
            await read_until(one, "pictures are saved by a replay in a terminal")
            assert len(serving.visits) == 2
            assert not any("torch" in line for visit in serving.visits for line in maps(visit))


def maps(process: psutil.Process) -> list[str]:
    return Path(f"/proc/{process.pid}/maps").read_text().splitlines()


@pytest.mark.parametrize("origin", [None, "http://elsewhere.example", "http://127.0.0.1:1"])
async def test_pages_of_other_sites_are_turned_away(serving: Serving, origin: str | None) -> None:
    headers = {} if origin is None else {"Origin": origin}
    async with aiohttp.ClientSession(headers=headers) as browser:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
            await browser.ws_connect(f"{serving.url}/ws")
    assert refusal.value.status == 403
    assert serving.visits == []


ENDS = {signal.SIGINT: 0, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGKILL: -signal.SIGKILL}


@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
async def test_visits_end_with_the_server(serving: Serving, number: signal.Signals) -> None:
    async with aiohttp.ClientSession(headers={"Origin": serving.url}) as browser:
        visitor = await browser.ws_connect(f"{serving.url}/ws")
        await read_until(visitor, "REPLAY playing")
        watched = [os.pidfd_open(visit.pid) for visit in serving.visits]
        serving.process.send_signal(number)
        assert serving.process.wait(DEADLINE_S) == ENDS[number]
        for visit in watched:
            assert select.select([visit], [], [], DEADLINE_S)[0]
            os.close(visit)
        with contextlib.suppress(aiohttp.ClientError):
            await visitor.close()


@pytest.fixture
def devtools(tmp_path: Path) -> Iterator[str]:
    """The address of a headless browser's debugging protocol."""
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1100,700"]
    command += [f"--user-data-dir={tmp_path}", "--remote-debugging-port=0", "about:blank"]
    browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert browser.stderr is not None
    said = next(line for line in browser.stderr if "DevTools listening on" in line)
    yield re.sub(r".*ws://([^/]+)/.*\n", r"http://\1", said)
    browser.terminate()
    browser.communicate()


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
async def test_a_browser_draws_the_screen_and_passes_keys_on(serving: Serving, devtools: str) -> None:
    async with aiohttp.ClientSession() as http:
        async with http.put(f"{devtools}/json/new?{serving.url}/") as answer:
            page = await answer.json()
        async with http.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as tab:
            await until_drawn(tab, GREEN)  # REPLAY playing
            click = {"button": "left", "clickCount": 1, "x": 500, "y": 300}
            for kind in ("mousePressed", "mouseReleased"):
                await ask(tab, "Input.dispatchMouseEvent", type=kind, **click)
            await ask(tab, "Input.dispatchKeyEvent", type="char", text="p", key="p")
            await until_drawn(tab, AMBER)  # REPLAY paused


async def until_drawn(tab: aiohttp.ClientWebSocketResponse, colour: tuple[int, int, int]) -> None:
    """Until a picture of the page has `colour` in its first row, where the state stands."""
    end = time.monotonic() + DEADLINE_S
    while True:
        assert time.monotonic() < end, f"never saw {colour}"
        answer = await ask(tab, "Page.captureScreenshot", format="png")
        picture = Image.open(io.BytesIO(base64.b64decode(answer["data"]))).convert("RGB")
        row = picture.crop((picture.width // 2, 0, picture.width, 20))
        if any(seen == colour for _, seen in row.getcolors(row.width * row.height) or ()):
            return


async def ask(tab: aiohttp.ClientWebSocketResponse, method: str, **parameters: object) -> dict[str, Any]:
    await tab.send_json({"id": 1, "method": method, "params": parameters})
    while True:
        answer = await tab.receive_json(timeout=DEADLINE_S)
        if answer.get("id") == 1:
            result: dict[str, Any] = answer["result"]
            return result


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("serve absent.jsonl", ["absent.jsonl", "No such file"]),
        (f"serve {REAL} --port 0", ["--port 0", "65535"]),
        (f"serve {REAL} --port 70000", ["--port 70000"]),
    ],
)
def test_what_cannot_work_is_one_clear_line(
    line: str, named: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(line.split()) == ExitCode.USAGE
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    for name in named:
        assert name in err


def test_a_port_that_is_taken_and_a_missing_extra_are_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = ["serve", str(REAL), "--port", port]
        done = subprocess.run(
            [sys.executable, "-m", "idlegap", *line], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
    assert (done.returncode, done.stderr.count("\n")) == (ExitCode.USAGE, 1)
    assert f"--port {port}: " in done.stderr
    assert "choose another with --port\n" in done.stderr
    code = (
        f"import sys; sys.modules['textual_serve'] = None\nfrom tui.cli import main\nsys.exit(main({line!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (ExitCode.USAGE, 1)
    assert "pip install 'idlegap[serve]'" in done.stderr
