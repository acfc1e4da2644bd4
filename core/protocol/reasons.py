"""Reasons: why a reading is missing, a mode refused, a window rejected. Codes, never sentences.

Whoever compares a reason compares its code; all codes, their words and what would help stand in
`core.text.reasons`. Free text of a driver or of torch is a field like any other and is only shown.
"""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec


class Reason(msgspec.Struct, frozen=True, array_like=True):
    """One reason. `fields` are what its words name, `cause` is the reason behind it, if any.

    A file of a later version may hold codes that are not known here.
    """

    code: str
    fields: dict[str, str | int | float] = {}
    cause: "Reason | None" = None


ReasonOrText: TypeAlias = Reason | str
"""As files hold it: those of schema 1 have words without a code."""

Missing: TypeAlias = Mapping[str, ReasonOrText]
"""Why fields are None, by their names."""


def because(code: str, cause: Reason | None = None, **fields: str | int | float) -> Reason:
    """The reason `code`; a field `detail` is free text that stands behind its words."""
    return Reason(code, fields, cause)


def code_of(reason: ReasonOrText | None) -> str | None:
    """The code of `reason`; None where it is unknown, as it is of most words of schema 1."""
    return reason.code if isinstance(reason, Reason) else _SCHEMA_1.get(reason or "")


_SCHEMA_1: dict[str, str] = {"no quota": "no-quota"}
"""What schema 1 wrote in these words is a finding rather than a lack of one."""
