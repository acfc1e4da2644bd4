"""One sentence for each situation, and what no sentence may ever do."""

import re
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.measure.cpu_time import CpuWork
from idlegap.core.measure.device_time import Split
from idlegap.core.phrasing.sentence import LONGEST, limiting_sentence
from idlegap.core.protocol.events import (
    CgroupSample,
    CpuSample,
    EngineFailed,
    EngineReady,
    ProfileWindow,
    Stage,
    Verified,
)
from idlegap.core.protocol.modes import MODES, ModeName, mode_spec
from idlegap.core.session.snapshot import ModeView, Rate, Snapshot, StageView
from idlegap.core.slow_tokens.causes import Contention, Pressure, RecentTokens
from tests.ready import engine_ready

MS = 1_000_000


def said(snap: Snapshot, contention: Contention | None = None) -> str:
    return limiting_sentence(replace(snap, contention=contention) if contention is not None else snap)


def engine(device: str = "cuda:0") -> EngineReady:
    return engine_ready(device=device)


def row(
    name: ModeName, wall: float, dispatch: float, split: Split | None = None, kernels: int = 0
) -> ModeView:
    spec = mode_spec(name)
    return ModeView(
        key=spec.key,
        name=name,
        summary=spec.summary,
        current=True,
        tokens=255,
        wall_ns=round(wall * MS),
        dispatch_ns=round(dispatch * MS),
        wait_ns=round((wall - dispatch) * MS),
        split=split,
        profile=ProfileWindow(0, name, steps=4, accepted=True, kernels=kernels) if kernels else None,
    )


def split(bound: float | None, other: float, latency: float, device: float, host: float) -> Split:
    other_ns, latency_ns, device_ns, host_ns = (round(ms * MS) for ms in (other, latency, device, host))
    return Split(None if bound is None else round(bound * MS), other_ns, latency_ns, device_ns, host_ns)


def snapshot(*rows: ModeView, stage: Stage = "decoding", device: str = "cuda:0") -> Snapshot:
    return Snapshot(
        t_ns=10_000 * MS,
        stage=StageView(stage, "", None, 7_000 * MS),
        engine=engine(device),
        mode=rows[0].name if rows else None,
        modes=rows,
    )


EAGER = row("eager-static", 22.9, 22.8, split(0.72, 2.98, 3.3, 0.1, 15.8), 1431)
GRAPH = row("graph", 4.2, 0.03, split(0.72, 2.98, 0.0, 0.4, 0.1), 1432)
GRAPH_LATE = row("graph", 4.6, 0.03, split(0.72, 2.98, 0.1, 0.3, 0.5), 1432)
COMPILED = row("compiled", 3.4, 1.1, split(0.72, 1.58, 0.1, 0.1, 0.9), 594)
STREAMING = row("compiled", 10.9, 0.4, split(7.7, 3.0, 0.0, 0.1, 0.1), 594)
SMALL_KERNELS = row("graph", 4.0, 0.03, split(0.72, 2.28, 0.0, 0.9, 0.1), 1432)
MOST_LAUNCHED = row("compiled", 4.2, 0.03, split(0.72, 2.98, 0.0, 0.4, 0.1), 594)
STILL_SUBMITS = row("fused-graph", 2.5, 0.2, split(0.72, 1.44, 0.04, 0.1, 0.2), 483)
FED = row("eager", 40.0, 25.0, split(0.72, 38.0, 0.1, 0.9, 0.28), 1500)

LIMITS = [
    (
        EAGER,
        "The GPU computes 3.70 ms of each 22.9 ms token; the host needs 22.8 ms to submit "
        "1,431 kernels, 15.9 µs each; a faster GPU would not help.",
    ),
    (
        replace(EAGER, profile=None),
        "The GPU computes 3.70 ms of each 22.9 ms token; the host needs 22.8 ms to submit; "
        "a faster GPU would not help.",
    ),
    (GRAPH, "The host submits once per token; what is left is 0.28 µs between 1,432 kernels."),
    (GRAPH_LATE, "The host submits once per token; the GPU waits 0.60 ms of each 4.60 ms token for it."),
    (
        COMPILED,
        "Host and GPU both limit: of each 3.40 ms token the GPU computes 2.30 ms and idles 1.00 ms "
        "for the host.",
    ),
    (
        STREAMING,
        "Memory bandwidth limits: streaming the weights takes 7.70 ms of each 10.9 ms token; "
        "the host costs 0.10 ms.",
    ),
    (SMALL_KERNELS, "The host submits once per token; what is left is 0.63 µs between 1,432 kernels."),
    (MOST_LAUNCHED, "The GPU limits: it computes 3.70 ms of each 4.20 ms token; the host costs 0.10 ms."),
    (STILL_SUBMITS, "The GPU limits: it computes 2.16 ms of each 2.50 ms token; the host costs 0.24 ms."),
    (FED, "The GPU limits: it computes 38.7 ms of each 40.0 ms token; the host costs 0.38 ms."),
    (
        replace(EAGER, split=None),
        "The host needs 22.8 of each 22.9 ms to submit; the GPU's share is not measured yet.",
    ),
    (
        replace(GRAPH, split=None),
        "The host submits in 0.03 ms and waits 4.17 of each 4.20 ms; the GPU's share is not measured yet.",
    ),
]


