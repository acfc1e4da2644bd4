"""The app with a fake session: what it shows, what keys do, how it ends."""

from dataclasses import replace

import pytest

from idlegap.core.protocol.commands import AnyCommand, RestartRound, SetMode, SetPaused, TakeProfile
from idlegap.core.session.snapshot import Snapshot, StageView
from idlegap.tui.apps.live import LiveApp
from idlegap.tui.exit_codes import ExitCode
from tests.tui.support import scenes
from tests.tui.support.fake_session import FakeSession
from tests.tui.support.grid import grid
from tests.tui.support.waiting import until


def app_on(snap: Snapshot) -> tuple[LiveApp, FakeSession]:
    feed = FakeSession.still(snap)
    return LiveApp(feed, clock=lambda: scenes.NOW_NS), feed


async def pressed(
    snap: Snapshot, *keys: str, size: tuple[int, int] = (80, 24)
) -> tuple[LiveApp, FakeSession, str]:
    app, feed = app_on(snap)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "start" in feed.calls)
        await pilot.press(*keys)
        await pilot.pause()
        return app, feed, grid(app)


async def test_the_engine_starts_only_after_the_first_paint() -> None:
    painted: list[str] = []

    class PaintFirst(FakeSession):
        def start(self) -> None:
            painted.append(grid(app))
            super().start()

    scene = scenes.loading()
    feed = PaintFirst(lambda _now_ns: scene)
    app = LiveApp(feed, clock=lambda: scenes.NOW_NS)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "start" in feed.calls)
    assert "starting the engine" in painted[0]
    assert feed.calls == ["start"]


@pytest.mark.parametrize(
    ("keys", "commands"),
    [
        (["space"], [SetMode("eager-static")]),
        (["space", "space"], [SetMode("eager-static"), SetMode("graph")]),
        (["1"], [SetMode("eager")]),
        (["6"], [SetMode("fused-graph")]),
        (["3"], []),
        (["p"], [SetPaused(paused=True)]),
        (["t"], [RestartRound()]),
        (["m"], [TakeProfile()]),
        (["d", "2", "escape", "p"], [SetMode("eager-static"), SetPaused(paused=True)]),
    ],
)
async def test_keys_become_commands(keys: list[str], commands: list[AnyCommand]) -> None:
    _, feed, _ = await pressed(scenes.eager_and_graph(), *keys)
    assert feed.commands == commands


async def test_space_from_another_mode_goes_to_the_graph() -> None:
    _, feed, _ = await pressed(scenes.six_modes(), "space")
    assert feed.commands == [SetMode("graph")]


async def test_p_goes_on_when_paused() -> None:
    _, feed, _ = await pressed(replace(scenes.eager_and_graph(), paused=True), "p")
    assert feed.commands == [SetPaused(paused=False)]


async def test_a_mode_that_cannot_run_says_why_and_sends_nothing() -> None:
    _, feed, shown = await pressed(scenes.no_gpu(), "space")
    assert feed.commands == []
    assert "! 3 graph cannot run here: needs CUDA" in shown


async def test_a_key_is_answered_at_once() -> None:
    _, _, shown = await pressed(scenes.eager_only(), "space")
    assert "! entering 3 graph …" in shown


async def test_modes_asked_for_too_early_get_an_answer() -> None:
    _, feed, shown = await pressed(scenes.loading(), "3")
    assert feed.commands == []
    assert "the engine is not ready yet" in shown


async def test_restart_only_after_a_failure() -> None:
    _, feed, shown = await pressed(scenes.eager_and_graph(), "R")
    assert "restart" not in feed.calls
    assert "it is running" in shown
    _, feed, _ = await pressed(scenes.failed(), "R")
    assert feed.calls == ["start", "restart"]


@pytest.mark.parametrize(
    ("snap", "code"),
    [
        (scenes.eager_and_graph(), ExitCode.DONE),
        (scenes.failed(), ExitCode.ENGINE_FAILED),
        (replace(scenes.failed(), failed=scenes.unsupported().failed), ExitCode.UNSUPPORTED),
    ],
)
@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_quitting_tells_how_the_engine_is(snap: Snapshot, code: ExitCode, key: str) -> None:
    app, _, _ = await pressed(snap, key)
    assert app.return_code == code


async def test_a_machine_that_cannot_do_it_ends_the_app_by_itself() -> None:
    app, feed = app_on(scenes.unsupported())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.return_code is not None)
    assert app.return_code == ExitCode.UNSUPPORTED
    assert "restart" not in feed.calls


@pytest.mark.parametrize(("key", "heading"), [("d", "detail"), ("e", "explain"), ("question_mark", "help")])
async def test_pages_open_and_close_with_the_same_key_or_escape(key: str, heading: str) -> None:
    snap = scenes.eager_and_graph()
    assert (await pressed(snap, key))[2].startswith(f" {heading} ─")
    assert "where a token goes" in (await pressed(snap, key, key))[2]
    assert "where a token goes" in (await pressed(snap, key, "escape"))[2]


async def test_one_page_replaces_another() -> None:
    _, _, shown = await pressed(scenes.eager_and_graph(), "d", "e")
    assert shown.startswith(" explain ─")
    assert "where a token goes" in (await pressed(scenes.eager_and_graph(), "d", "e", "escape"))[2]


async def test_pages_scroll_and_stop_at_both_ends() -> None:
    snap = scenes.six_modes()
    top = (await pressed(snap, "e"))[2]
    assert (await pressed(snap, "e", "up"))[2] == top
    assert (await pressed(snap, "e", "down", "down", "up"))[2].splitlines()[1] == top.splitlines()[2]
    end = (await pressed(snap, "e", "end"))[2]
    assert (await pressed(snap, "e", "end", "pagedown"))[2] == end
    assert (await pressed(snap, "e", "end", "home"))[2] == top
    assert "they are not read in time." in " ".join(end.split())


async def test_the_screens_own_cost_is_reported() -> None:
    feed = FakeSession.still(scenes.eager_and_graph())
    ticks = iter(range(10**9))
    app = LiveApp(feed, clock=lambda: scenes.NOW_NS + next(ticks) * 100_000_000, fps=10)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bool(feed.samples))
    assert feed.samples[0].frames_per_s > 0
    assert feed.samples[0].frame_ns > 0
    assert feed.samples[0].bytes_per_s is None


async def test_a_new_size_lays_out_anew() -> None:
    app, feed = app_on(scenes.eager_and_graph())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "start" in feed.calls)
        assert "driver 580.159" not in grid(app)
        await pilot.resize_terminal(160, 45)
        await until(pilot, lambda: "device work" in grid(app))
        assert "driver 580.159" in grid(app)
        await pilot.resize_terminal(50, 12)
        await until(pilot, lambda: "GPU idle" in grid(app))
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "where a token goes" in grid(app))


async def test_from_loading_to_live_to_lost_and_back() -> None:
    feed = FakeSession.still(scenes.loading())
    app = LiveApp(feed, clock=lambda: scenes.NOW_NS)

    def show(snap: Snapshot) -> None:
        feed.scene = lambda _now_ns: snap

    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "downloading the model" in grid(app))
        show(scenes.eager_and_graph())
        await until(pilot, lambda: "where a token goes" in grid(app))
        show(scenes.failed())
        await until(pilot, lambda: "the engine has ended" in grid(app))
        show(Snapshot(scenes.NOW_NS, StageView("starting", "", None, scenes.NOW_NS)))
        await until(pilot, lambda: "starting the engine process" in grid(app))
    assert app.return_code in (None, ExitCode.DONE)
