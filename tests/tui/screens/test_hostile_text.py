"""Text from elsewhere cannot talk to the terminal."""

from dataclasses import replace

import pytest

from idlegap.core.protocol.events import EngineFailed, HostInfo
from idlegap.core.slow_tokens.explain import Share, SlowToken
from idlegap.tui.apps.live import LiveApp
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.line import Line
from tests.tui.support import scenes
from tests.tui.support.fake_session import FakeSession
from tests.tui.support.grid import grid
from tests.tui.support.waiting import until

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egpj.exe"


def test_every_row_is_cleaned() -> None:
    assert Line().add(EVIL).strip(40, GlyphLevel.BRAILLE).text.isprintable()


@pytest.mark.parametrize("keys", [[], ["d", "end"], ["w"]], ids=["main", "detail", "why"])
async def test_a_hostile_recording_reaches_no_cell(keys: list[str]) -> None:
    snap = replace(
        scenes.eager_and_graph(),
        engine=scenes.engine(model=EVIL, shape=EVIL, device_name=EVIL, attention=EVIL, torch=EVIL),
        host=HostInfo(0, EVIL, 2, (0,), 1.0, None, virtualization=EVIL, container=EVIL),
        text=EVIL,
        notice=EVIL,
        slow=(SlowToken("graph", 1, 1, 0, 1, 1, (Share("neighbour", 1, EVIL),)),),
    )
    app = LiveApp(FakeSession.still(snap), clock=lambda: scenes.NOW_NS)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "idlegap" in grid(app))
        await pilot.press(*keys)
        await until(pilot, lambda: "gpj.exe" in grid(app))
        shown = grid(app)
    assert shown.replace("\n", "").isprintable()


async def test_a_failure_of_a_hostile_engine_is_cleaned_on_screen_and_afterwards() -> None:
    snap = replace(scenes.failed(), failed=EngineFailed(0, EVIL, hint=EVIL, log_tail=(EVIL,)))
    app = LiveApp(FakeSession.still(snap), clock=lambda: scenes.NOW_NS)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "the engine has ended" in grid(app))
        assert grid(app).replace("\n", "").isprintable()
    assert all(line.isprintable() for line in app.farewell())
    assert len(app.farewell()) == 2
