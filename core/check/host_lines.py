"""The card's lines about the host: what it has, and who else is using it."""

from collections.abc import Iterator
from statistics import fmean

from idlegap.core.bench.schema import BenchResult
from idlegap.core.bench.summary import usual_token
from idlegap.core.check.card import CardLine, Scale, counted_runs, seen, unknown, why_unseen, worst
from idlegap.core.measure.host_speed import told_by_cpu_time
from idlegap.core.measure.limits import CONTENDED_SHARE, CONTENDED_STEAL_PCT, SAME_WORK, host_sets_pace
from idlegap.core.measure.statistics import MIN_RUNS, quantile
from idlegap.core.protocol.modes import BASELINE
from idlegap.core.text.names import cpu_name
from idlegap.core.text.reasons import words
from idlegap.core.text.units import ms, percent, times

USABLE_CORES = Scale(
    4.0, 2.0, "good from 4, fair from 2: decode needs one to itself, the driver and the system another", True
)
THROTTLED = Scale(
    0.0, CONTENDED_SHARE, "good if it never stopped us, fair up to 5 %: a stopped thread submits nothing"
)
WAITING = Scale(
    CONTENDED_SHARE, 0.25, "good up to 5 %, fair up to 25 %: the decode thread was ready and had no core"
)
SPEEDS = Scale(
    SAME_WORK,
    2.0,
    "good up to 1.25x, fair up to 2x: waiting is not in it; a neighbour on the core's other hardware "
    "thread does this and shows in no counter",
)
OTHERS = Scale(
    0.25, 0.60, "good up to 25 %, fair up to 60 %: shared caches and boost clocks suffer before cores run out"
)
STEAL_PCT = Scale(
    1.0, CONTENDED_STEAL_PCT, "good up to 1 %, fair up to 5 %: the hypervisor gave it to other tenants"
)
PRESSURE = Scale(
    0.10, 0.40, "good up to 10 %, fair up to 40 %: not all of these tasks are ours, but all want our cores"
)

P99_TOKENS = 1_000
"""Ten of them lie beyond a 99th percentile; of a hundred it would be the single worst one."""

WATCHED_S = 5.0
"""The sensors read four times a second: one reading is then 5 % of a mean."""


def host_lines(result: BenchResult) -> Iterator[CardLine]:
    """What the host is, and how much of it we got."""
    yield _cpu(result)
    yield _cores(result)
    yield _quota(result)
    yield _waiting(result)
    yield _steady(result)
    yield _others(result)
    yield _steal(result)
    yield _pressure(result)


def watched_line(result: BenchResult) -> CardLine:
    """How long the host was watched where nothing else can be judged, and whether that is enough."""
    runs = [run for run in counted_runs(result) if run.tokens.wall_ns]
    tokens = sum(len(run.tokens.counted(run.tokens.wall_ns)) for run in runs)
    ends = [run.started_ns + run.tokens.start_ns[-1] + run.tokens.wall_ns[-1] for run in runs]
    seconds = (max(ends) - min(run.started_ns for run in runs)) / 1e9 if runs else 0.0
    value = f"{seconds:.1f} s, {tokens:,} tokens"
    needed = f"{P99_TOKENS:,} tokens in {WATCHED_S:g} s"
    if tokens >= P99_TOKENS and seconds >= WATCHED_S:
        return CardLine("watched for", f"{value}: without a GPU no figure here needs more than {needed}")
    return CardLine("watched for", f"{value}: too short, the host's lines need {needed}", "warn")


def _cpu(result: BenchResult) -> CardLine:
    host = result.host
    if host is None:
        return unknown("host", "no reading of the host")
    around = ", ".join(filter(None, (host.virtualization, host.container)))
    return CardLine("host", f"{cpu_name(host.cpu_model)}{f' ({around})' if around else ''}")


def _cores(result: BenchResult) -> CardLine:
    host = result.host
    if host is None:
        return unknown("usable cores", "no reading of the host")
    return USABLE_CORES.line("usable cores", f"{host.usable_cores:g} of {host.cores}", host.usable_cores)


