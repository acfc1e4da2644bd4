"""The card: each line's grade at its thresholds, the verdict, and the text."""

from collections.abc import Callable

import msgspec
import pytest

from idlegap.core.bench.runner import Bench
from idlegap.core.bench.schema import BenchResult, Conditions
from idlegap.core.bench.summary import summarise
from idlegap.core.check.card import Card, CardLine
from idlegap.core.check.check import CHECK_NEW_TOKENS, CHECK_SECONDS, check_plan, judge
from idlegap.core.check.host_lines import P99_TOKENS, WATCHED_S
from idlegap.core.check.predictions import predict
from idlegap.core.protocol.events import Bandwidth, DispatchProbe, GpuInfo, HostInfo
from idlegap.tui.tables.check import card_text, check_text
from tests.core.bench.fake_engine import READY, Cost, FakeEngine, drive, replace_struct
from tests.core.bench.results import GPU, HOST, MS, arm, bench, columns, run, window

QUIET = Conditions(
    others_cores=0.4,
    steal_pct=0.1,
    throttled_ns=0,
    pressure=0.02,
    sm_mhz=(1965, 1980, 1980),
    event_reasons=0x1,
)
PROBE = DispatchProbe(0, 2_600, 8_400, launches=256)


def machine(seen: Conditions = QUIET, **changes: object) -> BenchResult:
    """A sound machine, but for what is changed."""
    eager = arm("eager-static", [12.0] * 3)
    runs = tuple(
        run(turn, columns([12.0] * 20, 11.9, delays_ms=[0.0] * 20), conditions=seen) for turn in range(4)
    )
    return bench(
        msgspec.structs.replace(eager, runs=runs),
        arm("graph"),
        **{"probe": PROBE, "idle_gpu_pct": 0.0, "idle_gpu_bytes": 500_000_000, **changes},
    )


def line(result: BenchResult, name: str) -> CardLine:
    (found,) = [entry for entry in judge(result).card.lines if entry.name == name]
    return found


def seen(**changes: object) -> BenchResult:
    return machine(msgspec.structs.replace(QUIET, **changes))


def gpu(**changes: object) -> GpuInfo:
    return msgspec.structs.replace(GPU, **changes)


def host(**changes: object) -> HostInfo:
    return msgspec.structs.replace(HOST, **changes)


def dispatch(us: float) -> BenchResult:
    """A machine on which each of 1,000 kernels takes `us` to dispatch."""
    wall = us + 0.1
    runs = tuple(run(turn, columns([wall] * 10, us)) for turn in range(4))
    eager = arm("eager-static", runs=runs, windows=(window("eager-static", kernels=1000),))
    return bench(eager, arm("graph"), probe=PROBE)


def copying(share: float) -> BenchResult:
    spec = GPU.spec_bytes_per_s
    assert spec is not None
    return machine(bandwidth=Bandwidth(0, share * spec, None))


def waiting(share: float) -> BenchResult:
    made = machine()
    runs = tuple(run(turn, columns([10.0] * 20, delays_ms=[10 * share] * 20)) for turn in range(4))
    return msgspec.structs.replace(made, arms=(arm("eager-static", runs=runs), arm("graph")))


def computing(*cpus_ms: float, busy_ms: float | None = 3.6) -> BenchResult:
    """A machine on which the token of each run took this CPU time, and some waiting."""
    runs = tuple(
        run(turn, replace_struct(columns([cpu + 0.5] * 40), cpu_ns=(round(cpu * MS),) * 40))
        for turn, cpu in enumerate([cpus_ms[0], *cpus_ms])
    )
    windows = () if busy_ms is None else (window("eager-static", busy_ns=round(busy_ms * MS)),)
    return bench(arm("eager-static", runs=runs, windows=windows), arm("graph"), probe=PROBE)


