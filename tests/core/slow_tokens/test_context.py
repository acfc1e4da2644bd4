"""Joining tokens with the samples around them."""

import pytest

from idlegap.core.protocol.events import (
    CgroupSample,
    CpuSample,
    GpuSample,
    MonitorSample,
    ProfileWindow,
    Token,
)
from idlegap.core.slow_tokens.context import Context, covering

MS = 1_000_000
TOKEN = Token(1000 * MS, 1020 * MS, 1021 * MS)


def cpu(t_ms: int) -> CpuSample:
    return CpuSample(t_ms * MS, ())


@pytest.mark.parametrize(
    ("times", "chosen"),
    [
        ((800, 1000, 1200, 1400), 1200),  # the interval that ends after the token covers it
        ((800, 1021), 1021),
        ((800, 1000), 1000),  # nothing later yet: the last one before
        ((2521,), 2521),
        ((2522,), None),  # stale
        ((), None),
    ],
)
def test_the_cpu_sample_of_a_token_is_the_one_whose_interval_holds_its_end(
    times: tuple[int, ...], chosen: int | None
) -> None:
    at = covering([cpu(t) for t in times], TOKEN)
    assert (None if at is None else times[at]) == chosen


def test_throttling_counts_in_every_sample_that_the_token_overlaps() -> None:
    def sample(t_ms: int, throttled_ms: int | None) -> CgroupSample:
        throttled_ns = None if throttled_ms is None else throttled_ms * MS
        return CgroupSample(t_ms * MS, throttled_ns=throttled_ns, interval_ns=100 * MS)

    around = Context(
        cgroup=[sample(1000, 1), sample(1010, 2), sample(1100, 4), sample(1121, 8), sample(1050, None)]
    )
    assert around.throttled_ns(TOKEN) == (2 + 4) * MS


def gpu(t_ms: int, reasons: int | None = 0, mhz: int | None = 1980, call_ms: int = 0) -> GpuSample:
    return GpuSample(t_ms * MS, event_reasons=reasons, sm_mhz=mhz, call_ns=call_ms * MS)


def calm(count: int = 6) -> list[GpuSample]:
    return [gpu(1100 + 200 * i) for i in range(1, count)]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([gpu(1100, 0x4), *calm()], "software power cap"),
        ([gpu(1100, 0x60), *calm()], "software thermal slowdown, hardware thermal slowdown"),
        ([gpu(1100, mhz=1410), *calm()], "SM clock 1,410 instead of 1,980 MHz"),
        ([gpu(1100, 0x8), *calm()], ""),  # a flash of hardware slowdown
        ([gpu(1100, 0x8), gpu(1200, 0x8), *calm()], "hardware slowdown"),
        ([gpu(1100, 0x1 | 0x2 | 0x10), *calm()], ""),  # states, not limits
        ([gpu(1100 + 200 * i, 0x4) for i in range(6)], ""),  # always set: explains no difference
        ([gpu(1100, 0x4), *calm(3)], ""),  # too few to know what is usual
        ([gpu(1100, None, None), *calm()], ""),
        ([], ""),
    ],
)
def test_only_an_unusual_clock_or_reason_counts(samples: list[GpuSample], expected: str) -> None:
    assert Context(gpu=samples).gpu_slowed(TOKEN) == expected


def test_our_own_probes_count_for_their_overlap_and_the_longest_is_named() -> None:
    window = ProfileWindow(1003 * MS, "graph", steps=4, accepted=True, pause_ns=900 * MS)
    around = Context(gpu=[gpu(1012, call_ms=2), gpu(1500, call_ms=100)], profiles=[window])
    assert around.probe(TOKEN) == (5 * MS, "a profile window of 900 ms")
    assert Context().probe(TOKEN) == (0, "")


def test_overlaps_never_exceed_the_token() -> None:
    around = Context(gpu=[gpu(1100, call_ms=500), gpu(1200, call_ms=500)])
    assert around.probe(TOKEN)[0] == TOKEN.wall_ns


