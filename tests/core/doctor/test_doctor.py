"""The diagnosis for machines of all kinds, and that nothing on the way imports torch."""

import subprocess
import sys
from collections import deque
from importlib.machinery import ModuleSpec
from pathlib import Path

import msgspec
import pytest

from idlegap.core.doctor.collect import (
    EngineAnswer,
    SensorReadings,
    Software,
    ask_engine,
    doctor_settings,
    read_sensors,
    read_software,
)
from idlegap.core.doctor.diagnosis import (
    CGROUP_FIELDS,
    GPU_FIELDS,
    GPU_INFO_FIELDS,
    HOST_FIELDS,
    Diagnosis,
    Finding,
    diagnose,
)
from idlegap.core.protocol.events import (
    Bandwidth,
    CgroupSample,
    CpuSample,
    DispatchProbe,
    GpuInfo,
    GpuSample,
    HostInfo,
    ModeStatus,
    ProfileWindow,
    SensorEvent,
)
from idlegap.core.protocol.modes import MODE_NAMES
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.protocol.settings import parse_device
from idlegap.core.system.locations import Folder
from idlegap.core.text.reasons import words
from idlegap.tui.tables.doctor import doctor_text
from tests.core.bench.fake_engine import H200, READY, FakeEngine, drive, replace_struct

SOFTWARE = Software({"torch": "2.11.0+cu130", "transformers": "5.17.0"}, cuda="13.0")
CPU_TORCH = Software(
    {"torch": "2.13.0+cpu"}, missing={"CUDA in torch": because("torch-without-cuda", version="2.13.0+cpu")}
)
HOST = HostInfo(0, "Xeon", 16, tuple(range(16)), 16.0, 1 << 37, virtualization="VM")
CPU = CpuSample(1, (10.0,) * 16, 50.0, 1.0, 20.0, 0.0, 3, 0.5, missing={"core_mhz": because("no-cpufreq")})
CGROUP = CgroupSample(
    1,
    throttled=0,
    throttled_ns=0,
    system_pressure_us=100,
    interval_ns=1,
    missing={"quota_cores": because("no-quota"), "cgroup_pressure_us": because("no-psi")},
)
GPU_INFO = GpuInfo(0, "H200", "GPU-1", "580.159", 141 << 30, 6016, 3201, 1980, 700_000, 5, 16, ecc=False)
GPU = GpuSample(
    1,
    99.0,
    3 << 30,
    212_000,
    1980,
    3201,
    41,
    0,
    missing=dict.fromkeys(("gpm_sm_pct",), because("needs-hopper")),
)


def readings(*events: SensorEvent) -> SensorReadings:
    found = SensorReadings()
    for event in events:
        found.facts.apply(event)
    return found


SENSORS = readings(HOST, CPU, CGROUP, GPU_INFO, GPU)
READY_ALL = replace_struct(READY, modes=tuple(ModeStatus(name) for name in MODE_NAMES))
ANSWER = EngineAnswer(
    READY_ALL,
    Bandwidth(0, 4.272e12, None),
    ProfileWindow(0, "eager-static", 4, accepted=True),
    DispatchProbe(0, 2_600, 8_400),
)


NO_TORCH = because("not-installed", package="torch")


def ended(message: str, hint: str = "") -> Reason:
    return because("engine-ended", message=message, hint=hint)


def finding(diagnosis: Diagnosis, name: str) -> Finding:
    (found,) = [f for section in diagnosis.sections for f in section.findings if f.name == name]
    return found


# --- what follows from what was read --------------------------------------------------


def test_a_machine_with_everything_can_decode_on_its_gpu() -> None:
    found = diagnose(SOFTWARE, SENSORS, ANSWER)
    assert found.gpu_decode
    assert finding(found, "memory bandwidth").text == "4,272 GB/s copied"
    assert finding(found, "cost of a launch").text == "2.60 us"
    assert finding(found, "device busy and idle gaps").available
    assert doctor_text(found).startswith("Decoding on the GPU is possible here.\n")


def test_every_reading_and_every_mode_is_there_and_whatever_is_missing_has_reason_and_remedy() -> None:
    for sensors in (SENSORS, SensorReadings()):
        for answer in (ANSWER, None, EngineAnswer(reason=ended("OutOfMemoryError: no room"))):
            found = diagnose(SOFTWARE, sensors, answer)
            names = {f.name for section in found.sections for f in section.findings}
            assert names >= {*MODE_NAMES, *HOST_FIELDS.values(), *CGROUP_FIELDS.values()}
            assert names >= {*GPU_INFO_FIELDS.values(), *GPU_FIELDS.values()}
            for section in found.sections:
                for one in section.findings:
                    assert one.text
                    assert bool(one.remedy) != one.available


