"""The screens as text, compared exactly.

After a wanted change: ``IDLEGAP_UPDATE_GRIDS=1 pytest tests/tui/test_grids.py``, then read the diff.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idlegap.tui.apps.live import LiveApp
from idlegap.tui.terminal.glyphs import GlyphLevel
from tests.tui.support.fake_session import FakeSession
from tests.tui.support.grid import grid
from tests.tui.support.scenes import NOW_NS, SCENES
from tests.tui.support.waiting import until

FOLDER = Path(__file__).parents[1] / "grids"
SIZES = ((80, 24), (120, 40), (160, 45))
SMALL = ((60, 16), (40, 10))


async def screen(
    scene: str, size: tuple[int, int], level: GlyphLevel = GlyphLevel.BRAILLE, *keys: str
) -> str:
    feed = FakeSession.still(SCENES[scene]())
    app = LiveApp(feed, clock=lambda: NOW_NS, level=level)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "start" in feed.calls)
        await pilot.press(*keys)
        await pilot.pause()
        return grid(app)


def compare(name: str, shown: str) -> None:
    path = FOLDER / f"{name}.txt"
    if os.environ.get("IDLEGAP_UPDATE_GRIDS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("scene", SCENES)
async def test_scene(scene: str, size: tuple[int, int]) -> None:
    compare(f"{scene}-{size[0]}x{size[1]}", await screen(scene, size))


@pytest.mark.parametrize("size", SMALL, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_small_terminal(size: tuple[int, int]) -> None:
    compare(f"small-{size[0]}x{size[1]}", await screen("eager-and-graph", size))


@pytest.mark.parametrize("level", [GlyphLevel.BLOCKS, GlyphLevel.ASCII], ids=lambda level: level.value)
async def test_glyph_level(level: GlyphLevel) -> None:
    shown = await screen("eager-and-graph", (80, 24), level)
    compare(f"{level.value}-80x24", shown)
    assert level is not GlyphLevel.ASCII or shown.isascii()


@pytest.mark.parametrize(("key", "page"), [("d", "detail"), ("e", "explain"), ("question_mark", "help")])
async def test_page(key: str, page: str) -> None:
    compare(f"{page}-80x24", await screen("six-modes", (80, 24), GlyphLevel.BRAILLE, key))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_why(size: tuple[int, int]) -> None:
    compare(f"why-{size[0]}x{size[1]}", await screen("contended", size, GlyphLevel.BRAILLE, "w"))


@pytest.mark.parametrize("scene", SCENES)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(width=st.integers(10, 240), height=st.integers(3, 70), level=st.sampled_from(list(GlyphLevel)))
async def test_any_size_draws_every_scene(scene: str, width: int, height: int, level: GlyphLevel) -> None:
    rows = (await screen(scene, (width, height), level)).splitlines()
    assert len(rows) == height
    assert all(len(row) <= width for row in rows)
    assert any(row.strip() for row in rows)
