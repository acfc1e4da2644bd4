"""The detail page: the current mode's kernels, split and ceilings, and the definition of each utilisation."""

from idlegap.core.protocol.settings import Wait
from idlegap.core.session.snapshot import ModeView, Snapshot
from idlegap.core.text import units
from idlegap.core.text.reasons import logit_diff_words
from idlegap.core.text.sanitize import shorten
from idlegap.tui.widgets import readings
from idlegap.tui.widgets.line import VALUE_AT, Line, labelled, title, wrapped
from idlegap.tui.widgets.mode_bars import CHANGED, FIRST_ROUND
from idlegap.tui.widgets.palette import DIM, STRONG, TEXT, WARN, WORK
from idlegap.tui.widgets.readings import current
from idlegap.tui.widgets.work_panel import ceiling_rows, kernel_rows

_WAITS: dict[Wait, str] = {
    "spin": "spins while it waits for a token",
    "block": "sleeps while it waits for a token",
}
_TOP_KERNELS = 14
_NAME_CELLS = 18
_COLUMN_CELLS = 6
_COUNT_CELLS = 8
_COLUMNS = ("wall", "p99", "disp", "wait", "busy", "host", "lnch", "dev", "pre", "n")
_UTILISATION = (
    ("util_pct", "NVML utilisation", "share of its window with any kernel running"),
    ("util_samples_pct", "NVML samples", "the same, mean of its samples of the last second"),
    ("gpm_graphics_pct", "GPM graphics", "share of time with the compute engine active"),
    ("gpm_sm_pct", "GPM SM", "share of SM-cycles with a warp resident"),
    ("gpm_dram_pct", "GPM DRAM", "share of cycles moving data to or from memory"),
)


def detail_text(snap: Snapshot, width: int) -> list[Line]:
    """The rows of the detail page."""
    view = current(snap)
    lines = [Line(), title("utilisation side by side", "", width), *utilisation_rows(snap, width)]
    lines += [
        Line(),
        title("modes", "ms per token, medians; pre is the prefill, n the tokens", width),
        *mode_rows(snap, width),
    ]
    lines += [Line(), title("ceilings", "", width)]
    lines += [labelled(name, value, width) for name, value in ceiling_rows(snap.ceiling)]
    lines += [Line(), title("device work", view.name if view else "", width)]
    if view is not None:
        lines += kernel_rows(view, width, 2 + _TOP_KERNELS)
        lines += window_rows(view, width)
    if snap.engine is not None:
        engine = snap.engine
        lines += [
            Line(),
            title("what runs", "", width),
            labelled("model", f"{engine.model}, {engine.shape}", width),
            labelled(
                "weights",
                f"{units.count(engine.weight_bytes)} bytes, {units.count(engine.parameters)} parameters",
                width,
            ),
            labelled(
                "round",
                f"{engine.prompt_tokens:,} prompt + {engine.new_tokens:,} new, cache {engine.cache_len:,}",
                width,
            ),
            labelled("thread", f"{_WAITS[engine.wait]} (--wait {engine.wait})", width),
            labelled("attention, dtype", f"{engine.attention}, {engine.dtype}", width),
            labelled(
                "software",
                f"torch {engine.torch}, transformers {engine.transformers}, Python {engine.python}",
                width,
            ),
            labelled("CUDA", engine.cuda or units.na("this torch was built without it"), width),
        ]
    return lines


def utilisation_rows(snap: Snapshot, width: int) -> list[Line]:
    """Device busy beside NVML's figures, each with its definition. The reason for a missing value moves
    below the rows where several share it or the row has no room for it."""
    rows = [("device busy", readings.busy(snap).rjust(5), "share of a token in which the device works")]
    gpu = snap.gpu
    for field, name, meaning in _UTILISATION:
        if gpu is None:
            value = units.na(readings.gpu_absence(snap))
        else:
            value = units.reading(getattr(gpu, field), readings.five_cells, gpu.missing, field)
        rows.append((name, value, meaning))
    values = [value for _, value, _ in rows]
    lines, reasons = [], dict[str, list[str]]()
    for name, value, meaning in rows:
        shown = value
        if values.count(value) > 1 or _utilisation(name, value, meaning).cells > width:
            shown = units.without_reason(value)
        if shown != value:
            reasons.setdefault(value, []).append(name)
        lines.append(_utilisation(name, shown, meaning))
    for value, names in reasons.items():
        lines += wrapped(f"{value} ({', '.join(names)})", width, 2, " ", DIM)
    return lines


