"""Each reason has words and a remedy, is given the fields that its words name, and is in use."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter
from typing import NamedTuple

import msgspec
import pytest

from idlegap.core.protocol.events import EngineEvent, ModeRefused, ModeStatus
from idlegap.core.protocol.reasons import Missing, Reason, because, code_of
from idlegap.core.text.reasons import _TABLE, UNKNOWN_REMEDY, remedy, words
from tests.paths import ROOT

CODES = tuple(_TABLE)
OF_THE_CAUSE = {code for code, (_, help_) in _TABLE.items() if not help_}


def named(template: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(template) if field}


class Call(NamedTuple):
    """One call of `because`: the codes that it may be given, and its other arguments."""

    where: str
    codes: tuple[str, ...]
    fields: frozenset[str]
    has_cause: bool


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for room in ("core", "tui"):
        for path in (ROOT / room).rglob("*.py"):
            yield path, ast.parse(path.read_text())


@cache
def calls() -> tuple[Call, ...]:
    return tuple(call for path, tree in sources() for call in _in(path, tree))


def _in(path: Path, tree: ast.Module) -> Iterator[Call]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_because(node.func)]
    direct = {id(call.args[0]) for call in found}
    loose = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and id(node) not in direct and node.value in CODES
    }
    for call in found:
        code = call.args[0]
        # A variable holds one of the codes that stand elsewhere in the module.
        codes = (str(code.value),) if isinstance(code, ast.Constant) else tuple(sorted(map(str, loose)))
        fields = frozenset(keyword.arg or "**" for keyword in call.keywords)
        yield Call(f"{path.name}:{call.lineno}", codes, fields, len(call.args) > 1)


def _is_because(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "because"


@pytest.mark.parametrize("code", CODES)
def test_each_code_has_words_and_a_remedy_that_name_the_same_fields(code: str) -> None:
    template, help_ = _TABLE[code]
    assert template.strip() == template != ""
    assert help_ or code in OF_THE_CAUSE
    assert named(help_) <= named(template) | {"hint"}


def test_each_call_gives_the_fields_that_the_words_and_the_remedy_name() -> None:
    assert len(calls()) > 100
    for call in calls():
        for code in call.codes:
            expected = set().union(*map(named, _TABLE[code]))
            # A detail may stand behind any words; that of those which name it may not be left out.
            given = call.fields if "detail" in expected else call.fields - {"detail"}
            assert given == expected, (call.where, code)
            assert call.has_cause or code not in OF_THE_CAUSE, (call.where, code)


def test_each_code_is_in_use() -> None:
    assert set(CODES) == {code for call in calls() for code in call.codes}


def told(node: ast.expr) -> bool:
    """Whether `node` is a reason or its words: ``words(...)``, ``missing[...]``, ``….refused``."""
    match node:
        case ast.Call(func=ast.Name(id="words")):
            return True
        case ast.Subscript(value=of) | ast.Call(func=ast.Attribute(value=of, attr="get")):
            return "missing" in (getattr(of, "id", ""), getattr(of, "attr", ""))
        case ast.Attribute(attr="refused" | "verify_reason" | "split_reason" | "cpu_work_reason"):
            return True
    return False


def parses(node: ast.AST) -> bool:
    match node:
        case ast.Compare():
            sides = [node.left, *node.comparators]
            return any(map(told, sides)) and any(
                isinstance(side, ast.Constant) and isinstance(side.value, str) for side in sides
            )
        case ast.Call(func=ast.Attribute(value=of, attr="startswith" | "endswith" | "find" | "partition")):
            return told(of)
    return False


def test_no_words_are_parsed_for_meaning() -> None:
    found = [(path.name, node.lineno) for path, tree in sources() for node in ast.walk(tree) if parses(node)]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "missing['a'] == 'no quota'",
        "'CUDA' in event.missing.get('a')",
        "words(reason).startswith('--pin ')",
        "arm.refused == 'needs CUDA'",
    ],
)
def test_words_that_are_parsed_would_be_found(line: str) -> None:
    assert any(map(parses, ast.walk(ast.parse(line))))


# --- words ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (because("no-quota"), "no quota"),
        (because("psi-unreadable", detail="Is a directory"), "PSI: Is a directory"),
        (because("unreadable", path="/proc/loadavg"), "/proc/loadavg unreadable"),
        (because("samples-not-percent", most=290_000), "NVML samples of 290,000 are not percent"),
        (because("little-memory", free_gb=0.9437), "only 0.94 GB of device memory free"),
        (because("kernels-differ", kernels=1431, expected=1432), "1,431 kernels per step, 1,432 expected"),
        (because("mig", because("nvml-error", error="Unknown Error")), "MIG: NVML Unknown Error"),
        (
            because("stale", because("nvml-hangs", call="power_mw"), age_s=12),
            "stale 12 s: NVML does not answer (power_mw)",
        ),
        (
            because("of-engine", because("process-unreadable", pid=20, detail="gone")),
            "engine: process 20: gone",
        ),
        (
            because("baseline-refused", because("capture-failed", detail="no {room}"), mode="eager-static"),
            "eager-static: capture failed: no {room}",
        ),
        (
            because("nice-needs-root", nice=-5, detail="Permission denied"),
            "--nice -5: refused (Permission denied); going below 0 needs root or CAP_SYS_NICE",
        ),
        ("what schema 1 wrote", "what schema 1 wrote"),
    ],
)
def test_words_are_the_template_then_the_detail_then_the_cause(reason: Reason | str, shown: str) -> None:
    assert words(reason) == shown


@pytest.mark.parametrize(
    ("reason", "help_"),
    [
        (because("no-psi"), "a kernel with CONFIG_PSI, booted with psi=1"),
        (because("stale", because("driver-mismatch"), age_s=3), remedy(because("driver-mismatch"))),
        (because("mig", because("not-supported")), "a whole GPU instead of a MIG instance"),
        (because("engine-ended", message="gone", hint="start it again"), "start it again"),
        (because("engine-ended", message="gone", hint=""), UNKNOWN_REMEDY),
        (because("stale", because("nvml-error", error="GPU is lost"), age_s=3), UNKNOWN_REMEDY),
        ("no PSI here", UNKNOWN_REMEDY),
    ],
)
def test_the_remedy_goes_by_the_code_and_is_the_causes_where_there_is_no_own(
    reason: Reason | str, help_: str
) -> None:
    assert remedy(reason) == help_


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (Reason("of-next-year", {"a": 1}), "unknown reason of-next-year"),
        (
            Reason("of-next-year", {"detail": "more"}, because("mig")),
            "unknown reason of-next-year: more: MIG",
        ),
        (Reason("little-memory", {}), "only {free_gb:.2f} GB of device memory free"),
        (Reason("little-memory", {"free_gb": "x"}), "only {free_gb:.2f} GB of device memory free"),
        (Reason("engine-ended", {"message": "gone"}), "gone"),
    ],
)
def test_codes_of_a_later_version_and_fields_that_do_not_fit_are_shown_all_the_same(
    reason: Reason, shown: str
) -> None:
    assert words(reason) == shown
    assert remedy(reason)


def test_a_chain_of_causes_of_any_length_has_words() -> None:
    reason = because("mig")
    for _ in range(5_000):
        reason = because("mig", reason)
    assert words(reason).count("MIG") == 5_001


# --- in files and over the pipe -----------------------------------------------------------


class Told(msgspec.Struct):
    missing: Missing = {}


@pytest.mark.parametrize("codec", [msgspec.json, msgspec.msgpack])
def test_reasons_and_the_words_of_schema_1_come_back_as_they_were(codec) -> None:  # type: ignore[no-untyped-def]
    told = Told({"a": "no quota", "b": because("stale", because("nvml-error", error="Unknown"), age_s=12)})
    assert codec.decode(codec.encode(told), type=Told) == told
    refused = ModeRefused(7, "graph", because("needs-cuda"))
    assert codec.decode(codec.encode(refused), type=EngineEvent) == refused
    for status in (ModeStatus("eager"), ModeStatus("graph", "old"), ModeStatus("graph", because("mig"))):
        assert codec.decode(codec.encode(status), type=ModeStatus) == status


def test_that_no_quota_is_set_is_known_by_its_code_in_files_of_both_schemas() -> None:
    assert code_of(because("no-quota")) == code_of("no quota") == "no-quota"
    assert code_of("cpu.max unreadable") is None
    assert code_of(None) is None
