"""The first snapshot of a live session, known before anything that analyses has been loaded."""

from idlegap.core.protocol.modes import MODES
from idlegap.core.session.snapshot import (
    NO_APP,
    STRIP_BUCKET_NS,
    FromApp,
    ModeView,
    Snapshot,
    StageView,
    Strip,
)


def first_snapshot(now_ns: int, app: FromApp = NO_APP, *, in_process: bool = False) -> Snapshot:
    """What a `core.session.session.Session` shows at `now_ns` if it has begun right then."""
    return Snapshot(
        t_ns=now_ns,
        stage=StageView("starting", "", None, now_ns),
        modes=tuple(ModeView(spec.key, spec.name, spec.summary) for spec in MODES),
        strip=Strip(now_bucket=now_ns // STRIP_BUCKET_NS),
        in_process=in_process,
        halted=True,
        app=app,
    )
