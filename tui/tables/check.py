"""The card of the one-minute check as text of at most 80 columns that pastes well."""

from idlegap.core.bench.schema import BenchResult
from idlegap.core.bench.stability import contention
from idlegap.core.check.card import Card, CardLine
from idlegap.core.check.check import CheckResult
from idlegap.core.check.predictions import QUEUED_GAP_NS, Predictions
from idlegap.core.text.units import US, ms, percent
from idlegap.tui.tables.layout import NARROW, paragraph, table

VERDICTS = {
    "good": "GOOD for decoding",
    "not good": "NOT GOOD for decoding",
    "no GPU": "NO GPU: nothing to judge, the host's lines are for information",
}
_MARKS = {"good": "good", "warn": "WARN", "bad": "BAD", "n/a": "n/a", "info": ""}
_MARK_WIDTH, _NAME_WIDTH = 5, 21


def check_text(check: CheckResult) -> str:
    """The card as text of at most 80 columns, contention beside its verdict."""
    beside = contention(check.bench)
    return card_text(check.card, check.predictions, check.bench, beside)


def card_text(card: Card, predictions: Predictions, result: BenchResult, beside: str = "") -> str:
    """The card, its verdict first; `beside` is what must be said beside it (contention)."""
    engine = result.engine
    counts = f"{card.count('bad')} bad, {card.count('warn')} to watch, {card.count('good')} good"
    lines = paragraph(f"idlegap check: {VERDICTS[card.verdict]} ({counts})", NARROW)
    if beside:
        lines += paragraph(f"CONTENDED: {beside}", NARROW)
    if not result.complete:
        lines += paragraph(f"INCOMPLETE: {result.reason}", NARROW)
    lines += paragraph(
        f"{result.created}, {engine.model}, {engine.dtype}, batch {engine.batch}, {engine.prompt_tokens} + "
        f"{engine.new_tokens} tokens, torch {engine.torch}",
        NARROW,
    )
    lines.append("")
    for line in card.lines:
        lines += _line(line)
    return "\n".join([*lines, "", *predictions_text(predictions)]) + "\n"


def predictions_text(predictions: Predictions) -> list[str]:
    """The predictions, the model that they rest on, and its error where that is known."""
    if not predictions.rows:
        return paragraph(f"What to rent next: cannot be predicted, {predictions.reason}", NARROW)
    rows = [["predicted ms, median token", "eager", "with graphs"]]
    rows += [[row.name, ms(row.eager_ns), ms(row.replayed_ns)] for row in predictions.rows]
    model = (
        "model: token = max(host submission, device) + what was measured beside them; device = busy + "
        f"{QUEUED_GAP_NS / 1e3:.2f} {US} per kernel; bandwidth moves the weight stream alone"
    )
    lines = [*table(rows), *paragraph(model, NARROW)]
    if predictions.measured_graph_ns is None or predictions.error is None:
        lines += paragraph("error: unknown, no graph was measured here", NARROW)
    else:
        off = f"{percent(abs(predictions.error))} {'above' if predictions.error > 0 else 'below'} that"
        measured = f"error: graphs were measured at a median of {ms(predictions.measured_graph_ns)} ms"
        lines += paragraph(f"{measured}; the prediction, from the eager run alone, is {off}", NARROW)
    return [*lines, *paragraph(advice(predictions), NARROW)]


def advice(predictions: Predictions) -> str:
    """Which change gains how much, in one sentence; "" where nothing could be predicted."""
    if not predictions.rows:
        return ""
    today, host, bandwidth = predictions.rows
    gains = [
        (today.eager_ns / today.replayed_ns, "graphs"),
        (today.eager_ns / host.eager_ns, "a host twice as fast"),
        (today.eager_ns / bandwidth.eager_ns, "twice the bandwidth"),
    ]
    told = ", ".join(f"{name} {gain:.2f}x" for gain, name in sorted(gains, reverse=True))
    return f"Eager decode would gain: {told}."


def _line(line: CardLine) -> list[str]:
    head = f"{_MARKS[line.grade]:<{_MARK_WIDTH}}{line.name:<{_NAME_WIDTH}}"
    lines = paragraph(line.value, NARROW, first=head)
    return lines + (paragraph(line.threshold, NARROW, first=" " * 7) if line.threshold else [])
