"""The one plain sentence on screen: what limits this machine now, with its numbers.

It claims only what was measured. Without a profile window it speaks of submitting and waiting,
never of what the GPU computes; without a reading of who used the CPU it names nobody.
"""

from textwrap import shorten

from idlegap.core.measure.limits import NOTABLE_SPEED_UP, ONE_DISPATCH_SHARE, Judgement
from idlegap.core.phrasing.contention import contention_words
from idlegap.core.protocol.events import CgroupSample, Stage, Verified
from idlegap.core.protocol.modes import BASELINE, EAGER, ONE_GRAPH
from idlegap.core.session.snapshot import TOKENLESS, ModeView, Snapshot, StageView
from idlegap.core.slow_tokens.causes import Contention
from idlegap.core.slow_tokens.contention import RECENT_NS
from idlegap.core.text.phrases import STAGES, limit_head, sentence
from idlegap.core.text.reasons import logit_diff_words
from idlegap.core.text.units import ms, us

LONGEST = 160
"""Two lines of an 80-column terminal."""

TOLD_NS = 30_000_000_000
"""So long from when it was found the sentence of a mode that it concerns tells that the host has
changed speed; the mark in its row stays."""

_DECODES: tuple[Stage, ...] = ("decoding", "profiling")


def limiting_sentence(snapshot: Snapshot) -> str:
    """What limits this machine now: one sentence of at most LONGEST characters. While tokens flow
    and something holds the decode thread back, it speaks of that."""
    return shorten(_sentence(snapshot), LONGEST, placeholder=" ...")


def _sentence(snapshot: Snapshot) -> str:
    stage, row, contention = snapshot.stage, snapshot.mode_view(snapshot.mode), snapshot.contention
    since = _since(snapshot, stage.since_ns)
    if snapshot.failed is not None:
        return f"The engine failed {since}s ago: {snapshot.failed.reason.rstrip('. ')}."
    if snapshot.paused or stage.stage == "paused":
        return f"Paused for {since}s: nothing decodes, so nothing limits it{_beside(contention)}."
    if row is None or row.wall_ns is None or stage.stage in TOKENLESS:
        return _loading(stage, since, contention)
    if snapshot.halted and stage.stage in _DECODES:
        if snapshot.t_ns - stage.since_ns < RECENT_NS:
            return f"Decoding goes on{_beside(contention)}."
        silent = since if snapshot.newest_ns is None else _since(snapshot, snapshot.newest_ns)
        return f"No token for {silent}s{_beside(contention)}."
    if row.verified is not None and row.verified.flagged:
        return _wrong_tokens(row.verified)
    if contention is not None and not snapshot.halted:
        return _contended(snapshot, contention, row.wall_ns)
    if snapshot.engine is not None and snapshot.engine.device == "cpu":
        rate = f", {snapshot.rate.tok_per_s:,.0f} tok/s" if snapshot.rate is not None else ""
        where = "On the CPU, as asked" if snapshot.gpu_info and snapshot.gpu_info.name else "No GPU here"
        return f"{where}: the CPU computes a token in {ms(row.wall_ns)} ms{rate}; no GPU waits for it."
    if snapshot.at_new_length and snapshot.rate is not None:
        return (
            f"{row.name} meets each cache length for the first time, and the host may have to plan for it: "
            f"{ms(snapshot.rate.mean_ns)} ms a token. The next round counts."
        )
    for change in snapshot.host_changes:
        if row.name in change.modes and snapshot.t_ns - change.found_ns < TOLD_NS:
            return change.text
    work = snapshot.cpu_work
    if work is not None and work.slow:
        part = "" if row.split is None else f"; the GPU computes {ms(row.split.busy_ns)} ms of it"
        now, best = ms(work.cpu_ns), ms(work.least_ns)
        return f"The host is slow now: {now} ms of CPU time a token, {best} at best{part}."
    if row.name not in EAGER and row.speedup is not None and row.speedup < 1 - NOTABLE_SPEED_UP:
        return _slower(snapshot, row, row.wall_ns)
    if row.judgement.limit == "unknown":
        return _unsplit(row, row.wall_ns)
    return _limited(row, row.judgement)


def _loading(stage: StageView, seconds: str, contention: Contention | None) -> str:
    if stage.stage == "stopped":
        return f"The engine stopped {seconds}s ago."
    done = "" if stage.fraction is None else f", {100 * stage.fraction:.0f} % done"
    return sentence(f"{STAGES[stage.stage]}: {seconds}s so far{done}{_beside(contention)}")


def _beside(contention: Contention | None) -> str:
    """Contention in a few words, for a sentence about something else."""
    words = contention_words(contention)
    return f"; {words}" if words else ""


