"""Inductor: the rewrite of products with a bias, and the state of the graph trees."""

import sys
import threading

import pytest
import torch
from torch import nn

from idlegap.core.engine.inductor import SplitBias, adopt_cudagraph_trees


def test_linear_with_bias_becomes_a_product_and_a_sum():
    model = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 3, bias=False), nn.Linear(3, 2))
    seen = {}

    def backend(module, inputs):
        SplitBias()(module.graph)
        module.recompile()
        linears = [node for node in module.graph.nodes if node.target is torch._C._nn.linear]
        seen["biased"] = [node for node in linears if len(node.args) > 2 and node.args[2] is not None]
        seen["linears"] = len(linears)
        seen["sums"] = sum(node.target is torch.add for node in module.graph.nodes)
        return module.forward

    x = torch.randn(1, 4)
    expected = model(x)
    torch.testing.assert_close(torch.compile(model, backend=backend)(x), expected)
    assert seen == {"biased": [], "linears": 3, "sums": 2}


# Importing inductor uses what torch itself deprecates.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_thread_that_ends_leaves_the_state_of_its_graph_trees_alive():
    """Torch gives back, at its end, references that some of its releases have never taken."""
    left = []

    def adopt():
        adopt_cudagraph_trees()
        from torch._inductor.cudagraph_trees import local

        left.extend((local.tree_manager_containers, local.tree_manager_locks))

    for _ in range(2):
        thread = threading.Thread(target=adopt)
        thread.start()
        thread.join()
    own = 2  # The list here and the argument of `getrefcount`.
    assert all(sys.getrefcount(left[index]) > own for index in range(4))
