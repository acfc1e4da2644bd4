"""What the sensors saw, summed up for one run."""

import pytest

from idlegap.core.bench.assemble import NEXT_SAMPLE_NS, conditions, idle_gpu
from idlegap.core.protocol.events import CgroupSample, CpuSample, GpuSample, SensorEvent
from idlegap.core.protocol.reasons import because
from idlegap.core.slow_tokens.samples import Samples

MS = 1_000_000


def samples(*events: SensorEvent) -> Samples:
    made = Samples(keep_all=True)
    for event in events:
        made.apply(event)
    return made


def cpu(t_ms: int, others: float | None, steal: float | None = 0.0, **missing: str) -> CpuSample:
    return CpuSample(t_ms * MS, (), others_pct=others, steal_pct=steal, missing=missing)


def gpu(t_ms: int, sm: int | None = 1980, reasons: int | None = 0, **changes: object) -> GpuSample:
    return GpuSample(t_ms * MS, sm_mhz=sm, event_reasons=reasons, **changes)  # type: ignore[arg-type]


def test_samples_within_the_run_are_summed_up_and_others_are_not() -> None:
    seen = samples(
        cpu(100, 999.0, 90.0),
        cpu(300, 100.0, 1.0),
        cpu(500, 300.0, 3.0),
        cpu(900, 999.0, 90.0),
        CgroupSample(100 * MS, throttled_ns=7, system_pressure_us=10**6, interval_ns=250 * MS),
        CgroupSample(400 * MS, throttled_ns=2 * MS, system_pressure_us=50_000, interval_ns=250 * MS),
        CgroupSample(500 * MS, throttled_ns=3 * MS, system_pressure_us=25_000, interval_ns=250 * MS),
        gpu(300, 1410, 0x4, util_pct=99.0, power_mw=200_000, temperature_c=40, memory_mhz=3201),
        gpu(400, 1980, 0x20, util_pct=97.0, power_mw=220_000, temperature_c=44, memory_mhz=3201),
        gpu(500, 1965, 0x4, util_pct=99.0, power_mw=210_000, temperature_c=43, memory_mhz=3201),
    )
    found = conditions(seen, 200 * MS, 600 * MS)
    assert found.others_cores == pytest.approx(2.0)
    assert found.steal_pct == pytest.approx(2.0)
    assert found.throttled_ns == 5 * MS
    assert found.pressure == pytest.approx(0.15)
    assert found.sm_mhz == (1410, 1965, 1980)
    assert found.event_reasons == 0x24
    assert (found.util_pct, found.power_mw, found.temperature_c, found.memory_mhz) == (99, 210_000, 44, 3201)
    assert found.missing == {}


@pytest.mark.parametrize(("flashes", "kept"), [(1, 0x4), (2, 0xC), (4, 0xC)])
def test_a_flash_of_hardware_slowdown_is_none(flashes: int, kept: int) -> None:
    flashing = [gpu(100 * n, reasons=0x4 | (0x8 if n < flashes else 0)) for n in range(4)]
    assert conditions(samples(*flashing), -MS, 900 * MS).event_reasons == kept


def test_a_run_shorter_than_the_sampling_gets_the_next_sample_if_it_comes_soon() -> None:
    seen = samples(cpu(100, 0.0), cpu(350, 200.0), cpu(600, 0.0))
    assert conditions(seen, 110 * MS, 120 * MS).others_cores == pytest.approx(2.0)
    late = samples(cpu(100, 100.0), cpu(121 + NEXT_SAMPLE_NS // MS, 100.0))
    found = conditions(late, 110 * MS, 120 * MS)
    assert found.others_cores is None
    assert found.missing["others_cores"] == because("no-sample-in-run")


def test_what_no_sample_could_read_has_the_sensors_own_reason() -> None:
    seen = samples(
        cpu(300, None, None, others_pct="gVisor keeps no CPU times", steal_pct="gVisor keeps no CPU times"),
        CgroupSample(300 * MS, interval_ns=250 * MS, missing={"system_pressure_us": because("no-psi")}),
        GpuSample(300 * MS, missing={"sm_mhz": because("mig")}),
    )
    found = conditions(seen, 200 * MS, 400 * MS)
    assert found.others_cores is None
    assert found.missing["others_cores"] == found.missing["steal_pct"] == "gVisor keeps no CPU times"
    assert found.missing["pressure"] == because("no-psi")
    assert found.missing["sm_mhz"] == because("mig")


def test_the_groups_own_pressure_comes_before_the_machines() -> None:
    sample = CgroupSample(
        300 * MS, cgroup_pressure_us=25_000, system_pressure_us=200_000, interval_ns=250 * MS
    )
    assert conditions(samples(sample), 0, 400 * MS).pressure == pytest.approx(0.1)


def test_what_others_do_with_the_gpu_is_read_before_the_engine_uses_it() -> None:
    seen = samples(
        gpu(100, util_pct=40.0, memory_used_bytes=500),
        gpu(200, util_pct=60.0, memory_used_bytes=500),
        gpu(300, util_pct=60.0, memory_used_bytes=3000),
        gpu(900, util_pct=99.0, memory_used_bytes=9000),
    )
    assert idle_gpu(seen, 500 * MS) == (60.0, 500)
    assert idle_gpu(samples(), 500 * MS) == (None, None)
