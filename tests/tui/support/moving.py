"""A session that moves: the strip grows, medians wobble, sensors speak, commands have effect."""

import random
from dataclasses import replace

import msgspec

from idlegap.core.protocol.commands import AnyCommand, SetMode, SetPaused
from idlegap.core.protocol.events import CpuSample, MonitorSample
from idlegap.core.protocol.modes import ModeName
from idlegap.core.session.snapshot import STRIP_BUCKET_NS, Snapshot, Strip, StripColumn, StripMark
from tests.tui.support.fake_session import FakeSession
from tests.tui.support.scenes import (
    BOUND_NS,
    CPU,
    GPU_EAGER,
    GPU_GRAPH,
    MS,
    busy_ns,
    eager_and_graph,
    mode_views,
    rate,
    wall_ns,
)

SECOND_BUCKETS = 4


class MovingSession(FakeSession):
    """A feed whose picture follows the clock, four changes a second as in real life."""

    def __init__(self) -> None:
        super().__init__(self.moving)
        self.mode: ModeName = "eager-static"
        self.paused = False
        self.monitor: MonitorSample | None = None
        self._first: int | None = None
        self._columns: list[StripColumn] = []
        self._marks: list[StripMark] = []
        self._last = 0
        self._scene = eager_and_graph()

    def note_frame(self, sample: MonitorSample) -> None:
        self.monitor = sample

    def send(self, command: AnyCommand) -> None:
        super().send(command)
        if isinstance(command, SetMode):
            self.mode = command.mode
            self._marks.append(StripMark(self._last, command.mode))
        if isinstance(command, SetPaused):
            self.paused = command.paused

    def moving(self, now_ns: int) -> Snapshot:
        """The picture at `now_ns`."""
        bucket = now_ns // STRIP_BUCKET_NS
        self._grow(bucket)
        draw = random.Random(bucket)
        wobble = draw.uniform(0.97, 1.03)
        scene = self._scene
        return replace(
            scene,
            t_ns=now_ns,
            stage=replace(scene.stage, since_ns=now_ns - 1000 * MS),
            mode=self.mode,
            modes=mode_views(("eager", "eager-static", "graph"), self.mode, slowness=wobble),
            rate=rate(self.mode, wobble),
            strip=Strip(bucket, tuple(self._columns), tuple(self._marks), busy_ns(self.mode), BOUND_NS),
            cpu=self._cpu(draw, now_ns),
            cgroup=msgspec.structs.replace(scene.cgroup, t_ns=now_ns),
            gpu=msgspec.structs.replace(GPU_GRAPH if self.mode == "graph" else GPU_EAGER, t_ns=now_ns),
            monitor=self.monitor,
            paused=self.paused,
        )

    def _grow(self, bucket: int) -> None:
        self._first = self._first or bucket - 60
        for b in range(max(self._last, self._first), bucket):
            draw = random.Random(b)
            took_ns = wall_ns(self.mode, draw.uniform(0.95, 1.05))
            self._columns.append(
                StripColumn(b, self.mode, took_ns, round(took_ns * draw.uniform(1, 1.2)), 11)
            )
        self._last = bucket

    def _cpu(self, draw: random.Random, now_ns: int) -> CpuSample:
        pct = tuple(min(100.0, max(0.0, p + draw.uniform(-6, 12))) for p in CPU.core_pct)
        return CpuSample(
            now_ns,
            core_pct=pct,
            others_pct=draw.uniform(5, 40),
            steal_pct=draw.choice((0.0, 0.0, 0.1)),
            decode_core=3,
            core_mhz=3800.0,
            load_1m=1.4,
        )
