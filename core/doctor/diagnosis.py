"""From what was read to what can be measured: one finding for each reading and mode."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec

from idlegap.core.doctor.collect import COMPILER, CUDA, EngineAnswer, SensorReadings, Software
from idlegap.core.protocol.events import CgroupSample, CpuSample, GpuInfo, GpuSample, HostInfo
from idlegap.core.protocol.modes import MODES
from idlegap.core.protocol.reasons import Reason, ReasonOrText, because, code_of
from idlegap.core.system.locations import Folder
from idlegap.core.text.reasons import remedy, words
from idlegap.core.text.units import US, bandwidth, gigabytes, us


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One reading or mode. `text` is its value, or why there is none; `code` names that reason."""

    name: str
    available: bool
    text: str
    remedy: str = ""
    code: str = ""


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Findings that belong together."""

    name: str
    findings: tuple[Finding, ...]


class Diagnosis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything; `gpu_decode` says whether decoding on a GPU is possible, `reason` why not."""

    gpu_decode: bool
    reason: str
    sections: tuple[Section, ...]


HOST_FIELDS: Mapping[str, str] = {
    "core_pct": "load per core",
    "steal_pct": "stolen time",
    "engine_pct": "load of a process",
    "decode_core": "core of a thread",
    "core_mhz": "clock of a core",
    "load_1m": "load average",
}
CGROUP_FIELDS: Mapping[str, str] = {
    "quota_cores": "CPU quota",
    "throttled": "throttling by the quota",
    "cgroup_pressure_us": "CPU pressure of this group",
    "system_pressure_us": "CPU pressure of the machine",
}
GPU_INFO_FIELDS: Mapping[str, str] = {
    "name": "name",
    "driver": "driver version",
    "memory_bytes": "memory size",
    "bus_width_bits": "memory bus width",
    "max_memory_mhz": "highest memory clock",
    "max_sm_mhz": "highest SM clock",
    "power_limit_mw": "power limit",
    "pcie_generation": "PCIe generation",
    "pcie_width": "PCIe lanes",
    "ecc": "ECC",
}
GPU_FIELDS: Mapping[str, str] = {
    "util_pct": "utilisation",
    "memory_used_bytes": "memory in use",
    "power_mw": "power",
    "sm_mhz": "SM clock",
    "memory_mhz": "memory clock",
    "temperature_c": "temperature",
    "event_reasons": "clock event reasons",
    "gpm_graphics_pct": "GPM graphics activity",
    "gpm_sm_pct": "GPM SM activity",
    "gpm_dram_pct": "GPM memory activity",
}


_UNITS = {
    "_pct": " %",
    "_us": f" {US}",
    "_mhz": " MHz",
    "_mw": " mW",
    "_c": " C",
    "_bits": " bits",
    "_bytes": " bytes",
    "_cores": " cores",
}
"""By how the field's name ends."""

_NOT_MEASURED, _NOT_READ = because("not-measured"), because("not-read")


def diagnose(
    software: Software,
    sensors: SensorReadings,
    engine: EngineAnswer | None,
    folders: Mapping[str, Folder] = MappingProxyType({}),
) -> Diagnosis:
    """Put everything together; `engine` is None where no engine was asked, `folders` are by what
    they are for."""
    possible, reason = _gpu_decode(software, engine)
    return Diagnosis(
        possible,
        words(reason or ""),
        (
            Section("software", tuple(_software(software))),
            Section("modes", tuple(_modes(software, engine))),
            Section("measurements of the engine", tuple(_engine(engine))),
            Section("host", tuple(_host(sensors))),
            Section("GPU", tuple(_gpu(sensors))),
            *([Section("folders", tuple(_folders(folders)))] if folders else []),
        ),
    )


def _found(name: str, value: str) -> Finding:
    return Finding(name, True, value)


def _absent(name: str, reason: ReasonOrText) -> Finding:
    return Finding(name, False, words(reason), remedy(reason), code_of(reason) or "")


def _either(name: str, value: str | None, reason: ReasonOrText | None) -> Finding:
    """The `value` of a reading, or why there is none."""
    return _absent(name, reason or _NOT_READ) if value is None else _found(name, value)


def _gpu_decode(software: Software, engine: EngineAnswer | None) -> tuple[bool, Reason | None]:
    """Whether it is possible, and if not, the deepest reason that is known."""
    if engine is not None and engine.ready is not None and engine.ready.device != "cpu":
        return True, None
    if "torch" not in software.versions:
        return False, software.missing["torch"]
    if software.cuda is None:
        return False, software.missing[CUDA]
    if engine is None:
        return False, because("no-engine-asked")
    return False, engine.reason or because("no-usable-gpu")


