"""The replay screen on real recordings: what keys do, and what it says about the file."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.pilot import Pilot

from idlegap.core.protocol.events import EngineFailed
from idlegap.core.protocol.modes import MODES
from idlegap.core.sources.recording import Replay
from idlegap.tui.apps.replay import LIVE_ONLY, ReplayApp
from idlegap.tui.exit_codes import ExitCode
from tests.core.recording.stories import READY, REAL, SECOND, START_NS, FakeClock, record, story
from tests.tui.support.grid import grid
from tests.tui.support.waiting import until


@dataclass
class Showing:
    """A replay on a screen, whose time passes when the test says so."""

    app: ReplayApp
    pilot: Pilot[None]
    replay: Replay
    clock: FakeClock

    async def press(self, *keys: str) -> str:
        await self.pilot.press(*keys)
        await self.pilot.pause()
        return grid(self.app)

    async def let_pass(self, seconds: float) -> str:
        self.clock.now_ns += round(seconds * SECOND)
        self.app.draw()
        await self.pilot.pause()
        return grid(self.app)

    @property
    def position_s(self) -> float:
        return self.replay.source.position_ns / SECOND


@asynccontextmanager
async def showing(
    path: Path = REAL, speed: float = 1.0, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Showing]:
    clock = FakeClock()
    replay = Replay(path, speed=speed, clock=clock)
    app = ReplayApp(replay, clock=clock)
    try:
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: replay.source.playing)
            yield Showing(app, pilot, replay, clock)
    finally:
        replay.close()


async def test_it_plays_at_its_speed_and_the_bar_shows_where() -> None:
    async with showing(speed=4.0) as screen:
        shown = await screen.let_pass(10)
        assert "REPLAY playing 4x" in shown
        assert "LIVE" not in shown
        position, bar, length = shown.splitlines()[-2].split()[:3]
        assert (position, length) == ("0:40", "4:56")
        assert bar.index("█") == len(bar) * 40 // 296
        assert "┊" in bar


@pytest.mark.parametrize("key", ["space", "p"])
async def test_it_pauses_and_goes_on(key: str) -> None:
    async with showing() as screen:
        await screen.let_pass(20)
        assert "REPLAY paused 1x" in await screen.press(key)
        await screen.let_pass(5)
        assert screen.position_s == 20
        assert "REPLAY playing 1x" in await screen.press(key)
        await screen.let_pass(5)
        assert screen.position_s == 25


async def test_at_its_end_it_stands_and_space_plays_it_again() -> None:
    async with showing() as screen:
        assert "REPLAY at its end" in await screen.let_pass(10_000)
        assert "REPLAY playing 1x" in await screen.press("space")
        assert screen.position_s == 0


async def test_plus_and_minus_change_the_speed_within_its_limits() -> None:
    async with showing() as screen:
        assert "playing 2x" in await screen.press("plus")
        assert "playing 4x" in await screen.press("equals_sign")
        assert "playing 16x" in await screen.press(*["plus"] * 5)
        assert "playing 0.25x" in await screen.press(*["minus"] * 9)


async def test_arrows_go_five_seconds_back_and_ahead() -> None:
    async with showing() as screen:
        await screen.press("p")
        await screen.press("right", "right", "right")
        assert screen.position_s == 15
        assert " 0:10 " in await screen.press("left")
        assert screen.position_s == 10
        await screen.press("left", "left", "left")
        assert screen.position_s == 0


async def test_going_back_shows_what_was_shown_before() -> None:
    async with showing() as screen:
        await screen.press("p")
        early = await screen.press(*["right"] * 5)
        assert await screen.press(*["right"] * 10) != early
        assert await screen.press(*["left"] * 10) == early


async def test_a_step_is_one_token_and_names_it() -> None:
    async with showing() as screen:
        await screen.press("p", *["right"] * 5)
        rows = [(await screen.press("full_stop")).splitlines()[-2] for _ in range(3)]
        tokens = [row.partition(" token ")[2] for row in rows]
        indices = [int(text.split()[0]) for text in tokens]
        assert indices == [indices[0], indices[0] + 1, indices[0] + 2]
        assert all("ms" in text for text in tokens)
        assert not screen.replay.source.playing


async def test_it_jumps_to_where_the_mode_changes_until_it_does_no_more() -> None:
    async with showing() as screen:
        switches = screen.replay.source.index.switches_ns
        start_ns = screen.replay.source.index.start_ns
        await screen.press("p")
        for ns in switches:
            await screen.press("greater_than_sign")
            assert screen.replay.source.position_ns == ns - start_ns
        assert "the mode does not change any more" in await screen.press("greater_than_sign")


async def test_it_jumps_to_slow_tokens_until_none_follows(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, story())
    async with showing(path) as screen:
        await screen.press("p")
        places = []
        while "no slow token follows" not in await screen.press("exclamation_mark"):
            assert screen.replay.source.token is not None
            places.append(screen.replay.source.token.token)
        assert places
        assert places == sorted(places, key=lambda token: token.done_ns)
        assert all(token.wall_ns > 30_000_000 for token in places)


@pytest.mark.parametrize("key", [key for keys, _ in LIVE_ONLY for key in keys.split(",")])
async def test_keys_that_ask_an_engine_say_that_this_is_a_recording(key: str) -> None:
    async with showing() as screen:
        assert "in a live run; this is a recording" in await screen.press(key)


def test_every_mode_key_has_an_answer() -> None:
    assert {spec.key for spec in MODES} <= {keys for keys, _ in LIVE_ONLY}


async def test_help_and_key_bar_are_those_of_a_replay() -> None:
    async with showing() as screen:
        bar = (await screen.let_pass(20)).splitlines()[-1]
        assert bar.startswith(" space pause  . token  > mode  ! slow  ← → 5 s  + - speed")
        assert bar.endswith("? help  q quit")
        shown = await screen.press("question_mark")
        assert "go to the next slow token" in shown
        assert "start a recording" not in shown


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 10)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_every_size_says_that_it_is_a_replay(size: tuple[int, int]) -> None:
    async with showing(size=size) as screen:
        shown = await screen.let_pass(25)
        assert "playing 1x" in shown
        assert "LIVE" not in shown


async def test_a_recording_that_was_cut_off_says_so_at_both_ends(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, story())
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-20]) + lines[-20][:30])
    cut = f"the recording was cut off: its last whole line is {len(lines) - 20:,}"
    async with showing(path, size=(120, 40)) as screen:
        assert f"! {cut}" in grid(screen.app)
        assert cut not in await screen.let_pass(5)
        shown = await screen.let_pass(10_000)
        assert "the recording was cut off" in shown
        assert screen.app.farewell() == [f"idlegap: {cut}"]


async def test_a_failure_in_a_recording_neither_ends_the_replay_nor_offers_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    failed = EngineFailed(START_NS + 5 * SECOND, "no CUDA device", unsupported=True, hint="try --device cpu")
    record(path, [READY, failed])
    async with showing(path) as screen:
        shown = await screen.let_pass(20)
        assert "no CUDA device" in shown
        assert "starts it again" not in shown
        assert screen.app.return_code is None
        await screen.press("q")
    assert screen.app.return_code == ExitCode.DONE
    assert screen.app.farewell() == []