@pytest.mark.parametrize(("current", "expected"), LIMITS)
def test_what_limits_a_mode(current: ModeView, expected: str) -> None:
    assert said(snapshot(current)) == expected


def test_submitting_all_the_time_is_not_blamed_when_the_gpu_is_busy_anyway() -> None:
    balanced = row("eager", 10.0, 9.8, split(0.7, 7.8, 0.5, 0.5, 0.5), 1400)
    assert "would not help" not in said(snapshot(balanced))


# --- before and beside decoding --------------------------------------------------


@pytest.mark.parametrize("stage", ["importing", "building", "compiling", "decoding"])
def test_until_tokens_flow_it_says_what_the_engine_does(stage: Stage) -> None:
    assert said(snapshot(stage=stage)).endswith(": 3 s so far.")


def test_while_tokens_are_compared_it_says_so() -> None:
    comparing = replace(snapshot(EAGER), stage=StageView("verifying", "", None, 0))
    assert said(comparing) == "Comparing tokens: 10 s so far."


def test_at_its_end_a_run_keeps_its_verdict() -> None:
    ended = StageView("stopped", "", None, 0)
    assert said(replace(snapshot(EAGER), stage=ended)) == said(snapshot(EAGER))
    assert said(snapshot(stage="stopped")) == "The engine stopped 3 s ago."


def test_progress_is_told_where_it_is_known() -> None:
    loading = replace(snapshot(), stage=StageView("downloading", "", 0.4, 0))
    assert said(loading) == "Downloading the model: 10 s so far, 40 % done."


def test_a_mode_that_is_being_compiled_is_not_judged_by_its_old_tokens() -> None:
    assert said(snapshot(COMPILED, stage="compiling")) == "Compiling kernels: 3 s so far."


def test_paused_and_failed_say_so() -> None:
    paused = replace(snapshot(EAGER), paused=True)
    assert said(paused) == "Paused for 3 s: nothing decodes, so nothing limits it."
    failed = replace(paused, failed=EngineFailed(0, "device-side assert."))
    assert said(failed) == "The engine failed 3 s ago: device-side assert."


def test_a_long_reason_is_shortened() -> None:
    sentence = said(replace(snapshot(), failed=EngineFailed(0, "word\n" * 100)))
    assert len(sentence) <= LONGEST
    assert sentence.endswith("word word ...")


def test_without_a_gpu_there_is_no_gap_to_explain() -> None:
    current = replace(
        snapshot(row("eager", 12.3, 12.2), device="cpu"),
        rate=Rate(81.3, 12_300_000, 12_300_000, 13_000_000, 64),
    )
    assert said(current) == (
        "No GPU here: the CPU computes a token in 12.3 ms, 81 tok/s; no GPU waits for it."
    )


# --- a mode that decodes something else ---------------------------------------------


def test_a_mode_with_other_tokens_is_told_before_its_speed() -> None:
    wrong = Verified(0, "graph", 255, 12, 2.14, 255, 0.0134, flagged=True)
    assert said(snapshot(replace(GRAPH, verified=wrong))) == (
        "graph decodes wrongly, so its speed means nothing: 243 of 255 tokens differ, logits by 2.14 "
        "(eager's own noise 0.0134)."
    )
    right = Verified(0, "graph", 255, 255, 0.0144, 255, 0.0134, flagged=False)
    assert said(snapshot(replace(GRAPH, verified=right))) == said(snapshot(GRAPH))


# --- a mode that does not pay ------------------------------------------------------


def test_a_mode_slower_than_the_baseline_says_by_how_much_and_why() -> None:
    slow = replace(row("graph", 4.4, 0.1, split(0.72, 3.2, 0, 0.4, 0.08), 1432), speedup=0.955)
    base = replace(row("eager-static", 4.2, 4.1, split(0.72, 2.98, 0.2, 0.1, 0.2), 1431), current=False)
    assert said(snapshot(slow, base)) == (
        "graph is slower here than eager-static: 4.40 against 4.20 ms a token, 0.95x; "
        "the GPU computes 0.22 ms longer."
    )
    assert said(snapshot(replace(slow, split=None), base)).endswith("ms a token, 0.95x.")


