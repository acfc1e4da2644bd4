"""What the session remembers of each mode: its last tokens, prefills and measurements."""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

from idlegap.core.measure.cpu_time import LeastCpu
from idlegap.core.measure.rate import TokenTimes
from idlegap.core.measure.typical_token import Typical, typical
from idlegap.core.protocol.events import ProfileWindow, Token, Verified

KEPT_TOKENS = 512
"""Two default rounds: long enough for a p99, short enough to follow a host that changes."""

KEPT_PREFILLS = 32
RATE_WINDOW_NS = 2_000_000_000
RATE_LEAST_TOKENS = 8
RENEW_TOKENS = 32


@dataclass(slots=True)
class ModeHistory:
    """The recent past of one mode. Figures start afresh each time that the mode is entered,
    but the old ones stand until the first new token.

    `tokens` are counted ones, of an earlier visit while they are `_stale`. `new` are those at new
    cache lengths since the last counted one of this visit; they stand in where there are no others.
    `token_ns` is about what a token takes, as last seen, counted or not.
    A mode that has `_resumed` has decoded nothing yet since it was entered.
    """

    tokens: deque[Token] = field(default_factory=lambda: deque(maxlen=KEPT_TOKENS))
    new: deque[Token] = field(default_factory=lambda: deque(maxlen=KEPT_TOKENS))
    prefills_ns: deque[int] = field(default_factory=lambda: deque(maxlen=KEPT_PREFILLS))
    profile: ProfileWindow | None = None
    rejected: ProfileWindow | None = None
    verified: Verified | None = None
    least_cpu: LeastCpu = field(default_factory=LeastCpu)
    total: int = 0
    token_ns: int | None = None
    _stale: bool = False
    _resumed: bool = False
    _typical: Typical | None = None
    _typical_at: int = 0
    _figures: TokenTimes | None = None

    @property
    def at_new_length(self) -> bool:
        """Whether the newest token was at a new cache length."""
        return bool(self.new)

    @property
    def first_round(self) -> bool:
        """Whether only tokens at new cache lengths are known."""
        return bool(self.new) and not self.tokens

    @property
    def latest(self) -> deque[Token]:
        """The newest tokens of one kind: what the current speed is computed from."""
        return self.new or self.tokens

    def entered(self) -> None:
        """The mode was entered (again)."""
        self._stale = self._resumed = True

    def turns(self, *, at_new_length: bool) -> bool:
        """Whether a token of this kind follows one of the other within this visit."""
        return not self._resumed and bool(self.latest) and at_new_length != self.at_new_length

    def add(self, tokens: tuple[Token, ...]) -> None:
        """Counted tokens, oldest first."""
        if self._stale:
            self.tokens.clear()
            self._typical = None
        self._stale = self._resumed = False
        self.new.clear()
        self.tokens.extend(tokens)
        self.total += len(tokens)
        self._figures = None

    def add_at_new_lengths(self, tokens: tuple[Token, ...]) -> None:
        """Tokens that do not count, oldest first."""
        if self._resumed:
            self.new.clear()
        self._resumed = False
        self.new.extend(tokens)
        if not self.tokens:
            self._figures = None

    def note_profile(self, window: ProfileWindow) -> None:
        """Keep an accepted window; a rejected one only until the next accepted one."""
        if window.accepted:
            self.profile, self.rejected = window, None
        else:
            self.rejected = window

    def figures(self) -> TokenTimes | None:
        """Medians over the kept tokens, None before the first one."""
        if self._figures is None and (kept := self.tokens or self.new):
            self._figures = _times(kept)
        return self._figures

    def latest_figures(self) -> TokenTimes | None:
        """The same over the `latest` tokens."""
        return _times(self.new) if self.new and self.tokens else self.figures()

    def usual(self) -> Typical | None:
        """What a counted token of this mode usually costs; renewed every RENEW_TOKENS tokens."""
        if self._typical is None or self.total - self._typical_at >= RENEW_TOKENS:
            self._typical, self._typical_at = typical(tuple(self.tokens)), self.total
        return self._typical

    def recent_walls_ns(self) -> list[int]:
        """Wall times of the last RATE_WINDOW_NS of tokens, at least RATE_LEAST_TOKENS of them."""
        walls: list[int] = []
        for token in reversed(self.latest):
            old = self.latest[-1].done_ns - token.done_ns > RATE_WINDOW_NS
            if old and len(walls) >= RATE_LEAST_TOKENS:
                break
            walls.append(token.wall_ns)
        return walls


def _times(tokens: Collection[Token]) -> TokenTimes:
    return TokenTimes.of([token.wall_ns for token in tokens], [token.dispatch_ns for token in tokens])
