"""What the recording shows, in a few plain sentences with their numbers.

Only what was measured is claimed: without a profile window nothing is said of what the device
did, and differences of a few percent are not called faster.
"""

from collections.abc import Iterator

from idlegap.core.measure.limits import CONTENDED_SHARE, NOTABLE_SPEED_UP
from idlegap.core.protocol.modes import BASELINE, REPLAYED
from idlegap.core.report.gather import Report
from idlegap.core.report.modes import ModeRow
from idlegap.core.text.phrases import limit_head
from idlegap.core.text.reasons import words
from idlegap.core.text.units import bandwidth, ms, percent, rate, times


def conclusion(facts: Report) -> list[str]:
    """The sentences, the most important first."""
    if not facts.modes:
        return ["No token was counted in this recording."]
    if facts.setup.engine is not None and facts.setup.engine.device == "cpu":
        return [_on_cpu(facts), *_held_back(facts)]
    return [*_controlled(facts), *_fastest(facts), *_held_back(facts)]


def _on_cpu(facts: Report) -> str:
    fastest = min(facts.modes, key=lambda mode: mode.wall_ns)
    return f"There was no GPU: the CPU took {ms(fastest.wall_ns)} ms a token in {fastest.name}."


def _controlled(facts: Report) -> Iterator[str]:
    """Eager with a static cache against the same kernels from one graph."""
    base, graph = facts.mode(BASELINE), facts.mode(REPLAYED)
    if base is not None:
        yield _where_it_goes(base)
    if base is None or graph is None:
        if graph is not None:
            yield _where_it_goes(graph)
        return
    gain = graph.speedup or 1.0
    idle = f", {percent(graph.split.idle_ns / graph.wall_ns)} of it idle" if graph.split is not None else ""
    if gain >= 1 + NOTABLE_SPEED_UP:
        yield (
            f"Submitted as one CUDA graph, the same work takes {ms(graph.wall_ns)} ms{idle}: "
            f"{times(gain)} as fast. That difference is what submitting kernels one by one costs here."
        )
    else:
        yield f"Submitting it as one CUDA graph changes little: {ms(graph.wall_ns)} ms{idle}."


def _where_it_goes(mode: ModeRow) -> str:
    token = f"In {mode.name} a token takes {ms(mode.wall_ns)} ms"
    if mode.split is None:
        return f"{token}; what the GPU did meanwhile was not measured ({words(mode.split_reason)})."
    found, idle_ns = mode.judgement, mode.split.idle_ns
    return (
        f"{token}: the GPU works for {ms(mode.split.busy_ns)} ms of it and idles for {ms(idle_ns)} ms "
        f"({percent(idle_ns / mode.wall_ns)}), {ms(found.late_ns or 0)} ms of that because the host is late. "
        f"{limit_head(found.limit)}."
    )


def _fastest(facts: Report) -> Iterator[str]:
    fastest = min(facts.modes, key=lambda mode: mode.wall_ns)
    speed = f"{ms(fastest.wall_ns)} ms a token, {rate(fastest.tok_per_s)} tokens/s"
    if len(facts.modes) > 1:
        against = ""
        if fastest.speedup is not None and fastest.speedup >= 1 + NOTABLE_SPEED_UP:
            against = f", {times(fastest.speedup)} as fast as {BASELINE}"
        yield f"The fastest mode here is {fastest.name}: {speed}{against}."
    limits = facts.ceiling
    if limits is not None and limits.bound_ns is not None and limits.bandwidth is not None:
        measured = limits.bandwidth.copy_bytes_per_s
        at = f" at the measured {bandwidth(measured)}" if measured else ""
        yield (
            f"Reading the weights once takes {ms(limits.bound_ns)} ms{at}, "
            f"{percent(limits.bound_ns / fastest.wall_ns)} of a token in {fastest.name}."
        )


def _held_back(facts: Report) -> Iterator[str]:
    delayed = [
        (mode.run_delay_ns / mode.wall_ns, mode) for mode in facts.modes if mode.run_delay_ns is not None
    ]
    share, mode = max(delayed, default=(0.0, None), key=lambda entry: entry[0])
    if mode is not None and share > CONTENDED_SHARE:
        yield (
            f"The decode thread waited for a CPU for {percent(share)} of a token in {mode.name}: "
            "other work had its core."
        )
