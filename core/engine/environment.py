"""Environment of the engine process, set before torch is imported.

Libraries draw progress bars and warnings on stderr; they go to the log in any case, and these
switches keep the log readable. Compiled kernels are cached under the user's cache directory,
because the default, a temporary folder, is gone after a reboot.
"""

import os
from pathlib import Path

QUIET = {
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "KINETO_LOG_LEVEL": "5",
}


def prepare_environment(cache: Path) -> None:
    """Set what is not set already; `cache` is this application's cache directory."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache / "inductor"))
    os.environ.setdefault("TRITON_CACHE_DIR", str(cache / "triton"))
