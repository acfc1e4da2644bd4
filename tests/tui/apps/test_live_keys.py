"""Keys of a live run beyond the modes: shape, verification, recordings, neighbours, pictures."""

from dataclasses import replace
from pathlib import Path

import pytest

from idlegap.core.protocol.commands import (
    AnyCommand,
    RestartRound,
    SetPaused,
    SetShape,
    TakeProfile,
    VerifyModes,
)
from idlegap.core.session.snapshot import FromApp, RecordingView, Snapshot
from idlegap.tui.apps.live import LiveApp
from tests.tui.support import scenes
from tests.tui.support.fake_session import FakeSession
from tests.tui.support.grid import grid
from tests.tui.support.waiting import until


async def pressed(snap: Snapshot, *keys: str) -> tuple[FakeSession, str]:
    feed = FakeSession.still(snap)
    app = LiveApp(feed, clock=lambda: scenes.NOW_NS)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "start" in feed.calls)
        await pilot.press(*keys)
        await pilot.pause()
        return feed, grid(app)


def shaped(batch: int = 1, prompt_tokens: int = 512) -> Snapshot:
    return replace(scenes.eager_and_graph(), engine=scenes.engine(batch=batch, prompt_tokens=prompt_tokens))


@pytest.mark.parametrize(
    ("snap", "key", "command", "answer"),
    [
        (shaped(), "v", VerifyModes(), "verifying tokens against eager-static …"),
        (shaped(), "b", SetShape(2, 512), "batch 2, prompt of 512 tokens; graphs are captured anew …"),
        (shaped(8), "B", SetShape(4, 512), "batch 4, prompt of 512 tokens"),
        (shaped(), "right_square_bracket", SetShape(1, 1024), "batch 1, prompt of 1,024 tokens"),
        (shaped(), "left_square_bracket", SetShape(1, 256), "batch 1, prompt of 256 tokens"),
        (shaped(48), "b", SetShape(64, 512), "batch 64"),
        (shaped(1, 5000), "right_square_bracket", SetShape(1, 8192), "prompt of 8,192 tokens"),
        (shaped(1, 20), "left_square_bracket", SetShape(1, 16), "prompt of 16 tokens"),
    ],
)
async def test_a_key_asks_the_engine_and_is_answered(
    snap: Snapshot, key: str, command: AnyCommand, answer: str
) -> None:
    feed, shown = await pressed(snap, key)
    assert feed.commands == [command]
    assert f"! {answer}" in shown or answer in shown


PAUSED = replace(shaped(), paused=True)


@pytest.mark.parametrize(
    ("key", "command", "answer"),
    [
        ("t", RestartRound(), "! the round restarts when the pause ends"),
        ("m", TakeProfile(), "! measuring device time …"),
        ("v", VerifyModes(), "! verifying tokens against eager-static …"),
        ("b", SetShape(2, 512), "! batch 2, prompt of 512 tokens"),
        ("p", SetPaused(False), "! going on …"),
    ],
)
async def test_in_a_pause_only_the_round_has_to_wait(key: str, command: AnyCommand, answer: str) -> None:
    feed, shown = await pressed(PAUSED, key)
    assert feed.commands == [command]
    assert answer in shown


@pytest.mark.parametrize("key", ["p", "t", "m", "v", "b"])
async def test_an_engine_that_has_ended_is_asked_for_nothing(key: str) -> None:
    feed, shown = await pressed(scenes.failed(), key)
    assert feed.commands == []
    assert "! the engine has ended; R starts it again" in shown


@pytest.mark.parametrize(
    ("snap", "key"),
    [
        (shaped(64), "b"),
        (shaped(1), "B"),
        (shaped(1, 8192), "right_square_bracket"),
        (shaped(1, 16), "left_square_bracket"),
    ],
)
async def test_at_a_limit_nothing_is_asked_and_the_limits_are_named(snap: Snapshot, key: str) -> None:
    feed, shown = await pressed(snap, key)
    assert feed.commands == []
    assert "batch goes from 1 to 64, prompts from 16 to 8,192 tokens" in shown