def mode_rows(snap: Snapshot, width: int) -> list[Line]:
    """One row of figures for each mode, and how its tokens compare with eager's."""
    head = Line().to(_NAME_CELLS)
    for name in _COLUMNS[:-1]:
        head.add(f"{name:>{_COLUMN_CELLS}}", DIM)
    head.add(f"{_COLUMNS[-1]:>{_COUNT_CELLS}}", DIM)
    lines = [head]
    for view in snap.modes:
        line = Line().add(
            f" {'▸' if view.current else ' '} {view.key} {view.name}", STRONG if view.current else TEXT
        )
        line.to(_NAME_CELLS)
        if view.reason is not None:
            lines.append(line.add(shorten(units.na(view.reason), max(0, width - line.cells)), DIM))
            continue
        for ns in _times(view):
            line.add(f"{'-' if ns is None else units.ms(ns, 4):>{_COLUMN_CELLS}}")
        lines.append(line.add(f"{_count(view.tokens):>{_COUNT_CELLS}}", DIM))
        lines += _verification(view, width)
    for view in snap.modes:
        if view.first_round:
            lines += wrapped(_first_round(view), width, 6, f" {FIRST_ROUND}: ", WARN)
    for change in snap.host_changes:
        lines += wrapped(change.text, width, 3, f" {CHANGED} ", WARN)
    return lines


def window_rows(view: ModeView, width: int) -> list[Line]:
    """Figures of the last accepted profile window."""
    window = view.profile
    if window is None:
        return []
    apart = f"{window.copies} copies ({units.ms(window.copy_ns)} ms), {window.fills} fills"
    cost = f"{window.steps} steps, a pause of {units.ms(window.pause_ns)} ms"
    if window.unmatched:
        cost += f", {window.unmatched} records without a launch"
    return [
        labelled("sum over streams", f"{units.ms(window.busy_sum_ns)} ms", width),
        labelled("copies and fills", apart, width),
        labelled("measured in", cost, width),
    ]


def _times(view: ModeView) -> list[int | None]:
    split = view.split
    parts: tuple[int | None, ...] = (None,) * 4
    if split is not None:
        parts = (split.busy_ns, split.host_gap_ns, split.launch_latency_ns, split.device_gap_ns)
    return [view.wall_ns, view.p99_ns, view.dispatch_ns, view.wait_ns, *parts, view.prefill_ns]


def _first_round(view: ModeView) -> str:
    text = (
        f"{view.name} has decoded only at cache lengths that were new, and the host may have to plan for "
        "each of them; its next round gives figures that count."
    )
    if view.profile is not None and any(_plans_by_length(kernel.name) for kernel in view.profile.top):
        text += (
            " Attention is cuDNN's here, which is planned so; with TORCH_CUDNN_SDPA_DEPRIORITIZED=1 in its "
            "environment torch takes another kernel, on an H200 a slower one where the cache is static."
        )
    return text


def _plans_by_length(kernel: str) -> bool:
    """Whether it is cuDNN's attention (docs/measurements.md, "The first time at each cache length")."""
    return kernel.startswith("cudnn") and "sdpa" in kernel


def _count(tokens: int) -> str:
    """As many as fit into the column: ``41,956``, ``1.2M``."""
    return units.count(tokens) if tokens < 10**6 else f"{tokens / 1e6:.1f}M"


def _utilisation(name: str, value: str, meaning: str) -> Line:
    line = Line().add(f" {name}", DIM).to(VALUE_AT).add(value, WORK)
    return line.add("  ").to(VALUE_AT + 8).add(meaning, DIM)


def _verification(view: ModeView, width: int) -> list[Line]:
    verified = view.verified
    if verified is None:
        return []
    verdict = "DIFFERS from eager" if verified.flagged else "same tokens"
    text = (
        f"{verdict}: {verified.agree}/{verified.steps} agree (eager with itself {verified.noise_agree}), "
        f"largest logit difference {logit_diff_words(verified)} (eager's own {verified.noise_diff:.4f})"
    )
    return wrapped(text, width, 3, " " * 5, DIM)
