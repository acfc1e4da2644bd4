"""The card's lines about the host: what it has, and who else is using it."""

from collections.abc import Iterator
from statistics import fmean

from idlegap.core.bench.schema import BenchResult
from idlegap.core.bench.summary import usual_token
from idlegap.core.check.card import (
    CardLine,
    at_least,
    at_most,
    counted_runs,
    seen,
    unknown,
    why_unseen,
    worst,
)
from idlegap.core.measure.host_speed import told_by_cpu_time
from idlegap.core.measure.limits import CONTENDED_SHARE, CONTENDED_STEAL_PCT, SAME_WORK, host_sets_pace
from idlegap.core.measure.statistics import MIN_RUNS, quantile
from idlegap.core.protocol.modes import BASELINE
from idlegap.core.text.names import cpu_name
from idlegap.core.text.reasons import words
from idlegap.core.text.units import ms, percent, times

USABLE_CORES = (4.0, 2.0)
STEAL_PCT = (1.0, CONTENDED_STEAL_PCT)
WAITING_SHARES = (CONTENDED_SHARE, 0.25)
PRESSURE_SHARES = (0.10, 0.40)
OTHERS_SHARES = (0.25, 0.60)
SPEED_RATIOS = (SAME_WORK, 2.0)

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
    return CardLine(
        "usable cores",
        f"{host.usable_cores:g} of {host.cores}",
        at_least(host.usable_cores, *USABLE_CORES),
        "good from 4, fair from 2: decode needs one to itself, the driver and the system another",
    )


def _quota(result: BenchResult) -> CardLine:
    host = result.host
    throttled = seen(result, lambda conditions: conditions.throttled_ns)
    limited = host is not None and host.usable_cores < len(host.affinity)
    told = f"{host.usable_cores:g} cores" if host is not None and limited else "none"
    if not throttled:
        reason = words(why_unseen(result, "throttled_ns"))
        if limited:
            return CardLine("CPU quota", f"{told}; throttling n/a: {reason}", "warn")
        return CardLine("CPU quota", f"{told} found; throttling n/a: {reason}")
    # The kernel adds throttled time up over the group's run queues: an upper bound.
    decoded_ns = sum(sum(run.tokens.wall_ns) + run.prefill_ns for run in counted_runs(result))
    share = sum(throttled) / decoded_ns if decoded_ns else 0.0
    return CardLine(
        "CPU quota",
        f"{told}, throttled for {ms(sum(throttled))} ms ({percent(share)})",
        at_most(share, 0.0, CONTENDED_SHARE),
        "good if it never stopped us, fair up to 5 %: a stopped thread submits nothing",
    )


def _waiting(result: BenchResult) -> CardLine:
    shares: list[float] = []
    delays: list[int] = []
    for run in counted_runs(result):
        if run.tokens.run_delay_ns is not None:
            waited = run.tokens.counted(run.tokens.run_delay_ns)
            delays.extend(waited)
            walls = run.tokens.counted(run.tokens.wall_ns)
            shares.extend(delay / wall for delay, wall in zip(waited, walls, strict=True))
    if not shares:
        reason = result.engine.missing.get("run_delay_ns", "no counted token")
        return unknown("waiting for a CPU", reason)
    p99 = quantile(shares, 0.99)
    return CardLine(
        "waiting for a CPU",
        f"p99 {ms(quantile(delays, 0.99))} ms a token; p99 of its share {percent(min(p99, 1.0))}",
        at_most(p99, *WAITING_SHARES),
        "good up to 5 %, fair up to 25 %: the decode thread was ready and had no core",
    )


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
    return CardLine(
        name,
        f"{ms(least)} to {ms(most)} ms of CPU time for the same token, by run ({times(most / least)})",
        at_most(most / least, *SPEED_RATIOS),
        "good up to 1.25x, fair up to 2x: waiting is not in it; a neighbour on the core's other hardware "
        "thread does this and shows in no counter",
    )


def _others(result: BenchResult) -> CardLine:
    cores = seen(result, lambda conditions: conditions.others_cores)
    if not cores or result.host is None:
        return unknown("load by others", why_unseen(result, "others_cores"))
    share = fmean(cores) / result.host.cores
    return CardLine(
        "load by others",
        f"{fmean(cores):.1f} of {result.host.cores} cores ({percent(share)})",
        at_most(share, *OTHERS_SHARES),
        "good up to 25 %, fair up to 60 %: shared caches and boost clocks suffer before cores run out",
    )


def _steal(result: BenchResult) -> CardLine:
    steal = seen(result, lambda conditions: conditions.steal_pct)
    if not steal:
        return unknown("stolen time", why_unseen(result, "steal_pct"))
    return CardLine(
        "stolen time",
        f"{fmean(steal):.1f} %, at most {max(steal):.1f} % in a run",
        worst(at_most(fmean(steal), *STEAL_PCT), "good" if max(steal) <= STEAL_PCT[1] else "warn"),
        "good up to 1 %, fair up to 5 %: the hypervisor gave it to other tenants",
    )


def _pressure(result: BenchResult) -> CardLine:
    shares = seen(result, lambda conditions: conditions.pressure)
    if not shares:
        return unknown("CPU pressure", why_unseen(result, "pressure"))
    return CardLine(
        "CPU pressure",
        f"some task waited in {percent(fmean(shares))} of the time",
        at_most(fmean(shares), *PRESSURE_SHARES),
        "good up to 10 %, fair up to 40 %: not all of these tasks are ours, but all want our cores",
    )
