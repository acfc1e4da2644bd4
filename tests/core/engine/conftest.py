"""A tiny real model on the CPU.

Without torch these tests skip, so this file is read without it: what needs it is imported late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from idlegap.core.engine.device import Device
    from idlegap.core.engine.model import LoadedModel
    from tests.core.engine.scripted_loop import Ran


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    """The worker switches gradients off for its thread; tests stand in for it."""
    import torch

    with torch.no_grad():
        yield


@pytest.fixture(scope="session")
def device() -> Device:
    from idlegap.core.engine.device import choose_device

    return choose_device("cpu")


@pytest.fixture(scope="session")
def loaded(device: Device) -> LoadedModel:
    from idlegap.core.engine.model import load_model

    return load_model(None, device, lambda *_: None)


@pytest.fixture
def run_loop(loaded: LoadedModel, device: Device) -> Callable[..., Ran]:
    from tests.core.engine.scripted_loop import run_scripted

    return partial(run_scripted, loaded, device)
