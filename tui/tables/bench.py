"""A benchmark's result as text: the table, the speed-ups, the conclusion, the doubts."""

from collections.abc import Sequence

from idlegap.core.bench.conclusion import Conclusion, SpeedUp, conclude
from idlegap.core.bench.schema import BenchResult
from idlegap.core.bench.stability import Finding, contention, stability
from idlegap.core.bench.summary import ArmSummary, summarise
from idlegap.core.text.names import cpu_name
from idlegap.core.text.phrases import sentence
from idlegap.core.text.units import interval
from idlegap.tui.tables.bench_table import narrow, notes, wide
from idlegap.tui.tables.bench_words import caveats, headline, prefill_words
from idlegap.tui.tables.layout import NARROW, WIDE, paragraph, table

STATISTICS = (
    "mean: over all counted tokens, and MBU is of that rate; dispatch, gaps, beyond the bound, the "
    "speed-ups and the conclusion: of the median token; intervals: by runs"
)
"""Where some tokens are slow, mean and median differ: every figure is of one of both."""


def bench_text(result: BenchResult, width: int = NARROW) -> str:
    """All of it, in lines of at most `width` (not less than 80) characters."""
    width = max(width, NARROW)
    arms = summarise(result)
    conclusion = conclude(result, arms)
    findings = stability(result, arms)
    shown = [arm for arm in arms if arm.runs]
    lines = [*_head(result, shown, width), ""]
    if shown:
        lines += [*_table(shown, width), *notes(shown, width), *paragraph(STATISTICS, width), ""]
    refused = [arm for arm in arms if not arm.runs]
    for arm in refused:
        lines += paragraph(f"not run: {arm.missing['median_ns']}", width, first=f"{arm.label}  ")
    lines += [""] if refused else []
    lines += _speed_ups(conclusion)
    beside = contention(result)
    lines += paragraph(headline(result, conclusion) + (f" CONTENDED: {beside}." if beside else ""), width)
    if prefill := prefill_words(conclusion):
        lines += paragraph(prefill, width)
    lines += _doubts(findings, width)
    lines += ["", "not to be concluded:"]
    for caveat in caveats(result, arms, conclusion):
        lines += paragraph(caveat, width, first="- ")
    return "\n".join(lines) + "\n"


def _table(arms: Sequence[ArmSummary], width: int) -> list[str]:
    lines = wide(arms)
    return lines if width >= WIDE and all(len(line) <= width for line in lines) else narrow(arms)


def _head(result: BenchResult, arms: Sequence[ArmSummary], width: int) -> list[str]:
    engine, host = result.engine, result.host
    cores = f", {host.usable_cores:g} usable cores" if host is not None else ""
    cpu = cpu_name(host.cpu_model if host is not None else None)
    weights = "random weights" if engine.random_weights else "real weights"
    cuda = f", CUDA {engine.cuda}" if engine.cuda else ""
    runs = min((arm.runs for arm in arms), default=0)
    left = "" if result.complete else f"INCOMPLETE ({result.reason}): "
    texts = (
        f"{engine.device_name}, {cpu}{cores}, {result.created}",
        f"{engine.model}, {weights}, {engine.dtype}, {engine.attention}, batch {engine.batch}, "
        f"{engine.prompt_tokens:,} + {engine.new_tokens:,} tokens, cache {engine.cache_len:,}",
        f"torch {engine.torch}{cuda}, transformers {engine.transformers}, {left}{runs} counted runs of "
        f"each mode, interleaved, after a warm-up of each{_placement(result)}",
    )
    return [line for text in texts for line in paragraph(text, width)]


def _placement(result: BenchResult) -> str:
    """Where the decode thread ran and how it waited, if that was asked for."""
    environment = result.environment
    pin, nice = environment.pin_core, environment.nice
    where = "" if pin is None else f", decode thread on core {pin} alone"
    where += "" if nice is None else f", nice {nice}"
    return where + (", waits for the GPU blocked" if result.engine.wait == "block" else "")


def _speed_ups(conclusion: Conclusion) -> list[str]:
    """The ratios of each arm: the controlled comparison, and what a user gains."""
    # Where eager-static is the fastest, or was not measured, there is one comparison only.
    columns = list(dict.fromkeys(filter(None, (conclusion.controlled, conclusion.gained))))
    names = list(dict.fromkeys(found.label for column in columns for found in column))
    if not names:
        return []
    by_name = [{found.label: found for found in column} for column in columns]
    cells = [[_ratio(column.get(name)) for column in by_name] for name in names]
    heads = [f"against {column[0].against}" for column in columns]
    heads[-1] += " (fastest eager)"
    rows = [
        ["speed-up, 95 % interval", *heads],
        *([name, *row] for name, row in zip(names, cells, strict=True)),
    ]
    unsure = any("n.s." in cell for row in cells for cell in row)
    return [*table(rows, left=1 + len(columns)), *(["n.s.: no significant difference"] if unsure else []), ""]


def _ratio(found: SpeedUp | None) -> str:
    if found is None:
        return "-"
    equal = "" if found.significant or found.ratio.low is None else " n.s."
    return interval(found.ratio) + equal


def _doubts(findings: Sequence[Finding], width: int) -> list[str]:
    lines = ["", "not steady:"] if findings else []
    for found in findings:
        text = f"{found.topic}: {sentence(found.evidence)} {sentence(found.advice)}"
        lines += paragraph(text, width, first="- ")
    return lines
