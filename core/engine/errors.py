"""What went wrong, in one line and of one kind."""

from idlegap.core.protocol.reasons import Reason
from idlegap.core.text.reasons import words


class UnsupportedError(RuntimeError):
    """This machine cannot do what was asked; `hint` says what would."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


class ModeError(RuntimeError):
    """A mode cannot be prepared here; `reason` says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(words(reason))
        self.reason = reason


def first_line(error: BaseException) -> str:
    """The first line of an error's text; its class where it has none, as some assertions do."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


_CPU_ALLOCATOR = "DefaultCPUAllocator: "
"""Stands in the plain RuntimeError that torch raises where memory of the CPU cannot be had."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation has failed. Known without torch, whose import may be what has failed."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and _CPU_ALLOCATOR in str(error)


def memory_line(error: BaseException) -> str:
    """The first line of such an error, without the place in torch where it was noticed."""
    return first_line(error).rpartition(_CPU_ALLOCATOR)[2]