def test_the_tables_name_real_fields() -> None:
    for event, names in (
        (CPU, HOST_FIELDS),
        (CGROUP, CGROUP_FIELDS),
        (GPU_INFO, GPU_INFO_FIELDS),
        (GPU, GPU_FIELDS),
    ):
        assert set(names) <= set(event.__struct_fields__)


def test_readings_carry_their_units() -> None:
    found = diagnose(SOFTWARE, SENSORS, ANSWER)
    shown = {
        name: finding(found, name).text
        for name in (
            "load per core",
            "stolen time",
            "highest SM clock",
            "power limit",
            "memory bus width",
            "ECC",
        )
    }
    assert shown == {
        "load per core": "read for each of 16",
        "stolen time": "0.0 %",
        "highest SM clock": "1,980 MHz",
        "power limit": "700,000 mW",
        "memory bus width": "6,016 bits",
        "ECC": "off",
    }
    assert finding(found, "CPU pressure of the machine").text == "100 us"


def test_no_quota_is_a_reading_and_no_pressure_is_none() -> None:
    found = diagnose(SOFTWARE, SENSORS, ANSWER)
    assert finding(found, "CPU quota") == Finding("CPU quota", True, "none set")
    pressure = finding(found, "CPU pressure of this group")
    assert not pressure.available
    assert pressure.remedy == "a kernel with CONFIG_PSI, booted with psi=1"


def test_without_nvml_every_gpu_reading_has_the_one_reason() -> None:
    reason = "no NVIDIA driver: NVML shared library not found"
    gone = readings(HOST, CPU, CGROUP, GpuInfo(0, None, None, missing={"nvml": because("no-driver")}))
    found = diagnose(CPU_TORCH, gone, None)
    (section,) = [section for section in found.sections if section.name == "GPU"]
    assert {one.text for one in section.findings} == {reason}
    assert doctor_text(found).count(reason) == 1
    silent = diagnose(SOFTWARE, readings(HOST, CPU, CGROUP), ANSWER)
    assert finding(silent, "utilisation").text == "NVML does not answer"


@pytest.mark.parametrize(
    ("software", "answer", "reason"),
    [
        (Software(missing={"torch": NO_TORCH}), None, "torch is not installed"),
        (CPU_TORCH, EngineAnswer(replace_struct(READY_ALL, device="cpu")), "built without CUDA"),
        (SOFTWARE, EngineAnswer(replace_struct(READY_ALL, device="cpu")), "torch finds no usable GPU"),
        (SOFTWARE, EngineAnswer(reason=ended("OutOfMemoryError: no room")), "OutOfMemoryError: no room"),
        (SOFTWARE, None, "no engine was asked"),
    ],
)
def test_what_stands_in_the_way_of_decoding_on_a_gpu_is_told(
    software: Software, answer: EngineAnswer | None, reason: str
) -> None:
    found = diagnose(software, SENSORS, answer)
    assert not found.gpu_decode
    assert reason in found.reason
    assert "NOT possible here" in doctor_text(found)


def test_compiled_modes_need_a_compiler() -> None:
    bare = Software(SOFTWARE.versions, "13.0", {"C compiler": because("no-compiler")})
    found = diagnose(bare, SENSORS, ANSWER)
    assert finding(found, "graph").available
    assert not finding(found, "fused").available
    assert "gcc" in finding(found, "fused").remedy


def test_a_rejected_profile_window_gives_its_reason() -> None:
    window = ProfileWindow(0, "eager-static", 4, accepted=False, reason=because("no-kernel-records"))
    found = diagnose(SOFTWARE, SENSORS, EngineAnswer(READY_ALL, window=window, reason=ended("gone", "wait")))
    rejected = finding(found, "device busy and idle gaps")
    assert rejected.code == "no-kernel-records"
    assert rejected.text.startswith("no kernel records: CUPTI is missing")
    assert "nsys" in rejected.remedy
    assert finding(found, "cost of a launch") == Finding(
        "cost of a launch", False, "gone", "wait", "engine-ended"
    )


def test_where_files_go_is_told_and_what_is_not_as_usual_with_its_reason() -> None:
    folders = {
        "engine logs": Folder(
            Path("/tmp/idlegap-7/log"),
            because("folder-unwritable", folder="/home/log", detail="Read-only file system"),
        ),
        "compiled kernels": Folder(
            None, because("no-folder", folder="/home/cache", why="Read-only file system", detail="full")
        ),
    }
    found = diagnose(SOFTWARE, SENSORS, ANSWER, folders)
    log = finding(found, "engine logs")
    assert log.available
    assert log.text == "/tmp/idlegap-7/log; /home/log cannot be written: Read-only file system"
    kernels = finding(found, "compiled kernels")
    assert not kernels.available
    assert "HOME" in kernels.remedy
    assert found.gpu_decode