def test_a_frame_overlaps_up_to_the_time_of_its_report() -> None:
    around = Context(frames=[MonitorSample(1004 * MS, 1.0, 9 * MS, None, 4.0)])
    assert around.frame(TOKEN) == (4 * MS, "a frame of 9.00 ms")


# --- who used the CPU -----------------------------------------------------------------


def load(
    t_ms: int, engine: float | None, others: float | None, monitor: float | None = 0.0, steal: float = 0.0
) -> CpuSample:
    return CpuSample(t_ms * MS, (80.0, 20.0), engine, monitor, others, steal_pct=steal, decode_core=0)


def used(*samples: CpuSample, tokens: list[Token] | None = None) -> tuple[int, int, int, int] | None:
    """Own, others', stolen time and the window, in ms."""
    found = Context(cpu=samples, tokens=tokens or []).cpu_users(TOKEN)
    if found is None:
        return None
    return tuple(round(ns / MS) for ns in (found.own_ns, found.others_ns, found.stolen_ns, found.window_ns))


def test_the_time_of_others_is_that_of_all_samples_that_the_token_overlaps() -> None:
    """The token runs from 1,000 to 1,021 ms."""
    samples = load(760, 900, 900), load(990, 900, 900), load(1010, 100, 50), load(1210, 100, 25)
    assert used(*samples) == (0, 10 + 50, 0, 220)
    assert used(*samples[:3]) == (0, 10, 0, 20)  # the next one has not come yet


def test_our_own_other_threads_are_the_engines_beyond_the_decode_thread_and_the_monitor() -> None:
    """Within 200 ms the engine used 240, of which the decode thread at most 200."""
    samples = load(1000, 0, 0), load(1200, 120, 0, monitor=5)
    assert used(*samples) == (40 + 10, 0, 0, 200)
    halved = [Token(1000 * MS + i * 40 * MS, 0, 1040 * MS + i * 40 * MS, cpu_ns=10 * MS) for i in range(2)]
    assert used(*samples, tokens=halved) == (40 + 60 + 10, 0, 0, 200)
    straddling = [
        Token(960 * MS, 0, 1040 * MS, cpu_ns=20 * MS),
        Token(1160 * MS, 0, 1240 * MS, cpu_ns=40 * MS),
    ]
    assert used(*samples, tokens=straddling) == (40 + 30 + 20 + 10, 0, 0, 200)
    unknown = [Token(1000 * MS, 0, 1200 * MS)]
    assert used(*samples, tokens=unknown) == (40 + 10, 0, 0, 200)


def test_stolen_time_is_that_of_all_cores() -> None:
    assert used(load(1000, 0, 0), load(1200, 0, 0, steal=10)) == (0, 0, 40, 200)


@pytest.mark.parametrize(
    "samples",
    [
        (),
        (load(1200, 100, 0),),  # no earlier one: its interval is not known
        (load(1000, 0, 0), load(1200, None, 0)),
        (load(1000, 0, 0), load(1200, 0, None)),
        (load(1000 - 1400, 0, 0), load(1200, 100, 0)),  # the sensors were away for too long
    ],
)
def test_without_whole_samples_nobody_is_known(samples: tuple[CpuSample, ...]) -> None:
    assert used(*samples) is None


def test_the_decode_core_is_that_of_the_sample_which_holds_the_tokens_end() -> None:
    found = Context(cpu=[load(1000, 0, 0), load(1200, 50, 100)]).cpu_users(TOKEN)
    assert found is not None
    assert (found.core, found.core_pct, found.others_cores, found.own_cores) == (0, 80.0, 1.0, 0.0)
    bare = CpuSample(1200 * MS, (), 50.0, 0.0, 100.0, decode_core=3)
    found = Context(cpu=[load(1000, 0, 0), bare]).cpu_users(TOKEN)
    assert found is not None
    assert (found.core, found.core_pct) == (3, None)
