"""The rewrite keeps the result and leaves no product with a bias."""

import torch
from torch import nn

from idlegap.core.engine.inductor import SplitBias


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
