"""Names and phrases that several panels share, taken from a snapshot."""

from idlegap.core.protocol.events import EngineReady
from idlegap.core.protocol.modes import ModeName, mode_spec
from idlegap.core.protocol.reasons import Missing, ReasonOrText, because
from idlegap.core.protocol.settings import SYNTHETIC_PREFIX
from idlegap.core.session.snapshot import ModeView, Snapshot
from idlegap.tui.widgets.units import NS_PER_S

STALE_AFTER_NS = 5 * 10**9
"""Sensors speak at least once a second; five missed readings are no coincidence."""

NOTHING_DECODES = "nothing decodes now"

_DTYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}
_CPU_NOISE = ("(R)", "(TM)", "(r)", "(tm)", " CPU", " Processor", "Intel ", "AMD ")


def mode_words(name: ModeName) -> str:
    """A mode with the key that selects it: ``3 graph``."""
    return f"{mode_spec(name).key} {name}"


def model_words(engine: EngineReady) -> str:
    """What decodes, and whether its weights are real."""
    dtype = _DTYPES.get(engine.dtype, engine.dtype)
    if engine.random_weights:
        return f"{engine.model.removeprefix(SYNTHETIC_PREFIX)} shape, random {dtype}"
    return f"{engine.model.rstrip('/').rpartition('/')[2]}, real weights {dtype}"


def cpu_words(model: str | None) -> str:
    """A CPU's marketing name without trademarks and clock."""
    text = (model or "CPU").split("@")[0]
    for noise in _CPU_NOISE:
        text = text.replace(noise, " " if noise.startswith(" ") else "")
    return " ".join(text.split()) or "CPU"


def gpu_words(name: str | None) -> str:
    """A GPU's name without the vendor."""
    return (name or "GPU").removeprefix("NVIDIA ")


def current(snap: Snapshot) -> ModeView | None:
    """The row of the mode that decodes now."""
    return snap.mode_view(snap.mode)


def true_busy(snap: Snapshot) -> float | None:
    """Share (0..1) of a token in which the device computes, where a profile tells it and tokens
    are decoded: it stands beside meters that tell of now."""
    view, rate = current(snap), snap.rate
    if snap.halted or view is None or view.split is None or rate is None or not rate.p50_ns:
        return None
    return min(1.0, view.split.busy_ns / rate.p50_ns)


def true_busy_reason(snap: Snapshot) -> ReasonOrText:
    """Why `true_busy` is not known."""
    view = current(snap)
    if snap.engine is not None and snap.engine.device == "cpu":
        return because("needs-cuda")
    if view is None:
        return "no tokens yet"
    if snap.halted and view.visited:
        return NOTHING_DECODES
    return view.split_reason or "not measured yet"


def stale_words(t_ns: int, now_ns: int) -> str:
    """``stale 12 s`` for a reading taken at `t_ns` that should have been renewed, else nothing."""
    age_ns = now_ns - t_ns
    return f"stale {age_ns / NS_PER_S:.0f} s" if age_ns > STALE_AFTER_NS else ""


def absence(missing: Missing, field: str, otherwise: str) -> ReasonOrText:
    """The reason for `field`, else any reason that stands for the whole event, else `otherwise`."""
    return missing.get(field) or next(iter(missing.values()), otherwise)


def is_loading(snap: Snapshot) -> bool:
    """Whether no token has been seen yet and one may still come."""
    return snap.failed is None and is_tokenless(snap)


def is_tokenless(snap: Snapshot) -> bool:
    """Whether no token has been seen yet, also where none can come any more."""
    return snap.rate is None and not any(m.visited for m in snap.modes)
