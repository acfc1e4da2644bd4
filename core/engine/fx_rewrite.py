"""A rewrite of the traced step before inductor sees it."""

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch.fx import Graph


class SplitBias(CustomGraphPass):
    """Turns ``linear(x, w, b)`` into ``linear(x, w) + b``.

    With one row, inductor generates its own kernel for a product without bias and fuses the
    addition into it; a product with bias goes to cuBLAS, which takes several times as long
    for matrices this small.
    """

    def __call__(self, graph: Graph) -> None:
        for node in list(graph.nodes):
            if node.target is not torch.nn.functional.linear and node.target is not torch._C._nn.linear:
                continue
            bias = node.args[2] if len(node.args) > 2 else node.kwargs.get("bias")
            if bias is None:
                continue
            with graph.inserting_after(node):
                product = graph.call_function(node.target, (node.args[0], node.args[1]))
            with graph.inserting_after(product):
                total = graph.call_function(torch.add, (product, bias))
            product.meta.update(node.meta)
            total.meta.update(node.meta)
            node.replace_all_uses_with(total)
            graph.erase_node(node)

    def uuid(self) -> str:
        """Names this rewrite in inductor's cache key."""
        return "idlegap-split-bias-1"
