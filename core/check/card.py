"""Is this machine any good for decoding? One graded line for each thing that can be wrong.

Every threshold stands beside its reason, so that a reader who knows better can disagree. A
line that could not be read is neither good nor bad and says why.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from idlegap.core.bench.schema import BenchResult, Run
from idlegap.core.protocol.reasons import ReasonOrText
from idlegap.core.text.reasons import words

Grade = Literal["good", "warn", "bad", "n/a", "info"]
Verdict = Literal["good", "not good", "no GPU"]

_ORDER: tuple[Grade, ...] = ("info", "n/a", "good", "warn", "bad")


class CardLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One reading: its grade, and the threshold with the reason for it ("" for mere facts)."""

    name: str
    value: str
    grade: Grade = "info"
    threshold: str = ""


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All lines and what they add up to: one bad line makes the machine not good."""

    verdict: Verdict
    lines: tuple[CardLine, ...]

    @classmethod
    def of(cls, lines: Sequence[CardLine], *, gpu: bool) -> "Card":
        """The card of a machine with these lines; without a GPU there is nothing to judge."""
        if not gpu:
            return cls("no GPU", tuple(lines))
        return cls("not good" if any(line.grade == "bad" for line in lines) else "good", tuple(lines))

    def count(self, grade: Grade) -> int:
        """How many lines have `grade`."""
        return sum(line.grade == grade for line in self.lines)


class Scale(NamedTuple):
    """Up to where (`more_is_better`: from where) a reading is good and fair, with the reason in `words`."""

    good: float
    fair: float
    words: str
    more_is_better: bool = False

    def grade(self, value: float) -> Grade:
        """The grade of `value`."""
        sign = -1 if self.more_is_better else 1
        return (
            "good"
            if sign * value <= sign * self.good
            else "warn"
            if sign * value <= sign * self.fair
            else "bad"
        )

    def line(self, name: str, text: str, value: float) -> CardLine:
        """The line of a reading that is this scale's alone."""
        return CardLine(name, text, self.grade(value), self.words)


def worst(*grades: Grade) -> Grade:
    """The grade that counts where several apply."""
    return max(grades, key=_ORDER.index)


def unknown(name: str, reason: ReasonOrText) -> CardLine:
    """The line of a reading that could not be taken."""
    return CardLine(name, f"n/a: {words(reason)}", "n/a")


def counted_runs(result: BenchResult) -> list[Run]:
    """The counted runs of all arms."""
    return [run for arm in result.arms for run in arm.counted]


def seen(result: BenchResult, field: str) -> list[Any]:
    """`field` of the conditions of all counted runs, where it was read."""
    values = [getattr(run.conditions, field) for run in counted_runs(result)]
    return [value for value in values if value is not None]


def why_unseen(result: BenchResult, field: str, otherwise: ReasonOrText = "no counted run") -> ReasonOrText:
    """Why `field` of the conditions is known for no run."""
    reasons = (run.conditions.missing.get(field) for run in counted_runs(result))
    return next((reason for reason in reasons if reason), otherwise)
