"""The time of a recording that is being played: it runs, stands, and runs faster or slower."""

from collections.abc import Callable

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


class PlaybackClock:
    """Maps real time to the recording's, from `start_ns` to `end_ns`; stands at first.

    `clock` is CLOCK_MONOTONIC in ns; the recording's times are those of its own machine.
    """

    def __init__(self, clock: Callable[[], int], start_ns: int, end_ns: int) -> None:
        self._clock = clock
        self._start_ns, self._end_ns = start_ns, end_ns
        self._at_ns = start_ns
        self._since_ns = 0
        self._speed = 1.0
        self._playing = False

    @property
    def now_ns(self) -> int:
        """The recording's time."""
        if not self._playing:
            return self._at_ns
        passed_ns = round((self._clock() - self._since_ns) * self._speed)
        return min(self._at_ns + passed_ns, self._end_ns)

    @property
    def playing(self) -> bool:
        """Whether time passes: neither paused nor at the end."""
        return self._playing and self.now_ns < self._end_ns

    @property
    def speed(self) -> float:
        return self._speed

    def play(self) -> None:
        """Let time pass."""
        self.move(self.now_ns)
        self._playing = True

    def pause(self) -> None:
        """Let time stand."""
        self._at_ns = self.now_ns
        self._playing = False

    def move(self, to_ns: int) -> None:
        """Go to another time, at most to the end, and go on in the same way."""
        self._at_ns = min(max(to_ns, self._start_ns), self._end_ns)
        self._since_ns = self._clock()

    def set_speed(self, speed: float) -> None:
        """Play `speed` times as fast as it was.

        Raises:
            ValueError: outside SPEEDS' range.
        """
        if not SPEEDS[0] <= speed <= SPEEDS[-1]:
            raise ValueError(f"speed {speed:g}: from {SPEEDS[0]:g} to {SPEEDS[-1]:g}")
        self.move(self.now_ns)
        self._speed = speed

    def change_speed(self, steps: int) -> None:
        """The next faster speed of SPEEDS, or the next slower one for -1."""
        nearest = min(range(len(SPEEDS)), key=lambda i: abs(SPEEDS[i] - self._speed))
        self.set_speed(SPEEDS[min(max(nearest + steps, 0), len(SPEEDS) - 1)])
