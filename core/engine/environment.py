"""Environment of the engine process, set before torch is imported.

Libraries draw progress bars and warnings on stderr; they go to the log in any case, and these
switches keep the log readable. Compiled kernels are cached under the user's cache directory,
because the default, a temporary folder, is gone after a reboot.
"""

import os

from idlegap.core.system.locations import Folder

QUIET = {
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "KINETO_LOG_LEVEL": "5",
}


def prepare_environment(cache: Folder) -> None:
    """Set what is not set already; `cache` is for this application's caches, and without one the
    libraries look for a folder themselves."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    if cache.path is not None:
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache.path / "inductor"))
        os.environ.setdefault("TRITON_CACHE_DIR", str(cache.path / "triton"))
