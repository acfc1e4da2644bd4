"""Token records on their way out: gathered into batches, warm-ups marked, text beside them."""

from collections.abc import Callable

from idlegap.core.engine.outbox import Outbox
from idlegap.core.engine.round_text import GeneratedText
from idlegap.core.protocol.events import Exclusion, TextPiece, Token, TokenBatch
from idlegap.core.protocol.modes import ModeName

BATCH_NS = 50_000_000
"""A batch leaves when its oldest token is this old: about 20 a second, or one slow token."""

WARM_UP_TOKENS = 3
"""Tokens after a change of mode that stay out of every figure (caches, clocks, first launches)."""

GAP = " […] "
"""Stands in the text for tokens that were not read."""


class TokenWriter:
    """Gathers the tokens of one mode and round at a time; call `flush` before either changes."""

    def __init__(self, outbox: Outbox, clock: Callable[[], int], text: GeneratedText | None) -> None:
        """`text` is None for models whose tokens mean nothing."""
        self._outbox = outbox
        self._clock = clock
        self._text = text
        self._tokens: list[Token] = []
        self._where: tuple[ModeName, int, int] = ("eager", 0, 0)
        self._warm_up = 0
        self._new_length = False

    @property
    def warming(self) -> bool:
        """Whether the next token belongs to a warm-up."""
        return self._warm_up > 0

    @property
    def reads_tokens(self) -> bool:
        """Whether token ids are wanted on the host, for their text."""
        return self._text is not None

    def begin_warm_up(self) -> None:
        """Mark the next WARM_UP_TOKENS tokens."""
        self._warm_up = WARM_UP_TOKENS

    def begin_round(self, first_id: int | None) -> None:
        """A prefill has run and given its first token id (None unless `reads_tokens`)."""
        if self._text is not None and first_id is not None:
            self._text.restart(first_id)
            self._say_text(restart=True)

    def add(
        self, token: Token, mode: ModeName, round_number: int, index: int, *, new_length: bool = False
    ) -> None:
        """Gather one token; it leaves with the next `flush`, marked if it is the first at its
        `new_length` of the cache."""
        if new_length != self._new_length:
            self.flush()
            self._new_length = new_length
        if not self._tokens:
            self._where = (mode, round_number, index)
        self._tokens.append(token)

    def settle(self, token_id: int | None) -> None:
        """The token added last is an ordinary one: count down a warm-up, hand over when due."""
        if self._text is not None and token_id is not None:
            self._text.append(token_id)
        if self._warm_up:
            self._warm_up -= 1
            if self._warm_up == 0:
                self.flush("warm-up")
        elif self._tokens[-1].done_ns - self._tokens[0].start_ns >= BATCH_NS:
            self.flush()

    def mark_gap(self) -> None:
        """Tokens were decoded whose ids were not read: reading them would have disturbed a
        measurement. The text says so."""
        if self._text is not None:
            self._outbox.put(TextPiece(self._clock(), GAP))

    def flush(self, excluded: Exclusion | None = None) -> None:
        """Hand over what was gathered, by default marked as the warm-up or the new lengths that it
        was; a warm-up that is cut short stays one."""
        if not self._tokens:
            return
        mode, round_number, first = self._where
        tokens, self._tokens = tuple(self._tokens), []
        if excluded is None and self._warm_up:
            excluded = "warm-up"
        elif excluded is None and self._new_length:
            excluded = "new-length"
        self._outbox.put(TokenBatch(self._clock(), mode, round_number, first, tokens, excluded))
        self._say_text()

    def _say_text(self, *, restart: bool = False) -> None:
        if self._text is not None and ((piece := self._text.take()) or restart):
            self._outbox.put(TextPiece(self._clock(), piece, restart))
