"""Settings for all tests: nothing depends on how fast this machine is."""

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
from hypothesis import settings

# Two threads of OpenMP that wait for each other's crumbs of a tiny model take the cores from the other tests.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("idlegap", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("idlegap")

HERE = Path(__file__).parent
TORCH_FOLDERS = HERE / "core" / "engine", HERE / "gpu"
"""Their test modules import torch. Elsewhere the tests that need it are marked `needs_torch`."""
WITHOUT_TORCH = "" if find_spec("torch") and find_spec("transformers") else "needs torch and transformers"


class _SkippedModule(pytest.Module):
    def collect(self) -> list[pytest.Item]:
        pytest.skip(WITHOUT_TORCH, allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Without torch, modules that import it are skipped instead of failing to be collected."""
    if WITHOUT_TORCH and module_path.parent in TORCH_FOLDERS:
        return _SkippedModule.from_parent(parent, path=module_path)
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    if WITHOUT_TORCH and item.get_closest_marker("needs_torch"):
        pytest.skip(WITHOUT_TORCH)


@pytest.fixture
def new_children() -> Callable[[], list[psutil.Process]]:
    """The processes that this one has started since the test began, by rising number.

    They are told by their numbers: for an instant after `exec` the command line reads empty.
    """
    before = set(psutil.Process().children())
    return lambda: [child for child in psutil.Process().children() if child not in before]