def test_eager_with_its_own_cache_is_no_failed_optimisation() -> None:
    assert "slower" not in said(snapshot(replace(row("eager", 24.0, 23.9), speedup=0.9)))


def test_a_difference_within_the_noise_is_not_called_slower() -> None:
    assert "slower" not in said(snapshot(replace(GRAPH, speedup=0.98)))


def test_new_cache_lengths_are_told_before_the_host_is_blamed() -> None:
    eager = replace(EAGER, name="eager", wall_ns=20 * MS)
    new = replace(
        snapshot(eager),
        at_new_length=True,
        rate=Rate(12.9, 77_800_000, 77_000_000, 80_000_000, 40),
        cpu_work=CpuWork(round(77.7 * MS), round(19.9 * MS), slow=True),
    )
    told = (
        "eager meets each cache length for the first time, and the host may have to plan for it: "
        "77.8 ms a token. The next round counts."
    )
    assert said(new) == told
    assert said(new, Contention("neighbour", cores=2.5)) != told


def test_a_host_that_has_become_slow_is_told_with_its_best_and_the_gpu_s_part() -> None:
    slow = replace(snapshot(EAGER), cpu_work=CpuWork(round(46.1 * MS), round(22.5 * MS), slow=True))
    assert said(slow) == (
        "The host is slow now: 46.1 ms of CPU time a token, 22.5 at best; the GPU computes 3.70 ms of it."
    )
    unsplit = replace(slow, modes=(replace(EAGER, split=None),))
    assert said(unsplit).endswith("22.5 at best.")
    # Whoever is known to hold it back goes first, and a wobble is no news.
    assert "slow now" not in said(slow, Contention("neighbour", cores=2.5))
    usual = replace(slow, cpu_work=CpuWork(round(24.9 * MS), round(22.5 * MS), slow=False))
    assert said(usual) == said(snapshot(EAGER))


# --- contention ----------------------------------------------------------------------

WAITING = replace(snapshot(EAGER), recent=RecentTokens(50, round(41.3 * MS), round(17.6 * MS)))
WAITS = "17.6 of each 41.3 ms token"


@pytest.mark.parametrize(
    ("contention", "expected"),
    [
        (
            Contention("neighbour", cores=2.5),
            f"Other programs use 2.5 cores: {WAITS} go to waiting for a CPU; decode is on core 3.",
        ),
        (
            Contention("own threads", cores=3.0),
            f"Our own other threads use 3.0 cores: {WAITS} go to waiting for a CPU.",
        ),
        (
            Contention("cpu wait"),
            f"The decode thread waits for a CPU in {WAITS}; who has it is not known.",
        ),
        (
            Contention("crowded", cores=15.4),
            "Other programs use 15.4 cores and leave hardly one free; "
            f"so far {WAITS} go to waiting for a CPU.",
        ),
        (
            Contention("steal"),
            f"The hypervisor gives 12 % of this machine to other guests: {WAITS} are waits.",
        ),
    ],
)
def test_while_somebody_contends_the_sentence_says_who_and_what_it_costs(
    contention: Contention, expected: str
) -> None:
    cpu = CpuSample(0, (5.0, 5.0, 5.0, 97.0), steal_pct=12.0, decode_core=3)
    assert said(replace(WAITING, cpu=cpu), contention) == expected


@pytest.mark.parametrize(
    ("contention", "expected"),
    [
        (Contention("neighbour", cores=2.5), "Other programs use 2.5 cores; decode is on core 3."),
        (Contention("neighbour"), "Other programs have the CPU; decode is on core 3."),
        (Contention("own threads", cores=3.0), "Our own other threads use 3.0 cores."),
        (
            Contention("cpu wait"),
            "The decode thread waits for a CPU in part of each {token} ms token; who has it is not known.",
        ),
        (Contention("crowded", cores=15.4), "Other programs use 15.4 cores and leave hardly one free."),
        (Contention("steal"), "The hypervisor gives 12 % of this machine to other guests."),
    ],
)
def test_a_run_delay_that_was_not_read_is_not_told_as_nothing(contention: Contention, expected: str) -> None:
    cpu = CpuSample(0, (5.0, 5.0, 5.0, 97.0), steal_pct=12.0, decode_core=3)
    unread = replace(WAITING, cpu=cpu, recent=RecentTokens(50, 24 * MS, None))
    assert said(unread, contention) == expected.format(token="24.0")
    assert said(replace(unread, recent=None), contention) == expected.format(token="22.9")


