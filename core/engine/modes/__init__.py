"""The modes of `core.protocol.modes`, as code. One file for each way of submitting a step."""

from idlegap.core.engine.modes.base import Mode, Workload
from idlegap.core.engine.modes.compiled import Compiled
from idlegap.core.engine.modes.eager import Eager, EagerStatic
from idlegap.core.engine.modes.fused import Fused, forget_compiled
from idlegap.core.engine.modes.fused_graph import FusedGraph
from idlegap.core.engine.modes.graph import Graph
from idlegap.core.protocol.modes import ModeName

MODE_CLASSES: dict[ModeName, type[Mode]] = {
    cls.name: cls for cls in (Eager, EagerStatic, Graph, Fused, Compiled, FusedGraph)
}

__all__ = ["MODE_CLASSES", "Mode", "Workload", "forget_compiled"]