def test_the_text_fits_80_columns_and_the_json_holds_everything() -> None:
    found = diagnose(CPU_TORCH, SensorReadings(), EngineAnswer(reason=ended("word " * 60)))
    assert max(map(len, doctor_text(found).splitlines())) <= 80
    assert doctor_text(found).isascii()
    assert msgspec.json.decode(msgspec.json.encode(found), type=Diagnosis) == found


# --- asking -----------------------------------------------------------------------------


def test_an_engine_is_asked_for_one_measurement_of_each_kind_and_ended() -> None:
    engine = FakeEngine()
    answer = ask_engine(drive(engine))
    assert engine.closed
    assert answer.ready is not None
    assert [status.name for status in answer.ready.modes if status.available] == list(H200)
    assert answer.bandwidth is not None
    assert answer.window is not None
    assert answer.window.accepted
    assert answer.probe is not None
    assert answer.reason is None


def test_an_engine_that_fails_or_never_answers_is_a_reason() -> None:
    slow = FakeEngine(silent=True)
    answer = ask_engine(drive(slow, stopped=lambda: slow.now_ns > 5_000_000_000))
    assert answer.ready is None
    assert answer.reason == because("engine-silent")
    assert slow.closed
    mute = FakeEngine(silent=True)
    assert "has said nothing" in words(ask_engine(drive(mute)).reason or "")


class OneOfEach:
    """Sensors that say everything at once."""

    def __init__(self, heard: "deque[SensorEvent]") -> None:
        self.heard = heard
        self.calls: list[str] = []
        self.watched: str | None = None

    def start(self) -> None:
        self.calls.append("start")

    def watch_engine(self, pid: int, tid: int, device_uuid: str | None) -> None:
        self.watched = device_uuid

    def stop(self) -> None:
        self.calls.append("stop")
        self.heard.extend([HOST, CPU, CGROUP, GPU_INFO, GPU])


def test_sensors_are_listened_to_for_a_moment_and_stopped() -> None:
    heard: deque[SensorEvent] = deque()
    sensors = OneOfEach(heard)
    found = read_sensors(sensors, heard, "uuid", pause=lambda seconds: sensors.calls.append("pause"))
    assert sensors.calls == ["start", "pause", "stop"]
    assert sensors.watched == "uuid"
    facts = found.facts
    assert (
        facts.newest(HostInfo),
        facts.newest(CpuSample),
        facts.newest(CgroupSample),
        facts.newest(GpuInfo),
        facts.newest(GpuSample),
    ) == (
        HOST,
        CPU,
        CGROUP,
        GPU_INFO,
        GPU,
    )


def found_at(folder: Path, *names: str) -> "Finder":
    return Finder(folder, names)


class Finder:
    """Finds modules by name in one folder, as `importlib.util.find_spec` would."""

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self.folder, self.names = folder, names

    def __call__(self, name: str) -> ModuleSpec | None:
        if name not in self.names:
            return None
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(self.folder)]
        return spec


@pytest.mark.parametrize(
    ("line", "cuda"),
    [
        ("cuda: Optional[str] = '13.0'", "13.0"),
        ('cuda = "12.8"', "12.8"),
        ("cuda: Optional[str] = None", None),
        ("hip = '6'", None),
    ],
)
def test_torchs_cuda_is_read_from_its_version_file(tmp_path: Path, line: str, cuda: str | None) -> None:
    (tmp_path / "version.py").write_text(f"__version__ = '2.11.0'\n{line}\n")
    found = read_software(found_at(tmp_path, "torch", "transformers"))
    assert found.cuda == cuda
    assert ("CUDA in torch" in found.missing) == (cuda is None)
    assert {"triton", "nvidia-ml-py"} <= found.missing.keys()


def test_without_torch_there_is_nothing_to_say_about_its_cuda(tmp_path: Path) -> None:
    found = read_software(found_at(tmp_path))
    assert found.versions == {}
    assert found.missing["torch"] == NO_TORCH
    assert "CUDA in torch" not in found.missing


def test_the_doctors_engine_is_small_and_takes_what_device_there_is() -> None:
    settings = doctor_settings()
    settings.validate()
    assert parse_device(settings.device) == ("auto", 0)
    assert settings.profile_every_ns is None


def test_neither_doctor_nor_the_readers_of_results_import_torch() -> None:
    code = (
        "import idlegap.core.doctor.diagnosis, idlegap.core.bench.runner, idlegap.core.results.store\n"
        "import idlegap.core.check.check, idlegap.tui.tables.svg_plot, idlegap.tui.tables.compare, sys\n"
        "idlegap.core.doctor.collect.read_software()\n"
        "print({'torch', 'transformers', 'numpy', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