def _contended(snapshot: Snapshot, contention: Contention, wall_ns: int) -> str:
    """The sentence about whoever holds the CPU back, with the figures of the badge's tokens. What it
    costs is left out where no run delay was read."""
    cpu, recent = snapshot.cpu, snapshot.recent
    token_ns = recent.wall_ns if recent is not None else wall_ns
    delay_ns = recent.run_delay_ns if recent is not None else None
    waits = "" if delay_ns is None else f"{ms(delay_ns)} of each {ms(token_ns)} ms token"
    cost = f"{waits} go to waiting for a CPU" if waits else ""
    use = "have the CPU" if contention.cores is None else f"use {contention.cores:.1f} cores"
    match contention.pressure:
        case "quota":
            return _throttled(snapshot.cgroup, token_ns)
        case "neighbour":
            core = "" if cpu is None or cpu.decode_core is None else f"; decode is on core {cpu.decode_core}"
            return f"Other programs {use}{_after(': ', cost)}{core}."
        case "own threads":
            return f"Our own other threads {use}{_after(': ', cost)}."
        case "cpu wait":
            part = waits or f"part of each {ms(token_ns)} ms token"
            return f"The decode thread waits for a CPU in {part}; who has it is not known."
        case "steal":
            stolen = (cpu.steal_pct if cpu is not None else None) or 0
            cost = f"{waits} are waits" if waits else ""
            return f"The hypervisor gives {stolen:.0f} % of this machine to other guests{_after(': ', cost)}."
        case "crowded":
            return f"Other programs {use} and leave hardly one free{_after('; so far ', cost)}."


def _after(joint: str, clause: str) -> str:
    return joint + clause if clause else ""


def _throttled(cgroup: CgroupSample | None, token_ns: int) -> str:
    if cgroup is None or not cgroup.throttled_ns:
        return f"The CPU quota stops this process; a token takes {ms(token_ns)} ms."
    quota = f" of {cgroup.quota_cores:g} cores" if cgroup.quota_cores is not None else ""
    times = f" {cgroup.throttled:,} times" if cgroup.throttled else ""
    return (
        f"The CPU quota{quota} stopped this process{times} in the last {cgroup.interval_ns / 1e9:.1f} s, "
        f"for {ms(cgroup.throttled_ns)} ms in all."
    )


def _wrong_tokens(verified: Verified) -> str:
    wrong = verified.steps - verified.agree
    return (
        f"{verified.mode} decodes wrongly, so its speed means nothing: {wrong} of {verified.steps} tokens "
        f"differ, logits by {logit_diff_words(verified)} (eager's own noise {verified.noise_diff:.3g})."
    )


def _slower(snapshot: Snapshot, row: ModeView, wall_ns: int) -> str:
    base = snapshot.mode_view(BASELINE)
    against = f" against {ms(base.wall_ns)}" if base is not None and base.wall_ns is not None else ""
    why = ""
    if row.split is not None and base is not None and base.split is not None:
        more_busy, more_idle = row.split.busy_ns - base.split.busy_ns, row.split.idle_ns - base.split.idle_ns
        if max(more_busy, more_idle) > 0:
            what = "computes" if more_busy >= more_idle else "idles"
            why = f"; the GPU {what} {ms(max(more_busy, more_idle))} ms longer"
    figures = f"{ms(wall_ns)}{against} ms a token, {row.speedup:.2f}x"
    return f"{row.name} is slower here than {BASELINE}: {figures}{why}."


def _unsplit(row: ModeView, wall_ns: int) -> str:
    """From dispatch and wait alone, which say nothing about what the GPU did meanwhile."""
    unknown = "the GPU's share is not measured yet"
    if row.dispatch_ns is None or row.wait_ns is None:
        return f"Each token takes {ms(wall_ns)} ms; {unknown}."
    submits, token = ms(row.dispatch_ns), f"each {ms(wall_ns)} ms"
    if row.dispatch_ns >= row.wait_ns:
        return f"The host needs {submits} of {token} to submit; {unknown}."
    return f"The host submits in {submits} ms and waits {ms(row.wait_ns)} of {token}; {unknown}."


def _limited(row: ModeView, judgement: Judgement) -> str:
    dispatch_ns, late_ns = row.dispatch_ns or 0, judgement.late_ns or 0
    kernels = row.profile.kernels if row.profile is not None else 0
    busy, late, token = ms(judgement.busy_ns or 0), ms(late_ns), f"{ms(judgement.wall_ns)} ms token"
    match judgement.limit:
        case "host" if judgement.host_paced:
            what = f" {kernels:,} kernels, {us(dispatch_ns / kernels)} µs each" if kernels else ""
            return (
                f"The GPU computes {busy} ms of each {token}; the host needs {ms(dispatch_ns)} ms "
                f"to submit{what}; a faster GPU would not help."
            )
        case "host" | "mixed":
            idles = f"the GPU computes {busy} ms and idles {late} ms for the host"
            return f"{limit_head(judgement.limit)}: of each {token} {idles}."
        case "bandwidth":
            stream = f"streaming the weights takes {ms(judgement.bound_ns or 0)} ms of each {token}"
            return f"{limit_head(judgement.limit)}: {stream}; the host costs {late} ms."
        case _:
            gap_ns = judgement.device_gap_ns or 0
            if row.name in ONE_GRAPH and dispatch_ns <= ONE_DISPATCH_SHARE * judgement.wall_ns and kernels:
                gap = f"what is left is {us(gap_ns / kernels)} µs between {kernels:,} kernels"
                left = gap if gap_ns >= late_ns else f"the GPU waits {late} ms of each {token} for it"
                return f"The host submits once per token; {left}."
            computes = f"it computes {busy} ms of each {token}"
            return f"{limit_head(judgement.limit)}: {computes}; the host costs {late} ms."


def _since(snapshot: Snapshot, ns: int) -> str:
    return f"{max(snapshot.t_ns - ns, 0) / 1e9:.0f} "
