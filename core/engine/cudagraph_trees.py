"""Cudagraph-tree state for the decode thread, needed up to torch 2.12.

There the state lives in thread-local variables that only the first thread to import the module
gets; any other thread fails with an assertion without text. From 2.13 on it is made on demand.
"""

import threading
from collections import defaultdict

import torch


def adopt_cudagraph_trees() -> None:
    """Give the calling thread its own cudagraph-tree state where torch does not do so itself."""
    import torch._inductor.cudagraph_trees as trees

    if not hasattr(trees.local, "tree_manager_containers"):
        trees.local.tree_manager_containers = {}
        trees.local.tree_manager_locks = defaultdict(threading.Lock)
        torch._C._stash_obj_in_tls("tree_manager_containers", trees.local.tree_manager_containers)
        torch._C._stash_obj_in_tls("tree_manager_locks", trees.local.tree_manager_locks)