GRADES: list[tuple[str, BenchResult, str]] = [
    ("memory bandwidth", copying(0.89), "good"),
    ("memory bandwidth", copying(0.80), "warn"),
    ("memory bandwidth", copying(0.60), "bad"),
    ("PCIe link", machine(), "good"),
    ("PCIe link", machine(gpu=gpu(pcie_width=4)), "warn"),
    ("PCIe link", machine(gpu=gpu(pcie_generation=1)), "warn"),
    ("SM clock in use", machine(), "good"),
    ("SM clock in use", seen(sm_mhz=(1600, 1600, 1600)), "warn"),
    ("SM clock in use", seen(sm_mhz=(900, 900, 900)), "bad"),
    ("SM clock in use", seen(event_reasons=0x4), "warn"),
    ("SM clock in use", seen(event_reasons=0x40), "bad"),
    ("GPU before the start", machine(), "good"),
    ("GPU before the start", machine(idle_gpu_bytes=30_000_000_000), "warn"),
    ("GPU before the start", machine(idle_gpu_pct=40.0), "bad"),
    ("dispatch per kernel", dispatch(9.9), "good"),
    ("dispatch per kernel", dispatch(15.0), "warn"),
    ("dispatch per kernel", dispatch(25.0), "bad"),
    ("GPU idle in eager", dispatch(5.0), "good"),
    ("GPU idle in eager", dispatch(25.0), "warn"),
    ("empty kernel", machine(), "good"),
    ("empty kernel", machine(probe=DispatchProbe(0, 7_000, 8_000)), "warn"),
    ("empty kernel", machine(probe=DispatchProbe(0, 3_000, 30_000)), "bad"),
    ("usable cores", machine(), "good"),
    ("usable cores", machine(host=host(usable_cores=2.0)), "warn"),
    ("usable cores", machine(host=host(usable_cores=1.0)), "bad"),
    ("CPU quota", machine(), "good"),
    ("CPU quota", seen(throttled_ns=100_000), "warn"),
    ("CPU quota", seen(throttled_ns=400 * MS), "bad"),
    ("waiting for a CPU", waiting(0.01), "good"),
    ("waiting for a CPU", waiting(0.15), "warn"),
    ("waiting for a CPU", waiting(0.40), "bad"),
    ("steady host", computing(23.0, 28.0, 23.5), "good"),
    ("steady host", computing(23.2, 40.3, 25.0, 23.9), "warn"),
    ("steady host", computing(20.0, 21.0, 94.0), "bad"),
    ("load by others", machine(), "good"),
    ("load by others", seen(others_cores=8.0), "warn"),
    ("load by others", seen(others_cores=14.0), "bad"),
    ("stolen time", machine(), "good"),
    ("stolen time", seen(steal_pct=3.0), "warn"),
    ("stolen time", seen(steal_pct=9.0), "bad"),
    ("CPU pressure", machine(), "good"),
    ("CPU pressure", seen(pressure=0.3), "warn"),
    ("CPU pressure", seen(pressure=0.7), "bad"),
]


@pytest.mark.parametrize(("name", "result", "grade"), GRADES, ids=[f"{n}-{g}" for n, _, g in GRADES])
def test_each_reading_is_graded_at_its_thresholds_and_gives_their_reason(
    name: str, result: BenchResult, grade: str
) -> None:
    found = line(result, name)
    assert found.grade == grade
    assert "good" in found.threshold
    assert ": " in found.threshold


def test_a_sound_machine_is_good_and_one_bad_line_makes_it_not_good() -> None:
    assert judge(machine()).card.verdict == "good"
    assert judge(seen(steal_pct=9.0)).card.verdict == "not good"
    assert judge(seen(steal_pct=3.0)).card.verdict == "good"


def test_warnings_are_counted() -> None:
    card = judge(seen(steal_pct=3.0, pressure=0.3)).card
    assert card.count("bad") == 0
    assert card.count("warn") == 2 + judge(machine()).card.count("warn")


@pytest.mark.parametrize(
    ("result", "name", "reason"),
    [
        (machine(bandwidth=None), "memory bandwidth", "not measured"),
        (machine(gpu=None), "PCIe link", "no NVML reading"),
        (machine(gpu=gpu(pcie_width=None, missing={"pcie_width": "MIG"})), "PCIe link", "MIG"),
        (machine(idle_gpu_pct=None, idle_gpu_bytes=None), "GPU before the start", "NVML gave no reading"),
        (machine(probe=None), "empty kernel", "not measured"),
        (machine(host=None), "usable cores", "no reading of the host"),
        (machine(Conditions(missing={"steal_pct": "gVisor keeps no CPU times"})), "stolen time", "gVisor"),
        (machine(Conditions(missing={"pressure": "no PSI here"})), "CPU pressure", "no PSI here"),
        (bench(), "waiting for a CPU", "no counted token"),
        (computing(23.0, 40.0), "steady host", "needs 3 runs of eager-static"),
        (machine(), "steady host", "needs 3 runs of eager-static"),
        (computing(63.0, 94.0, 94.0, busy_ms=62.8), "steady host", "the GPU works for most of a token"),
        (computing(23.0, 40.0, 40.0, busy_ms=None), "steady host", "needs a profile window"),
        (machine(engine=replace_struct(READY, device="cpu")), "steady host", "the CPU computes"),
        (bench(arm("eager-static", windows=())), "dispatch per kernel", "no profile window was taken"),
        (bench(arm("graph")), "eager decode", "not measured"),
    ],
)
def test_what_was_not_read_is_neither_good_nor_bad(result: BenchResult, name: str, reason: str) -> None:
    found = line(result, name)
    assert found.grade == "n/a"
    assert reason in found.value