@pytest.mark.parametrize("stage", ["decoding", "profiling"])
def test_when_tokens_stop_coming_it_says_since_when_and_what_stands_beside(stage: Stage) -> None:
    silent = replace(snapshot(EAGER, stage=stage), halted=True, newest_ns=4_000 * MS)
    assert said(silent) == "No token for 6 s."
    crowded = Contention("crowded", cores=15.4, usable_cores=16)
    assert said(silent, crowded) == "No token for 6 s; others use 15.4 of 16 cores."
    assert said(replace(silent, newest_ns=None)) == "No token for 3 s."


def test_after_a_comparison_the_first_token_is_given_time_before_it_is_missed() -> None:
    back = replace(snapshot(EAGER), halted=True, newest_ns=0)
    soon = replace(back, stage=replace(back.stage, since_ns=back.t_ns - 1_900 * MS))
    assert said(soon) == "Decoding goes on."
    late = replace(back, stage=replace(back.stage, since_ns=back.t_ns - 2_100 * MS))
    assert said(late) == "No token for 10 s."


def test_after_the_end_the_verdict_stands_whoever_contends() -> None:
    ended = replace(snapshot(EAGER, stage="stopped"), halted=True)
    assert said(ended, Contention("crowded", cores=15.4)) == said(snapshot(EAGER))


def test_contention_is_told_beside_a_stage_too() -> None:
    crowded = Contention("crowded", cores=15.4, usable_cores=16)
    comparing = snapshot(COMPILED, stage="compiling")
    assert said(comparing, crowded) == "Compiling kernels: 3 s so far; others use 15.4 of 16 cores."
    paused = said(replace(comparing, paused=True), crowded)
    assert paused.endswith("nothing limits it; others use 15.4 of 16 cores.")


def test_without_contention_no_run_delay_is_told() -> None:
    assert said(WAITING) == said(snapshot(EAGER))


def test_a_quota_tells_how_often_and_for_how_long_it_stopped_us() -> None:
    quota = CgroupSample(0, quota_cores=2.0, throttled=3, throttled_ns=62 * MS, interval_ns=200 * MS)
    assert said(replace(WAITING, cgroup=quota), Contention("quota")) == (
        "The CPU quota of 2 cores stopped this process 3 times in the last 0.2 s, for 62.0 ms in all."
    )
    uncounted = CgroupSample(0, throttled_ns=62 * MS, interval_ns=200 * MS)
    assert said(replace(WAITING, cgroup=uncounted), Contention("quota")) == (
        "The CPU quota stopped this process in the last 0.2 s, for 62.0 ms in all."
    )


# --- for every snapshot ----------------------------------------------------------------

TIME = st.integers(0, 10**12)
SPLITS = st.builds(Split, st.none() | TIME, TIME, TIME, TIME, TIME)
ROWS = st.builds(
    lambda spec, wall, dispatch, parts, kernels, speedup: replace(
        row(spec.name, 0, 0, parts, kernels),
        wall_ns=wall,
        dispatch_ns=dispatch,
        speedup=speedup,
    ),
    st.sampled_from(MODES),
    st.none() | TIME,
    st.none() | TIME,
    st.none() | SPLITS,
    st.integers(0, 10**5),
    st.none() | st.floats(0.01, 100),
)
PERCENT = st.none() | st.floats(0, 10**4)
CPUS = st.builds(
    lambda engine_pct, others, core: CpuSample(0, (), engine_pct, 1.0, others, decode_core=core),
    PERCENT,
    PERCENT,
    st.none() | st.integers(0, 255),
)


@given(
    st.lists(ROWS, max_size=2),
    st.sampled_from(get_args(Stage)),
    st.none() | CPUS,
    st.none() | st.builds(CgroupSample, st.just(0), PERCENT, st.integers(0, 9), TIME, interval_ns=TIME),
    st.sampled_from(["cpu", "cuda:0"]),
    st.booleans(),
    st.none() | st.builds(RecentTokens, st.integers(1, 9), TIME, st.none() | TIME),
    st.none()
    | st.builds(Contention, st.sampled_from(get_args(Pressure)), st.floats(0, 1), st.floats(0, 10**4)),
    st.booleans(),
)
def test_every_sentence_is_short_ends_with_a_full_stop_and_carries_a_number(
    rows: list[ModeView],
    stage: Stage,
    cpu: CpuSample | None,
    cgroup: CgroupSample | None,
    device: str,
    paused: bool,
    recent: RecentTokens | None,
    contention: Contention | None,
    halted: bool,
) -> None:
    shown = snapshot(*rows, stage=stage, device=device)
    shown = replace(shown, cpu=cpu, cgroup=cgroup, paused=paused, recent=recent, halted=halted)
    sentence = said(shown, contention)
    assert len(sentence) <= LONGEST
    assert sentence.endswith(".")
    assert not sentence.endswith("..")
    assert re.search(r"\d", sentence) or sentence == "The engine has stopped."
    assert "None" not in sentence
    assert "\n" not in sentence