def _quota(result: BenchResult) -> CardLine:
    name, host, throttled = "CPU quota", result.host, seen(result, "throttled_ns")
    limited = host is not None and host.usable_cores < len(host.affinity)
    told = f"{host.usable_cores:g} cores" if host is not None and limited else "none"
    if not throttled:
        reason = words(why_unseen(result, "throttled_ns"))
        found = "" if limited else " found"
        return CardLine(name, f"{told}{found}; throttling n/a: {reason}", "warn" if limited else "info")
    # The kernel adds throttled time up over the group's run queues: an upper bound.
    decoded_ns = sum(sum(run.tokens.wall_ns) + run.prefill_ns for run in counted_runs(result))
    share = sum(throttled) / decoded_ns if decoded_ns else 0.0
    return THROTTLED.line(name, f"{told}, throttled for {ms(sum(throttled))} ms ({percent(share)})", share)


def _waiting(result: BenchResult) -> CardLine:
    name = "waiting for a CPU"
    waits = [
        (delay_ns, delay_ns / wall_ns)
        for run in counted_runs(result)
        if run.tokens.run_delay_ns is not None
        for delay_ns, wall_ns in run.tokens.counted(
            list(zip(run.tokens.run_delay_ns, run.tokens.wall_ns, strict=True))
        )
    ]
    if not waits:
        return unknown(name, result.engine.missing.get("run_delay_ns", "no counted token"))
    delays, shares = zip(*waits, strict=True)
    p99 = quantile(shares, 0.99)
    text = f"p99 {ms(quantile(delays, 0.99))} ms a token; p99 of its share {percent(min(p99, 1.0))}"
    return WAITING.line(name, text, p99)


def _steady(result: BenchResult) -> CardLine:
    name = "steady host"
    if not told_by_cpu_time(result.engine):
        return unknown(name, "the CPU computes")
    arms = [arm for arm in result.arms if arm.mode == BASELINE]
    usuals = [usual for arm in arms for run in arm.counted if (usual := usual_token([run])) is not None]
    filled = [usual for usual in usuals if usual.dispatch_fills_token]
    costs_ns = [usual.cpu_ns for usual in filled if usual.cpu_ns]
    if len(costs_ns) < MIN_RUNS:
        return unknown(name, f"needs {MIN_RUNS} runs of {BASELINE} in which the host submits all the time")
    window = next((arm.window for arm in arms if arm.window is not None), None)
    if window is None:
        return unknown(name, f"needs a profile window of {BASELINE}")
    fastest = min(filled, key=lambda usual: usual.wall_ns)
    if not host_sets_pace(fastest.wall_ns, fastest.dispatch_ns, window.busy_ns):
        return unknown(name, "the GPU works for most of a token, and the thread may wait for it")
    least, most = min(costs_ns), max(costs_ns)
    text = f"{ms(least)} to {ms(most)} ms of CPU time for the same token, by run ({times(most / least)})"
    return SPEEDS.line(name, text, most / least)


def _others(result: BenchResult) -> CardLine:
    name, cores = "load by others", seen(result, "others_cores")
    if not cores or result.host is None:
        return unknown(name, why_unseen(result, "others_cores"))
    share = fmean(cores) / result.host.cores
    return OTHERS.line(name, f"{fmean(cores):.1f} of {result.host.cores} cores ({percent(share)})", share)


def _steal(result: BenchResult) -> CardLine:
    name, steal = "stolen time", seen(result, "steal_pct")
    if not steal:
        return unknown(name, why_unseen(result, "steal_pct"))
    mean, most = fmean(steal), max(steal)
    grade = worst(STEAL_PCT.grade(mean), "good" if most <= STEAL_PCT.fair else "warn")
    return CardLine(name, f"{mean:.1f} %, at most {most:.1f} % in a run", grade, STEAL_PCT.words)


def _pressure(result: BenchResult) -> CardLine:
    name, shares = "CPU pressure", seen(result, "pressure")
    if not shares:
        return unknown(name, why_unseen(result, "pressure"))
    return PRESSURE.line(name, f"some task waited in {percent(fmean(shares))} of the time", fmean(shares))