@pytest.mark.parametrize("key", ["b", "right_square_bracket"])
async def test_no_graph_is_captured_anew_where_none_can_be(key: str) -> None:
    feed, shown = await pressed(scenes.no_gpu(), key)
    assert len(feed.commands) == 1
    assert "tokens …" in shown
    assert "anew" not in shown


async def test_device_time_is_refused_at_once_on_a_cpu() -> None:
    feed, shown = await pressed(scenes.no_gpu(), "m")
    assert feed.commands == []
    assert "! m cannot measure device time here: profile windows need CUDA" in shown
    feed, shown = await pressed(scenes.eager_and_graph(), "m")
    assert feed.commands == [TakeProfile()]
    assert "! measuring device time …" in shown


@pytest.mark.parametrize("key", ["b", "B", "left_square_bracket", "right_square_bracket"])
async def test_a_shape_is_asked_for_only_of_an_engine_that_runs(key: str) -> None:
    feed, shown = await pressed(scenes.loading(), key)
    assert feed.commands == []
    assert "once the engine runs" in shown


@pytest.mark.parametrize(
    ("key", "call", "answer"),
    [
        ("n", "add neighbour", "one more neighbour"),
        ("N", "remove neighbour", "one neighbour less"),
        ("r", "record in .", "recording …"),
    ],
)
async def test_neighbours_and_recordings_are_the_feeds_and_its_answer_is_shown(
    key: str, call: str, answer: str
) -> None:
    feed, shown = await pressed(scenes.eager_and_graph(), key)
    assert feed.calls == ["start", call]
    assert f"! {answer}" in shown


async def test_an_answer_is_seen_on_a_page_too() -> None:
    _, shown = await pressed(scenes.eager_and_graph(), "w", "n")
    assert shown.startswith(" why ─")
    assert "! one more neighbour" in shown.splitlines()[-1]


async def test_a_recording_shows_its_size_and_says_once_why_it_ended() -> None:
    snap = scenes.eager_and_graph()
    feed = FakeSession.still(replace(snap, app=FromApp(recording=RecordingView("run.jsonl", 640_000))))
    now_ns = scenes.NOW_NS
    app = LiveApp(feed, clock=lambda: now_ns)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "REC 640 KB  LIVE" in grid(app))
        full = RecordingView("run.jsonl", 650_000, "No space left on device")
        feed.scene = lambda _now_ns: replace(snap, app=FromApp(recording=full))
        await until(pilot, lambda: "REC ENDED  LIVE" in grid(app))
        assert "! run.jsonl: recording ended: No space left on device" in grid(app)
        now_ns += 60 * 10**9
        await until(pilot, lambda: "recording ended" not in grid(app))
        assert "REC ENDED" in grid(app)


async def test_the_greeting_is_said_at_the_start() -> None:
    feed = FakeSession.still(scenes.eager_and_graph())
    app = LiveApp(feed, clock=lambda: scenes.NOW_NS, greeting="metrics are served at http://[::1]:9464/")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "! metrics are served at http://[::1]:9464/" in grid(app))


async def test_s_saves_what_is_on_the_screen_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, shown = await pressed(scenes.eager_and_graph(), "s", "s")
    pictures = sorted(tmp_path.iterdir())
    assert len(pictures) == 2
    assert all(picture.name.startswith("idlegap-graph-") for picture in pictures)
    assert any(f"! saved {picture.name}" in shown for picture in pictures)
    svg = pictures[0].read_text(encoding="utf-8").replace("&#160;", " ")
    assert "where a token goes" in svg
    assert "@font-face" not in svg
    assert "5.48x static" in svg


async def test_a_picture_that_cannot_be_saved_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    _, shown = await pressed(scenes.eager_and_graph(), "s")
    assert "! cannot save the picture: No such file or directory" in shown
