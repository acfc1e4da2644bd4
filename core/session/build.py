"""Builds the snapshot from what the state knows: once for each frame."""

from dataclasses import replace
from statistics import median

from idlegap.core.measure.cpu_time import CpuWork, cpu_work
from idlegap.core.measure.device_time import split_token
from idlegap.core.measure.host_speed import told_by_cpu_time
from idlegap.core.measure.rate import TokenTimes, mean_ns, speed_up, tokens_per_s
from idlegap.core.measure.roofline import ceiling
from idlegap.core.protocol import events
from idlegap.core.protocol.modes import BASELINE, MODES, ModeSpec
from idlegap.core.protocol.reasons import Reason, ReasonOrText, because
from idlegap.core.session.mode_history import ModeHistory
from idlegap.core.session.snapshot import (
    NO_APP,
    STRIP_BUCKET_NS,
    TOKENLESS,
    FromApp,
    ModeView,
    Playback,
    Rate,
    Snapshot,
    Strip,
)
from idlegap.core.session.state import State
from idlegap.core.slow_tokens.causes import Contention, RecentTokens
from idlegap.core.slow_tokens.contention import RECENT_NS, contention_now, mean_token, recently_begun

NOTICE_NS = 8_000_000_000
"""A notice stays on screen this long."""


def snapshot_of(
    state: State,
    now_ns: int,
    *,
    in_process: bool,
    spec_bytes_per_s: float | None,
    app: FromApp = NO_APP,
    playback: Playback | None = None,
) -> Snapshot:
    """The snapshot at `now_ns`. `spec_bytes_per_s` is the user's own figure, if any; `app` is what
    only the app knows, `playback` where a replay stands."""
    facts, history = state.facts, _history(state)
    rate = _rate(state, history)
    ceilings, engine = None, facts.newest(events.EngineReady)
    if engine is not None:
        speed = rate.tok_per_s if rate else None
        ceilings = ceiling(
            engine, facts.newest(events.Bandwidth), facts.newest(events.GpuInfo), spec_bytes_per_s, speed
        )
    refused, baseline = facts.refused, state.setup.modes[BASELINE].figures()
    bound_ns = ceilings.bound_ns if ceilings else None
    modes = tuple(_mode_view(state, spec, refused.get(spec.name), bound_ns, baseline) for spec in MODES)
    current = next((view for view in modes if view.current), None)
    halted = _halted(state, now_ns)
    recent = () if history is None or halted else recently_begun(reversed(history.latest), now_ns)
    mean = mean_token(recent)
    work = _cpu_work(state, history, recent) if history is not None and not halted else None
    usual = state.usual()
    return Snapshot(
        t_ns=now_ns,
        stage=state.stage,
        engine=facts.newest(events.EngineReady),
        failed=facts.newest(events.EngineFailed),
        mode=state.mode,
        modes=modes,
        rate=rate,
        recent=mean,
        cpu_work=work if isinstance(work, CpuWork) else None,
        cpu_work_reason=work if isinstance(work, Reason) else "",
        halted=halted,
        newest_ns=state.newest.done_ns if state.newest is not None else None,
        strip=Strip(
            now_bucket=now_ns // STRIP_BUCKET_NS,
            columns=state.strip.columns(now_ns),
            marks=state.strip.marks(),
            busy_ns=current.split.busy_ns if current and current.split else None,
            bound_ns=bound_ns,
        ),
        ceiling=ceilings,
        host=facts.newest(events.HostInfo),
        cpu=facts.newest(events.CpuSample),
        cgroup=facts.newest(events.CgroupSample),
        gpu_info=facts.newest(events.GpuInfo),
        gpu=facts.newest(events.GpuSample),
        monitor=facts.newest(events.MonitorSample),
        notice=state.notice if now_ns - state.notice_ns < NOTICE_NS else "",
        text=state.text,
        paused=state.stage.stage == "paused",
        dropped=facts.dropped,
        excluded=state.excluded,
        at_new_length=history is not None and history.at_new_length,
        in_process=in_process,
        slow=tuple(state.slow.recent),
        slow_shares=state.slow.shares(),
        host_changes=state.setup.host_changes,
        threshold_ns=usual.threshold_ns if usual is not None else None,
        contention=_contention(state, history, mean),
        neighbours=facts.neighbours,
        playback=playback,
        app=app,
    )


def _history(state: State) -> ModeHistory | None:
    return state.setup.modes[state.mode] if state.mode is not None else None


def _contention(state: State, history: ModeHistory | None, recent: RecentTokens | None) -> Contention | None:
    facts = state.facts
    if facts.newest(events.EngineFailed) is not None:
        return None
    newest = history.latest[-1] if history is not None and history.latest else None
    return contention_now(
        recent,
        cpu_users=state.attribution.cpu_users(newest) if newest is not None else (None, None),
        cpu=facts.newest(events.CpuSample),
        cgroup=facts.newest(events.CgroupSample),
        host=facts.newest(events.HostInfo),
    )


def _cpu_work(state: State, history: ModeHistory, recent: list[events.Token] | tuple[()]) -> CpuWork | Reason:
    """CPU time of the `recent` tokens, or why it says nothing of the host."""
    if not told_by_cpu_time(state.facts.newest(events.EngineReady)):
        return because("cpu-computes")
    if history.at_new_length:
        return because("new-lengths")
    busy_ns = history.profile.busy_ns if history.profile is not None else None
    return cpu_work(recent, history.least_cpu, busy_ns)


def _halted(state: State, now_ns: int) -> bool:
    """Whether nothing decodes: in a stage without tokens, or if none came for longer than the
    figures on screen cover and than two tokens as long as the last one take."""
    if state.stage.stage in (*TOKENLESS, "paused", "failed"):
        return True
    newest = state.newest
    return newest is not None and now_ns - newest.done_ns > max(RECENT_NS, 2 * newest.wall_ns)


def _rate(state: State, history: ModeHistory | None) -> Rate | None:
    engine, figures = (
        state.facts.newest(events.EngineReady),
        history.latest_figures() if history is not None else None,
    )
    if engine is None or history is None or figures is None:
        return None
    walls_ns = history.recent_walls_ns()
    return Rate(
        tok_per_s=tokens_per_s(engine.batch, walls_ns),
        mean_ns=mean_ns(walls_ns),
        p50_ns=figures.wall_ns,
        p99_ns=figures.p99_ns,
        tokens=figures.tokens,
    )


def _mode_view(
    state: State,
    spec: ModeSpec,
    refusal: ReasonOrText | None,
    bound_ns: int | None,
    baseline: TokenTimes | None,
) -> ModeView:
    history = state.setup.modes[spec.name]
    figures, window = history.figures(), history.profile
    view = ModeView(
        key=spec.key,
        name=spec.name,
        summary=spec.summary,
        reason=refusal,
        current=spec.name == state.mode,
        tokens=history.total or len(history.new),
        prefill_ns=round(median(history.prefills_ns)) if history.prefills_ns else None,
        profile=window,
        verified=history.verified,
    )
    if figures is None:
        return view
    reason: ReasonOrText = because("no-window-yet")
    if window is not None:
        reason = ""
    elif history.rejected is not None:
        reason = history.rejected.reason
    return replace(
        view,
        wall_ns=figures.wall_ns,
        p99_ns=figures.p99_ns,
        dispatch_ns=figures.dispatch_ns,
        wait_ns=figures.wait_ns,
        speedup=speed_up(baseline.wall_ns, figures.wall_ns) if baseline and not history.first_round else None,
        split=split_token(figures.wall_ns, window, bound_ns) if window is not None else None,
        split_reason=reason,
        first_round=history.first_round,
    )
