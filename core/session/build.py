"""From what is remembered to what is shown: builds one snapshot."""

from dataclasses import replace

from idlegap.core.measure.cpu_time import CpuWork, cpu_work
from idlegap.core.measure.device_time import Split, split_token
from idlegap.core.measure.roofline import Ceiling, ceiling
from idlegap.core.measure.statistics import median
from idlegap.core.protocol.modes import BASELINE, MODES, REPLAYED, ModeSpec
from idlegap.core.protocol.reasons import Reason, ReasonOrText, because
from idlegap.core.session.host_changes import told_by_cpu_time
from idlegap.core.session.mode_history import ModeHistory
from idlegap.core.session.snapshot import STRIP_BUCKET_NS, ModeView, Rate, Snapshot, Strip
from idlegap.core.session.state import Memory
from idlegap.core.slow_tokens.contention import (
    RECENT_NS,
    Situation,
    advice,
    contention_now,
    mean_token,
    recently_begun,
)
from idlegap.core.text.sentence import TOKENLESS, limiting_sentence

NOTICE_NS = 8_000_000_000
"""A notice stays on screen this long."""


def picture(memory: Memory, now_ns: int, *, in_process: bool, spec_bytes_per_s: float | None) -> Snapshot:
    """The snapshot at `now_ns`. `spec_bytes_per_s` is the user's own figure, if any."""
    rate = _rate(memory)
    ceilings = ceiling(
        memory.engine,
        memory.bandwidth,
        memory.machine.gpu_info,
        spec_override=spec_bytes_per_s,
        tok_per_s=rate.tok_per_s if rate else None,
    )
    modes = tuple(_mode_view(memory, spec, ceilings) for spec in MODES)
    current = next((view for view in modes if view.current), None)
    snapshot = Snapshot(
        t_ns=now_ns,
        stage=memory.stage,
        engine=memory.engine,
        failed=memory.failed,
        mode=memory.mode,
        modes=modes,
        rate=rate,
        halted=_halted(memory, now_ns),
        newest_ns=memory.newest.done_ns if memory.newest is not None else None,
        strip=Strip(
            now_bucket=now_ns // STRIP_BUCKET_NS,
            columns=memory.strip.columns(now_ns),
            marks=memory.strip.marks(),
            busy_ns=current.split.busy_ns if current and current.split else None,
            bound_ns=ceilings.bound_ns if ceilings else None,
        ),
        ceiling=ceilings,
        host=memory.machine.host,
        cpu=memory.machine.cpu,
        cgroup=memory.machine.cgroup,
        gpu_info=memory.machine.gpu_info,
        gpu=memory.machine.gpu,
        monitor=memory.machine.monitor,
        notice=memory.notice if now_ns - memory.notice_ns < NOTICE_NS else "",
        text=memory.text,
        paused=memory.stage.stage == "paused",
        dropped=memory.dropped,
        excluded=memory.excluded,
        at_new_length=memory.mode is not None and memory.modes[memory.mode].at_new_length,
        in_process=in_process,
        slow=tuple(memory.slow.recent),
        slow_shares=memory.slow.shares(),
        host_changes=memory.host_changes.standing,
        neighbours=memory.neighbours,
    )
    return _judged(memory, snapshot)


def _judged(memory: Memory, snapshot: Snapshot) -> Snapshot:
    """Add the threshold of the current mode, the badge, the sentence and the advice."""
    history = memory.modes[memory.mode] if memory.mode is not None else None
    usual = history.usual() if history is not None else None
    tokens = history.latest if history is not None else ()
    if history is not None and not snapshot.halted:
        snapshot = _with_recent(memory, history, snapshot)
    contention = None
    if memory.failed is None:
        contention = contention_now(
            snapshot.recent,
            rivals=memory.attribution.rivals(tokens[-1]) if tokens else (None, None),
            cpu=memory.machine.cpu,
            cgroup=memory.machine.cgroup,
            host=memory.machine.host,
        )
    situation = Situation(
        mode=memory.mode,
        cpu=memory.machine.cpu,
        cgroup=memory.machine.cgroup,
        host=memory.machine.host,
        in_process=snapshot.in_process,
        ours=memory.neighbours,
        wait=memory.engine.wait if memory.engine is not None else "spin",
        graphs=REPLAYED not in memory.refused,
    )
    return replace(
        snapshot,
        threshold_ns=usual.threshold_ns if usual is not None else None,
        contended=contention.text if contention is not None else "",
        sentence=limiting_sentence(snapshot, contention),
        advice=advice(contention, snapshot.slow_shares, situation),
    )


def _with_recent(memory: Memory, history: ModeHistory, snapshot: Snapshot) -> Snapshot:
    """Add what the current mode's tokens of the last two seconds tell."""
    recent = recently_begun(reversed(history.latest), snapshot.t_ns)
    snapshot = replace(snapshot, recent=mean_token(recent))
    work: CpuWork | Reason = because("new-lengths")
    if not told_by_cpu_time(memory.engine):
        work = because("cpu-computes")
    elif not history.at_new_length:
        work = cpu_work(recent, history.least_cpu)
    if isinstance(work, Reason):
        return replace(snapshot, cpu_work_reason=work)
    return replace(snapshot, cpu_work=work)


def _halted(memory: Memory, now_ns: int) -> bool:
    """Whether nothing decodes: in a stage without tokens, or if none came for longer than the
    figures on screen cover and than two tokens as long as the last one take."""
    if memory.stage.stage in (*TOKENLESS, "paused", "failed"):
        return True
    newest = memory.newest
    return newest is not None and now_ns - newest.done_ns > max(RECENT_NS, 2 * newest.wall_ns)


def _rate(memory: Memory) -> Rate | None:
    if memory.mode is None or memory.engine is None:
        return None
    history = memory.modes[memory.mode]
    figures = history.latest_figures()
    if figures is None:
        return None
    walls_ns = history.recent_walls_ns()
    total_ns = sum(walls_ns)
    return Rate(
        tok_per_s=memory.engine.batch * len(walls_ns) * 1e9 / total_ns,
        mean_ns=total_ns // len(walls_ns),
        p50_ns=figures.wall_ns,
        p99_ns=figures.p99_ns,
        tokens=figures.tokens,
    )


def _mode_view(memory: Memory, spec: ModeSpec, ceilings: Ceiling | None) -> ModeView:
    history = memory.modes[spec.name]
    view = ModeView(
        key=spec.key,
        name=spec.name,
        summary=spec.summary,
        reason=memory.refused.get(spec.name),
        current=spec.name == memory.mode,
        tokens=history.total or len(history.new),
        prefill_ns=round(median(list(history.prefills_ns))) if history.prefills_ns else None,
        profile=history.profile,
        verified=history.verified,
    )
    figures = history.figures()
    if figures is None:
        return view
    baseline = memory.modes[BASELINE].figures()
    split: Split | None = None
    reason: ReasonOrText = because("no-window-yet")
    if history.profile is not None:
        split = split_token(figures.wall_ns, history.profile, ceilings.bound_ns if ceilings else None)
        reason = ""
    elif history.rejected is not None:
        reason = history.rejected.reason
    return replace(
        view,
        wall_ns=figures.wall_ns,
        p99_ns=figures.p99_ns,
        dispatch_ns=figures.dispatch_ns,
        wait_ns=figures.wait_ns,
        speedup=baseline.wall_ns / figures.wall_ns if baseline and not history.first_round else None,
        first_round=history.first_round,
        split=split,
        split_reason=reason,
    )
