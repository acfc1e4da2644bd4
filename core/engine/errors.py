"""What went wrong, in one line and of one kind."""


class UnsupportedError(RuntimeError):
    """This machine cannot do what was asked; `hint` says what would."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


class ModeError(RuntimeError):
    """A mode cannot be prepared here; the message is shown as the mode's reason."""


def first_line(error: BaseException) -> str:
    """The first line of an error's text; its class where it has none, as some assertions do."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