def test_rate_and_mean_belong_together_and_the_median_is_called_one() -> None:
    walls = [10.0] * 9 + [110.0]
    runs = tuple(run(turn, columns(walls, delays_ms=[0.0] * 9 + [11.0])) for turn in range(4))
    found = machine(arms=(arm("eager-static", runs=runs), arm("graph")))
    assert line(found, "eager decode").value.startswith("median 10.0 ms, mean 20.0 ms: 50.0 tok/s, ")
    assert "of the median token" in line(found, "GPU idle in eager").value
    assert "in the median token" in line(found, "dispatch per kernel").value
    assert "predicted ms, median token" in text_of(found)


def test_the_slowest_wait_and_the_largest_share_need_not_be_the_same_token() -> None:
    """A wait of 5 ms in a token of 100, and one of 4 ms in a token of 5."""
    walls, delays = [100.0, 5.0] * 50, [5.0, 4.0] * 50
    runs = tuple(run(turn, columns(walls, delays_ms=delays)) for turn in range(4))
    found = line(machine(arms=(arm("eager-static", runs=runs),)), "waiting for a CPU")
    assert found.value == "p99 5.00 ms a token; p99 of its share 80 %"


def test_without_a_specification_bandwidth_is_only_told() -> None:
    found = line(machine(gpu=None), "memory bandwidth")
    assert found.grade == "info"
    assert found.value == "4,272 GB/s copied; specification n/a: no NVML reading"


def test_a_quota_is_named_and_its_unknown_throttling_is_watched() -> None:
    limited = host(usable_cores=5.3)
    assert line(machine(host=limited), "CPU quota").value.startswith("5.3 cores, throttled for 0.00 ms")
    unread = machine(Conditions(missing={"throttled_ns": "no CPU controller"}), host=limited)
    assert line(unread, "CPU quota") == CardLine(
        "CPU quota", "5.3 cores; throttling n/a: no CPU controller", "warn"
    )


def test_on_the_cpu_there_is_nothing_to_judge() -> None:
    card = judge(machine(engine=replace_struct(READY, device="cpu"))).card
    assert card.verdict == "no GPU"
    assert card.lines[0].value == "none: the CPU decodes"
    assert not {"memory bandwidth", "empty kernel"} & {entry.name for entry in card.lines}


def text_of(result: BenchResult, beside: str = "") -> str:
    return card_text(judge(result).card, predict(summarise(result)), result, beside)


CARDS: list[Callable[[], BenchResult]] = [
    machine,
    lambda: machine(gpu=None, host=None, bandwidth=None, probe=None),
    lambda: machine(engine=replace_struct(READY, device="cpu", model="a/very-long-name-" * 6)),
    lambda: seen(event_reasons=0xFF, steal_pct=99.0),
    lambda: bench(arm("eager-static", runs=(), refused="needs CUDA")),
    lambda: machine(complete=False, reason="interrupted"),
]


@pytest.mark.parametrize("make", CARDS)
def test_every_card_fits_80_columns_and_begins_with_its_verdict(make: Callable[[], BenchResult]) -> None:
    result = make()
    text = text_of(result)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("idlegap check: ")
    assert text.isascii()
    assert ("INCOMPLETE: interrupted" in text) == (not result.complete)
    for entry in judge(result).card.lines:
        assert entry.name in text


