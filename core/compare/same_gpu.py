"""Two results of one GPU that differ in an eager mode: did its host change speed between them?"""

from collections.abc import Mapping, Sequence

from idlegap.core.bench.schema import Columns, Run
from idlegap.core.bench.stability import DRIFT_CHANGE
from idlegap.core.measure.typical_token import Typical, typical
from idlegap.core.protocol.events import Token
from idlegap.core.protocol.modes import ModeName
from idlegap.core.session.host_changes import slower_host
from idlegap.core.text.units import ms


def usual_token(runs: Sequence[Run]) -> Typical | None:
    """What a token of these runs usually cost, over all of their counted tokens; None for too few."""
    return typical([token for run in runs for token in _tokens(run.tokens)])


def host_remark(
    ours: Mapping[ModeName, Typical], theirs: Mapping[ModeName, Typical], modes: Sequence[ModeName]
) -> str:
    """That the host changed speed, where CPU time makes up the difference between two results of one
    GPU in one of `modes`; else ""."""
    for mode in modes:
        mine, other = ours.get(mode), theirs.get(mode)
        if mine is None or other is None:
            continue
        fast, slow = sorted((mine, other), key=lambda usual: usual.wall_ns)
        if slower_host(slow, fast, 1 + DRIFT_CHANGE):
            return (
                f"the same GPU, and {mode} took {_cpu(mine)} ms of CPU time a token, not {_cpu(other)}: "
                "its host changed speed"
            )
    return ""


def _cpu(usual: Typical) -> str:
    return ms(usual.cpu_ns or 0)


def _tokens(columns: Columns) -> list[Token]:
    """The counted tokens, without their starts."""
    out = frozenset(columns.excluded)
    cpu = columns.cpu_ns or (None,) * len(columns.wall_ns)
    return [
        Token(0, dispatch_ns, wall_ns, cpu_ns)
        for at, (wall_ns, dispatch_ns, cpu_ns) in enumerate(
            zip(columns.wall_ns, columns.dispatch_ns, cpu, strict=True)
        )
        if at not in out
    ]
