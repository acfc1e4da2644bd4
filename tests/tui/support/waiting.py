"""Waiting for a condition, never for a time."""

from collections.abc import Callable

from textual.pilot import Pilot


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    """Let the app work until `condition` holds; the test's own timeout is the deadline.

    Raises:
        AssertionError: when the app ends first.
    """
    while not condition():
        assert pilot.app.is_running, "the app ended before that"
        await pilot.pause()