def _unanswered(engine: EngineAnswer | None) -> Reason:
    """Why there is no engine that could be asked further."""
    if engine is None:
        return because("no-engine-asked")
    return engine.reason or because("engine-silent")


def _software(software: Software) -> Iterator[Finding]:
    for name, version in software.versions.items():
        cuda = f", CUDA {software.cuda}" if name == "torch" and software.cuda else ""
        yield _found(name, version + cuda)
    for name, reason in software.missing.items():
        yield _absent(name, reason)


def _modes(software: Software, engine: EngineAnswer | None) -> Iterator[Finding]:
    reason: ReasonOrText | None
    statuses = (
        {status.name: status.reason for status in engine.ready.modes} if engine and engine.ready else {}
    )
    for spec in MODES:
        if engine is None or engine.ready is None:
            reason = software.missing.get("torch") or _unanswered(engine)
        else:
            reason = statuses.get(spec.name, because("not-offered"))
            if reason is None and spec.compiles:
                reason = software.missing.get(COMPILER)
        yield _found(spec.name, spec.summary) if reason is None else _absent(spec.name, reason)


def _engine(engine: EngineAnswer | None) -> Iterator[Finding]:
    if engine is None or engine.ready is None:
        yield _absent("token times", _unanswered(engine))
        return
    yield _found("token times", f"on {engine.ready.device_name}")
    why, copy, window, probe = engine.reason or _NOT_MEASURED, engine.bandwidth, engine.window, engine.probe
    copied = copy.copy_bytes_per_s if copy else None
    yield _either(
        "memory bandwidth",
        f"{bandwidth(copied)} copied" if copied is not None else None,
        (copy.missing.get("copy_bytes_per_s") if copy else None) or _NOT_MEASURED,
    )
    yield _either(
        "device busy and idle gaps",
        f"profile window of {window.steps} steps" if window and window.accepted else None,
        window.reason if window else why,
    )
    launch_ns = probe.launch_ns if probe else None
    yield _either(
        "cost of a launch",
        f"{us(launch_ns)} {US}" if launch_ns is not None else None,
        (probe.missing.get("launch_ns") if probe else None) or why,
    )
    yield _reading("run delay", engine.ready.missing.get("run_delay_ns"))


def _host(sensors: SensorReadings) -> Iterator[Finding]:
    host = sensors.facts.newest(HostInfo)
    if host is not None:
        memory = f"{gigabytes(host.memory_bytes)} GB" if host.memory_bytes else None
        around = ", ".join(filter(None, (host.virtualization, host.container)))
        yield _either("processor", host.cpu_model or None, host.missing.get("cpu_model"))
        yield _found("usable cores", f"{host.usable_cores:g} of {host.cores}")
        yield _either("memory", memory, host.missing.get("memory_bytes"))
        yield _found("virtualisation", around or "none found")
    yield from _sample(sensors.facts.newest(CpuSample), HOST_FIELDS)
    yield from _sample(sensors.facts.newest(CgroupSample), CGROUP_FIELDS)
    yield _reading("run delay of a thread", sensors.run_delay_reason)


def _gpu(sensors: SensorReadings) -> Iterator[Finding]:
    info = sensors.facts.newest(GpuInfo)
    whole = info.missing.get("nvml") if info is not None else because("nvml-silent")
    if whole is not None:
        names = [*GPU_INFO_FIELDS.values(), *GPU_FIELDS.values()]
        yield from (_absent(name, whole) for name in names)
        return
    yield from _sample(info, GPU_INFO_FIELDS)
    yield from _sample(sensors.facts.newest(GpuSample), GPU_FIELDS)


def _folders(folders: Mapping[str, Folder]) -> Iterator[Finding]:
    for name, folder in folders.items():
        where = "; ".join(filter(None, (str(folder.path), words(folder.reason or ""))))
        yield _either(name, where if folder.path is not None else None, folder.reason)


def _sample(
    event: CpuSample | CgroupSample | GpuInfo | GpuSample | None, fields: Mapping[str, str]
) -> Iterator[Finding]:
    """One finding for each of `fields`. That no quota is set is a reading, not a lack of one."""
    for field, name in fields.items():
        value: object = getattr(event, field, None)
        reason = event.missing.get(field) if event is not None else because("no-sample")
        text = _shown(field, value) if value not in (None, ()) else None
        yield _either(name, "none set" if text is None and code_of(reason) == "no-quota" else text, reason)


def _reading(name: str, reason: ReasonOrText | None) -> Finding:
    return _found(name, "read for each token") if reason is None else _absent(name, reason)


def _shown(field: str, value: object) -> str:
    """A raw value of `field`, short: doctor shows that a reading works, not what it means."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"read for each of {len(value)}"
    unit = next((unit for suffix, unit in _UNITS.items() if field.endswith(suffix)), "")
    return f"{_plain(value)}{unit}"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)
