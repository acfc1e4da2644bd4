"""Settings for all tests: nothing depends on how fast this machine is."""

import os
from collections.abc import Callable

import psutil
import pytest
from hypothesis import settings

settings.register_profile("idlegap", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("idlegap")


@pytest.fixture
def new_children() -> Callable[[], list[psutil.Process]]:
    """The processes that this one has started since the test began, by rising number.

    They are told by their numbers: for an instant after `exec` the command line reads empty.
    """
    before = set(psutil.Process().children())
    return lambda: [child for child in psutil.Process().children() if child not in before]
