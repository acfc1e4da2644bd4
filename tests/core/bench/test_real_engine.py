"""A whole benchmark with the real engine, in a process of its own, on the CPU."""

from collections import deque
from pathlib import Path

import pytest

from idlegap.core.bench.driver import Driver
from idlegap.core.bench.plan import BenchPlan, arms_for, engine_settings
from idlegap.core.bench.runner import Bench
from idlegap.core.protocol.events import SensorEvent
from idlegap.core.protocol.reasons import because
from idlegap.core.protocol.settings import Settings
from idlegap.core.results.store import BENCH, read, write
from idlegap.core.sensors.sampler import Sampler
from idlegap.core.sources.engine_log import EngineLog
from idlegap.core.sources.engine_process import EngineProcess
from idlegap.tui.tables.bench import bench_text


@pytest.mark.needs_torch
def test_a_real_engine_is_measured_written_and_read_again(tmp_path: Path) -> None:
    settings = Settings(model="synthetic:tiny", device="cpu", prompt_tokens=8, new_tokens=12)
    heard: deque[SensorEvent] = deque()
    driver = Driver(
        EngineProcess(engine_settings(settings), EngineLog(tmp_path / "engine.log")),
        sensors=Sampler(heard.append, nvml_enabled=False),
        sensor_events=heard,
    )
    plan = BenchPlan(arms_for(["eager-static", "eager", "graph"]), runs=3, probe=True)
    outcome = Bench(driver, plan).run()
    driver.close()
    result = outcome.result
    assert result is not None
    assert result.complete
    assert outcome.failed is None
    static, eager, graph = result.arms
    assert graph.refused == because("needs-cuda")
    for arm in (static, eager):
        assert [run.turn for run in arm.runs] == [0, 1, 2, 3]
        assert all(run.complete and len(run.tokens.wall_ns) == 12 for run in arm.runs)
        assert arm.verified is not None
        assert arm.verified.agree == arm.verified.steps == 12
    assert result.engine.model == "synthetic:tiny"
    assert result.host is not None
    assert result.probe is not None
    assert result.probe.missing["launch_ns"] == because("needs-cuda")
    write(tmp_path / "a.json", BENCH, result)
    assert read(tmp_path / "a.json") == result
    text = bench_text(result)
    assert "graph  not run: needs CUDA" in text
    assert "No GPU took part" in text
