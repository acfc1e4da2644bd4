"""The text of a round, for models whose text means something."""

from typing import Any


class GeneratedText:
    """The text of the current round, handed out in pieces that end on whole characters."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []
        self._taken = 0

    def restart(self, first: int) -> None:
        self._ids, self._taken = [first], 0

    def append(self, token_id: int) -> None:
        self._ids.append(token_id)

    def take(self) -> str:
        """The text since the last call; a character whose bytes are still incomplete waits."""
        text: str = self._tokenizer.decode(self._ids, skip_special_tokens=True)
        if text.endswith("\N{REPLACEMENT CHARACTER}"):
            return ""
        piece, self._taken = text[self._taken :], len(text)
        return piece
