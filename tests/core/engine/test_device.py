"""Choosing a device on a machine without a GPU."""

import pytest
import torch

from idlegap.core.engine.device import choose_device
from idlegap.core.engine.errors import UnsupportedError
from idlegap.core.engine.model import make_prompt
from idlegap.core.engine.modes import MODE_CLASSES, Workload
from idlegap.core.protocol.reasons import because

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")


def test_auto_falls_back_to_the_cpu():
    device = choose_device("auto")
    assert (device.torch.type, device.uuid, device.is_cuda) == ("cpu", None, False)


@pytest.mark.parametrize("text", ["cuda", "cuda:1"])
def test_cuda_by_name_says_what_was_looked_for_and_what_would_help(text):
    with pytest.raises(UnsupportedError, match=f"--device {text}: torch .*CUDA") as caught:
        choose_device(text)
    assert "--device cpu" in caught.value.hint


def test_only_the_eager_modes_run_without_cuda(loaded, device):
    workload = Workload.build(loaded.model, device, make_prompt(loaded, device, 4, 1), 16)
    obstacles = {name: mode.obstacle(workload) for name, mode in MODE_CLASSES.items()}
    assert {name for name, reason in obstacles.items() if reason is None} == {"eager", "eager-static"}
    assert obstacles["graph"] == because("needs-cuda")
