"""The newest event of each kind that tells of the machine, whatever engine runs on it."""

from dataclasses import dataclass

from idlegap.core.protocol.events import (
    AnyEvent,
    CgroupSample,
    CpuSample,
    GpuInfo,
    GpuSample,
    HostInfo,
    MonitorSample,
)


@dataclass(slots=True)
class Latest:
    """None where nothing was heard yet."""

    host: HostInfo | None = None
    cpu: CpuSample | None = None
    cgroup: CgroupSample | None = None
    gpu_info: GpuInfo | None = None
    gpu: GpuSample | None = None
    monitor: MonitorSample | None = None

    def take(self, event: AnyEvent) -> None:
        """Keep `event` if it is of one of these kinds."""
        match event:
            case HostInfo():
                self.host = event
            case CpuSample():
                self.cpu = event
            case CgroupSample():
                self.cgroup = event
            case GpuInfo():
                self.gpu_info = event
            case GpuSample():
                self.gpu = event
            case MonitorSample():
                self.monitor = event
            case _:
                pass
