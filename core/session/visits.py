"""The visits of each mode: stretches of tokens that were decoded under one set of conditions."""

from collections import deque
from dataclasses import dataclass, field

from idlegap.core.measure.host_speed import Visit
from idlegap.core.measure.typical_token import typical
from idlegap.core.protocol.events import Token, TokenBatch
from idlegap.core.protocol.modes import ModeName
from idlegap.core.session.mode_history import KEPT_TOKENS, RENEW_TOKENS


@dataclass(slots=True)
class VisitLog:
    """Collects the visits of one model and shape.

    Whoever feeds it calls `end` when a mode is entered or neighbours of our own making come or
    go, and leaves out the tokens beside them. Visits with too few tokens for a median are
    forgotten; of longer ones the last KEPT_TOKENS count, as on the screen. `kept` visits of each
    mode are remembered besides the one that goes on, all with None.
    """

    kept: int | None = 2
    _ended: dict[ModeName, deque[Visit]] = field(default_factory=dict)
    _mode: ModeName | None = None
    _since_ns: int = 0
    _tokens: deque[Token] = field(default_factory=lambda: deque(maxlen=KEPT_TOKENS))
    _added: int = 0
    _judged: int = 0
    _open: Visit | None = None

    def add(self, batch: TokenBatch) -> None:
        """Take a batch into account; excluded tokens do not count."""
        if batch.excluded is not None or not batch.tokens:
            return
        if batch.mode != self._mode:
            self.end()
        if not self._tokens:
            self._mode, self._since_ns = batch.mode, batch.tokens[0].start_ns
        self._tokens.extend(batch.tokens)
        self._added += len(batch.tokens)

    def end(self) -> None:
        """What comes next is another visit."""
        if visit := self._visit():
            self._ended.setdefault(visit.mode, deque(maxlen=self.kept)).append(visit)
        self._tokens.clear()
        self._added = self._judged = 0
        self._open = None

    def of(self, mode: ModeName) -> tuple[Visit, ...]:
        """The visits of `mode`, oldest first. The figures of the one that goes on are renewed
        every RENEW_TOKENS tokens."""
        if self._added - self._judged >= RENEW_TOKENS:
            self._open, self._judged = self._visit(), self._added
        ended = tuple(self._ended.get(mode, ()))
        return (*ended, self._open) if self._open is not None and self._mode == mode else ended

    def _visit(self) -> Visit | None:
        usual = typical(self._tokens)
        if self._mode is None or usual is None:
            return None
        return Visit(self._mode, self._since_ns, usual)