def test_the_card_ends_with_the_predictions_their_model_and_its_error() -> None:
    text = text_of(machine())
    predictions_at = text.index("predicted ms, median token")
    assert predictions_at > text.index("CPU pressure")
    tail = " ".join(text[predictions_at:].split())
    assert "model: token = max(host submission, device) + what was measured beside them" in tail
    assert "error: graphs were measured at a median of 4.22 ms; the prediction, from the eager run" in tail
    alone = " ".join(text_of(bench(arm("eager-static"))).split())
    assert "error: unknown, no graph was measured here" in alone
    assert "cannot be predicted, eager-static was not measured" in text_of(bench(arm("graph")))


def test_the_whole_check_says_what_its_parts_say() -> None:
    quiet, disturbed = judge(machine()), judge(waiting(0.4))
    assert check_text(quiet) == text_of(machine())
    assert "CONTENDED: in 3 of 8 runs the decode thread waited for a CPU, 40 %" in check_text(disturbed)


def test_contention_is_said_at_the_head_of_the_card() -> None:
    assert text_of(machine(), "somebody else was here").splitlines()[1] == "CONTENDED: somebody else was here"


def test_a_check_takes_eager_and_graph_for_about_a_minute_and_probes() -> None:
    engine = FakeEngine()
    result = Bench(drive(engine), check_plan()).run().result
    assert result is not None
    assert [a.label for a in result.arms] == ["eager-static", "graph"]
    assert result.probe is not None
    assert len(result.arms[0].counted) >= 5
    assert engine.now_ns <= CHECK_SECONDS * 1e9 + 2e9
    assert judge(result).bench == result


def on_the_cpu(wall_ms: float, seconds: float = CHECK_SECONDS) -> tuple[BenchResult, FakeEngine]:
    """A check where a token takes the CPU so long, and the engine that it was taken with."""
    ready = replace_struct(READY, device="cpu", device_name="CPU", new_tokens=CHECK_NEW_TOKENS)
    cost = Cost(wall_ms, wall_ms, 0.0, prefill=5 * wall_ms)
    engine = FakeEngine({"eager-static": cost}, ready, copy_bytes_per_s=None)
    result = Bench(drive(engine), check_plan(seconds)).run().result
    assert result is not None
    return result, engine


@pytest.mark.parametrize(("wall_ms", "takes_s"), [(0.05, 5), (1.0, 5), (4.9, 6), (10.0, 11), (30.0, 33)])
def test_on_the_cpu_a_check_takes_what_its_figures_need_and_no_more(wall_ms: float, takes_s: float) -> None:
    result, engine = on_the_cpu(wall_ms)
    (eager,) = [a for a in result.arms if a.runs]
    tokens = sum(len(r.tokens.counted(r.tokens.wall_ns)) for r in eager.counted)
    assert tokens >= P99_TOKENS
    # Beside the counted runs: a warm-up, and for each run the round that its request cuts off.
    assert WATCHED_S <= engine.now_ns / 1e9 <= 1.3 * takes_s + 1.0
    found = line(result, "watched for")
    assert found.grade == "info"
    assert f" s, {tokens:,} tokens: without a GPU no figure here needs more than 1,000" in found.value
    assert float(found.value.split(" s, ")[0]) >= WATCHED_S


@pytest.mark.parametrize(("wall_ms", "seconds"), [(200.0, CHECK_SECONDS), (1.0, 2.0)])
def test_a_check_on_the_cpu_that_ran_out_of_time_says_that_it_saw_too_little(
    wall_ms: float, seconds: float
) -> None:
    result, engine = on_the_cpu(wall_ms, seconds)
    assert engine.now_ns / 1e9 <= seconds + 30 * wall_ms / 1e3
    found = line(result, "watched for")
    assert found.grade == "warn"
    assert found.value.endswith("too short, the host's lines need 1,000 tokens in 5 s")
    assert judge(result).card.verdict == "no GPU"


def test_how_long_it_was_watched_is_no_matter_with_a_gpu() -> None:
    assert "watched for" not in {entry.name for entry in judge(machine()).card.lines}
    nothing = bench(arm("eager-static", runs=()), engine=replace_struct(READY, device="cpu"))
    assert line(nothing, "watched for").value.startswith("0.0 s, 0 tokens: too short")


def test_a_card_counts_only_what_it_has() -> None:
    lines = (CardLine("a", "1", "good", "x: y"), CardLine("b", "2"))
    assert Card.of(lines, gpu=True) == Card("good", lines)
    assert Card.of(lines, gpu=False).verdict == "no GPU"
