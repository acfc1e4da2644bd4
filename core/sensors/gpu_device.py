"""Which NVML device the engine decodes on, and what NVML says about it once.

Devices are matched by UUID alone: NVML's index is not CUDA's, and may change at a reboot.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

from idlegap.core.protocol.events import GpuInfo
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.sensors.nvml import INVALID_ARGUMENT, NOT_FOUND, Nvml, NvmlCalls, NvmlError
from idlegap.core.sensors.reading import ReadingError


@dataclass(frozen=True, slots=True)
class GpuDevice:
    """A GPU or a MIG instance (`mig_instance`). `board` is the handle of the whole GPU, which alone has
    clocks, power and temperature. `uuid` is as NVML writes it, with its prefix."""

    handle: object
    board: object
    mig_instance: int | None
    uuid: str

    def is_called(self, uuid: str) -> bool:
        """Whether `uuid`, with or without prefix, names this device."""
        return bare_uuid(self.uuid) == bare_uuid(uuid)


def bare_uuid(uuid: str) -> str:
    """A UUID without NVML's ``GPU-`` or ``MIG-``, which torch leaves out."""
    return uuid.strip().lower().removeprefix("gpu-").removeprefix("mig-")


def find_device(calls: NvmlCalls, uuid: str | None) -> GpuDevice:
    """The device called `uuid`; without a name the only one that there is. Raises ReadingError
    where there is no such device, several and no name, or NVML fails."""
    if uuid is not None:
        return _by_uuid(calls, bare_uuid(uuid))
    count = calls("device count", lambda nvml: nvml.nvmlDeviceGetCount())
    if count == 0:
        raise ReadingError(because("no-gpu"), for_good=True)
    if count > 1:
        raise ReadingError(because("gpu-unnamed", count=count))
    return _device(calls, calls("device handle", lambda nvml: nvml.nvmlDeviceGetHandleByIndex(0)))


def describe(calls: NvmlCalls, device: GpuDevice, now_ns: int) -> GpuInfo:
    """Ask once for everything that does not change; what is not told stands in `missing`."""
    handle, board, mig = device.handle, device.board, device.mig_instance is not None
    questions: dict[str, Callable[[Nvml], Any]] = {
        "name": lambda n: text(n.nvmlDeviceGetName(handle)),
        "driver": lambda n: text(n.nvmlSystemGetDriverVersion()),
        "memory_bytes": lambda n: int(n.nvmlDeviceGetMemoryInfo(handle, n.nvmlMemory_v2).total),
        "bus_width_bits": lambda n: n.nvmlDeviceGetMemoryBusWidth(handle),
        "max_memory_mhz": lambda n: n.nvmlDeviceGetMaxClockInfo(board, n.NVML_CLOCK_MEM),
        "max_sm_mhz": lambda n: n.nvmlDeviceGetMaxClockInfo(board, n.NVML_CLOCK_SM),
        "power_limit_mw": lambda n: n.nvmlDeviceGetEnforcedPowerLimit(board),
        # The link slows down when idle but keeps its lanes: the highest generation and the
        # current width tell what the slot gives.
        "pcie_generation": lambda n: n.nvmlDeviceGetMaxPcieLinkGeneration(board),
        "pcie_width": lambda n: n.nvmlDeviceGetCurrPcieLinkWidth(board),
        "ecc": lambda n: bool(n.nvmlDeviceGetCurrentEccMode(board)),
    }
    values: dict[str, Any] = dict.fromkeys(questions)
    missing: dict[str, Reason] = {}
    for field, question in questions.items():
        if mig and field == "bus_width_bits":
            missing[field] = because("mig-whole-gpu")
            continue
        try:
            value = calls(field, question)
        except ReadingError as error:
            missing[field] = because("mig", error.reason) if mig else error.reason
            continue
        if type(value) is int and value == 0:
            missing[field] = because("nvml-zero")
        else:
            values[field] = value
    return GpuInfo(t_ns=now_ns, uuid=device.uuid, missing=missing, **values)


def text(value: str | bytes) -> str:
    """NVML's strings; bindings before 11.5 gave bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _by_uuid(calls: NvmlCalls, bare: str) -> GpuDevice:
    for prefix in ("GPU-", "MIG-"):
        try:
            handle = calls("device handle", methodcaller("nvmlDeviceGetHandleByUUID", prefix + bare))
        except NvmlError as error:
            if error.code in {NOT_FOUND, INVALID_ARGUMENT}:
                continue
            raise
        device = _device(calls, handle)
        if device.is_called(bare):
            return device
    raise ReadingError(because("gpu-unknown", uuid=bare), for_good=True)


def _device(calls: NvmlCalls, handle: object) -> GpuDevice:
    uuid = text(calls("uuid", lambda nvml: nvml.nvmlDeviceGetUUID(handle)))
    try:
        if not calls("MIG", lambda nvml: nvml.nvmlDeviceIsMigDeviceHandle(handle)):
            return GpuDevice(handle, handle, None, uuid)
        instance = calls("MIG", lambda nvml: nvml.nvmlDeviceGetGpuInstanceId(handle))
    except ReadingError:
        return GpuDevice(handle, handle, None, uuid)
    try:
        board = calls("MIG", lambda nvml: nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle))
    except ReadingError:
        # A tenant may not be allowed to see the whole GPU; then each reading says so itself.
        board = handle
    return GpuDevice(handle, board, instance, uuid)
