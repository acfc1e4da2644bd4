"""Names of CPUs, GPUs, models and modes, as short as they stay clear."""

from idlegap.core.protocol.events import EngineReady
from idlegap.core.protocol.modes import ModeName, mode_spec
from idlegap.core.protocol.settings import SYNTHETIC_PREFIX

_DTYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}


def gpu_name(name: str) -> str:
    """A GPU's name without its vendor."""
    return name.removeprefix("NVIDIA ").removeprefix("GeForce ")


def cpu_name(model: str | None, otherwise: str = "n/a") -> str:
    """A CPU's name without trademarks, core count and clock; `otherwise` where it is not known."""
    text = (model or otherwise).split("@")[0]
    for noise in ("(R)", "(TM)", "(r)", "(tm)"):
        text = text.replace(noise, "")
    words = [w for w in text.split() if w not in {"CPU", "Processor", "Intel", "AMD"}]
    return " ".join(w for w in words if not w.endswith("-Core")) or text.strip()


def model_name(engine: EngineReady) -> str:
    """What decodes, and whether its weights are real: ``qwen2.5-1.5b shape, random fp16``."""
    dtype = _DTYPES.get(engine.dtype, engine.dtype)
    if engine.random_weights:
        return f"{engine.model.removeprefix(SYNTHETIC_PREFIX)} shape, random {dtype}"
    return f"{engine.model.rstrip('/').rpartition('/')[2]}, real weights {dtype}"


def mode_words(name: ModeName) -> str:
    """A mode with the key that selects it: ``3 graph``."""
    return f"{mode_spec(name).key} {name}"
