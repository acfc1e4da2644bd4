"""Tokens: timed one by one, told apart where they are the first at their length, and gathered into
batches with their text beside them."""

from collections.abc import Callable
from typing import Any

from idlegap.core.engine.modes import Mode
from idlegap.core.engine.outbox import Outbox
from idlegap.core.protocol.events import Exclusion, TextPiece, Token, TokenBatch
from idlegap.core.protocol.modes import ModeName
from idlegap.core.sensors.thread import ThreadCounters

BATCH_NS = 50_000_000
"""A batch leaves when its oldest token is this old: about 20 a second, or one slow token."""

WARM_UP_TOKENS = 3
"""Tokens after a change of mode that stay out of every figure (caches, clocks, first launches)."""

GAP = " […] "
"""Stands in the text for tokens that were not read."""


def timed_step(mode: Mode, clock: Callable[[], int], counters: ThreadCounters) -> Token:
    """One synchronised step of `mode`, and what the thread went through. Counters are read outside
    the timed part."""
    before = counters.read()
    start = clock()
    mode.step()
    dispatched = clock()
    mode.workload.device.synchronize()
    done = clock()
    after = counters.read()
    waited = None
    if after.run_delay_ns is not None and before.run_delay_ns is not None:
        waited = after.run_delay_ns - before.run_delay_ns
    preempted, blocked = after.preempted - before.preempted, after.blocked - before.blocked
    return Token(start, dispatched, done, after.cpu_ns - before.cpu_ns, waited, preempted, blocked)


class LengthLog:
    """Tells tokens at a new length of a dynamic cache. One for each decode thread on a GPU.

    A dynamic cache grows by one slot a token, so its attention has another shape each time. cuDNN's
    plans are made per shape, on the host, and kept for the thread that made them (PyTorch's
    ``aten/src/ATen/native/cudnn/MHA.cpp``, `MHAGraphCache`): on an H200 some 40 ms, about twice what
    the rest of an eager token takes, and gone where torch takes another kernel
    (docs/measurements.md). Later rounds find the plans.
    """

    def __init__(self) -> None:
        self._met: set[tuple[int, int]] = set()

    def meet(self, mode: Mode, decoded: int) -> bool:
        """Whether the token after `decoded` others of its round is the first one at its length and
        batch size; from now on it is not."""
        if mode.cache_kind != "dynamic":
            return False
        batch, prompt_tokens = mode.workload.prompt.shape
        shape = (batch, prompt_tokens + decoded + 1)
        new = shape not in self._met
        self._met.add(shape)
        return new


class GeneratedText:
    """The text of one round's token `ids`, handed out in pieces that end on whole characters."""

    def __init__(self, tokenizer: Any, first_id: int) -> None:
        self._tokenizer = tokenizer
        self.ids = [first_id]
        self._taken = 0

    def take(self) -> str:
        """The text since the last call; a character whose bytes are still incomplete waits."""
        text: str = self._tokenizer.decode(self.ids, skip_special_tokens=True)
        if text.endswith("\N{REPLACEMENT CHARACTER}"):
            return ""
        piece, self._taken = text[self._taken :], len(text)
        return piece


class TokenWriter:
    """Gathers the tokens of one mode and round at a time; call `flush` before either changes."""

    def __init__(self, outbox: Outbox, clock: Callable[[], int], tokenizer: Any) -> None:
        """`tokenizer` is None for models whose tokens mean nothing."""
        self._outbox = outbox
        self._clock = clock
        self._tokenizer = tokenizer
        self._text: GeneratedText | None = None
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
        return self._tokenizer is not None

    def begin_warm_up(self) -> None:
        self._warm_up = WARM_UP_TOKENS

    def begin_round(self, first_id: int | None) -> None:
        """A prefill has run and given its first token id (None unless `reads_tokens`)."""
        if first_id is not None:
            self._text = GeneratedText(self._tokenizer, first_id)
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
            self._text.ids.append(token_id)
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
