"""What inductor is asked for, and the state that its graph trees need.

Importing inductor takes a second, which starting in an eager mode should not pay: this module is
imported where something is about to be compiled.
"""

import ctypes
import threading
from collections import defaultdict
from typing import Any

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


def tuned_options() -> dict[str, Any]:
    """What inductor is asked for beyond its defaults."""
    return {
        # Tunes each kernel by measurement, and lets inductor write single-row products itself.
        "coordinate_descent_tuning": True,
        # Kernels that do not depend on each other (q, k and v projections) share one launch.
        "combo_kernels": True,
        "pre_grad_custom_pass": SplitBias(),
    }


def adopt_cudagraph_trees() -> None:
    """Give the calling thread its own cudagraph-tree state where torch does not do so itself.

    Up to torch 2.12 the state lives in thread-local variables that only the first thread to import
    the module gets; any other thread fails with an assertion without text. From 2.13 on it is made
    on demand. At the end of a thread torch gives back a reference to each object, which up to 2.11 at
    least it has never taken: the objects would be freed under their other owner and the process crash
    some time later. They are given one reference more, for good.
    """
    import torch._inductor.cudagraph_trees as trees

    if not hasattr(trees.local, "tree_manager_containers"):
        trees.local.tree_manager_containers = {}
        trees.local.tree_manager_locks = defaultdict(threading.Lock)
        torch._C._stash_obj_in_tls("tree_manager_containers", trees.local.tree_manager_containers)
        torch._C._stash_obj_in_tls("tree_manager_locks", trees.local.tree_manager_locks)
    for state in (trees.local.tree_manager_containers, trees.local.tree_manager_locks):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(state))
