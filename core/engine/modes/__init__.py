"""The modes of `core.modes`, as code. One file for each way of submitting a step."""

from core.engine.modes.base import Mode, Workload, decode_one_token
from core.engine.modes.compiled import Compiled
from core.engine.modes.eager import Eager, EagerStatic
from core.engine.modes.fused import Fused, forget_compiled
from core.engine.modes.fused_graph import FusedGraph
from core.engine.modes.graph import Graph
from core.modes import ModeName

MODE_CLASSES: dict[ModeName, type[Mode]] = {
    cls.name: cls for cls in (Eager, EagerStatic, Graph, Fused, Compiled, FusedGraph)
}

__all__ = ["MODE_CLASSES", "Mode", "Workload", "decode_one_token", "forget_compiled"]
