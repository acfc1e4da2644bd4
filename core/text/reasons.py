"""The words of each reason, and what would help against it: the only place that has them."""

from collections.abc import Iterator

from idlegap.core.protocol.events import Verified
from idlegap.core.protocol.reasons import Reason, ReasonOrText

UNKNOWN_REMEDY = "none known"

_CUDA = "an NVIDIA GPU, its driver and a CUDA build of torch"
_CUPTI = "end other profilers (nsys, ncu, DCGM); install a torch build with CUPTI"
_CONTROLLER = "a host that turns the cpu controller on for this group"
_SCHEDSTAT = "a kernel with CONFIG_SCHED_INFO, outside of gVisor"
_NO_GVISOR = "a runtime other than gVisor"
_PROC = "mount /proc readable"
_PSI = "a kernel with CONFIG_PSI, booted with psi=1"
_WHOLE_GPU = "a whole GPU instead of a MIG instance"
_UNTOLD = "nothing: this GPU does not tell"
_NEWER_DRIVER = "install a newer NVIDIA driver"
_WAIT = "nothing: it comes by itself"
_FOLDER = "a HOME, XDG folder or TMPDIR that can be written to"
_BY_CAUSE = ""
"""The cause has the remedy."""

_TABLE: dict[str, tuple[str, str]] = {
    "needs-cuda": ("needs CUDA", _CUDA),
    "windows-need-cuda": ("profile windows need CUDA", _CUDA),
    "needs-triton": ("needs triton", "install triton, which comes with torch's CUDA builds for Linux"),
    "left-out": ("left out by --modes", "name it in --modes"),
    "sliding-window": (
        "sliding-window attention branches on the host",
        "a model without sliding-window attention",
    ),
    "position-on-host": ("this cache keeps its position on the host", "another version of transformers"),
    "capture-failed": ("capture failed", UNKNOWN_REMEDY),
    "compilation-failed": ("compilation failed", UNKNOWN_REMEDY),
    "no-memory-for-batch": (
        "not enough {memory} for batch {batch:,}: use a smaller --batch",
        "a smaller --batch",
    ),
    "no-memory-for-prompt": (
        "not enough {memory} for batch {batch:,}: use fewer --prompt-tokens or a smaller --model",
        "fewer --prompt-tokens or a smaller --model",
    ),
    "no-memory-for-logits": ("not enough memory for a round of logits", "fewer --new-tokens"),
    "logits-not-numbers": ("logits that are not numbers", UNKNOWN_REMEDY),
    "baseline-not-numbers": ("{mode} itself computes logits that are not numbers", UNKNOWN_REMEDY),
    "baseline-refused": ("{mode}", _BY_CAUSE),
    "little-memory": ("only {free_gb:.2f} GB of device memory free", "free the GPU"),
    "no-memory-for-buffers": ("no room for two buffers of {buffer_gb:.2f} GB", "free the GPU"),
    "profiler-broken": ("the profiler does not work here", UNKNOWN_REMEDY),
    "no-kernel-records": (
        "no kernel records: CUPTI is missing or another profiler (nsys, ncu) holds it",
        _CUPTI,
    ),
    "no-device-records": ("no device records: the profiler delivered nothing", _CUPTI),
    "records-lost": (
        "{kernels:,} kernels do not divide by {steps} steps: records were lost",
        UNKNOWN_REMEDY,
    ),
    "kernels-differ": ("{kernels:,} kernels per step, {expected:,} expected", UNKNOWN_REMEDY),
    "records-reversed": ("{records:,} device records end before they start", UNKNOWN_REMEDY),
    "no-launch-records": (
        "{unmatched:,} of {records:,} device records have no launch record",
        UNKNOWN_REMEDY,
    ),
    "first-window": (
        "first window, {kernels:,} kernels per step: waiting for a second one to agree",
        _WAIT,
    ),
    "pin-outside": (
        "--pin {core}: not done, this process may use core {usable} only",
        "a --pin among these, or a process that may use more",
    ),
    "pin-refused": ("--pin {core}: refused ({detail})", UNKNOWN_REMEDY),
    "nice-refused": ("--nice {nice}: refused ({detail})", UNKNOWN_REMEDY),
    "nice-needs-root": (
        "--nice {nice}: refused ({detail}); going below 0 needs root or CAP_SYS_NICE",
        "root or CAP_SYS_NICE",
    ),
    "schedstat-unreadable": ("no run delay: schedstat", _SCHEDSTAT),
    "schedstat-zero": (
        "no run delay: schedstat is empty or all zero (gVisor, or no CONFIG_SCHED_INFO)",
        _SCHEDSTAT,
    ),
    "schedstat-stopped": ("no run delay: schedstat stopped answering", _SCHEDSTAT),
    "closed": ("closed", UNKNOWN_REMEDY),
    "first-reading": ("no earlier reading", _WAIT),
    "unreadable": ("{path} unreadable", _PROC),
    "cpu-times-zero": ("/proc/stat is all zero (gVisor?)", _NO_GVISOR),
    "cpu-times-still": ("/proc/stat stood still", UNKNOWN_REMEDY),
    "process-unreadable": ("process {pid}", _PROC),
    "thread-unreadable": ("thread {tid}", _PROC),
    "no-engine": ("the engine is not running yet", _WAIT),
    "within-engine": ("in the engine's process: included there", "a run without --in-process"),
    "of-engine": ("engine", _BY_CAUSE),
    "no-cpufreq": (
        "no cpufreq here",
        "nothing inside a virtual machine: its host keeps the clock to itself",
    ),
    "no-cpu-model": ("/proc/cpuinfo names no model", UNKNOWN_REMEDY),
    "gvisor": ("gVisor keeps no {what}", _NO_GVISOR),
    "sensor-failed": ("sensor failed", UNKNOWN_REMEDY),
    "no-quota": ("no quota", "nothing is missing: no quota is set"),
    "no-cgroup": ("no cgroup mounted", "mount the cgroup file system in the container"),
    "no-cgroup-v2": ("no cgroup v2, which alone has pressure", "a host with cgroup v2"),
    "cpu-stat-unreadable": ("cpu.stat", _CONTROLLER),
    "no-cpu-controller": ("no CPU controller on this cgroup", _CONTROLLER),
    "no-psi": ("no PSI here", _PSI),
    "psi-unreadable": ("PSI", _PSI),
    "root-cgroup": (
        "in the root cgroup: the same as the machine's",
        "nothing is missing: the machine's pressure is ours",
    ),
    "no-bindings": ("nvidia-ml-py is not installed", "install nvidia-ml-py"),
    "wrong-bindings": (
        "wrong pynvml: uninstall pynvml, install nvidia-ml-py",
        "uninstall pynvml, install nvidia-ml-py",
    ),
    "old-bindings": ("this nvidia-ml-py has no {function}", "install a newer nvidia-ml-py"),
    "no-driver": (
        "no NVIDIA driver: NVML shared library not found",
        "install the NVIDIA driver; start a container with --gpus all",
    ),
    "driver-not-loaded": (
        "NVIDIA driver not loaded",
        "load the kernel module (modprobe nvidia), or reboot after an installation",
    ),
    "driver-too-old": ("driver too old for this reading", _NEWER_DRIVER),
    "driver-mismatch": (
        "NVML library and driver differ in version (updated without a reboot?)",
        "reboot, so that the driver's module and library are the same again",
    ),
    "driver-dropped": ("dropped by this driver", UNKNOWN_REMEDY),
    "not-supported": ("not supported by this GPU", _UNTOLD),
    "nvml-error": ("NVML {error}", UNKNOWN_REMEDY),
    "nvml-hangs": ("NVML does not answer ({call})", "look for a hung driver (dmesg), and reboot"),
    "nvml-silent": ("NVML does not answer", "look for a hung driver (dmesg), and reboot"),
    "nvml-off": ("NVML is switched off", UNKNOWN_REMEDY),
    "nvml-zero": ("NVML reports 0", f"{_UNTOLD}; --spec-bandwidth gives the bandwidth"),
    "stale": ("stale {age_s} s", _BY_CAUSE),
    "no-gpu": ("NVML sees no GPU", "give the container a GPU (--gpus all, NVIDIA_VISIBLE_DEVICES)"),
    "gpu-unnamed": ("{count} GPUs: the engine has not named one yet", "choose one with --device cuda:N"),
    "gpu-unknown": ("NVML knows no device {uuid}", UNKNOWN_REMEDY),
    "mig": ("MIG", _WHOLE_GPU),
    "mig-whole-gpu": ("MIG: NVML tells the whole GPU's", _WHOLE_GPU),
    "needs-hopper": (
        "needs Hopper or later",
        "nothing on this GPU: profile windows tell the busy time instead",
    ),
    "gpm-driver": ("MIG: GPM needs driver {driver}", f"{_NEWER_DRIVER}, or use {_WHOLE_GPU}"),
    "gpm-breaks-memory": ("MIG: GPM breaks the memory reading here", _WHOLE_GPU),
    "gpm-second-sample": ("needs a second sample", _WAIT),
    "gpm-error": ("GPM error {error}", UNKNOWN_REMEDY),
    "gpm-impossible": ("GPM says {value} %", UNKNOWN_REMEDY),
    "no-samples": ("NVML has no samples yet", "load on the GPU, which adds some"),
    "samples-not-percent": ("NVML samples of {most:,} are not percent", _UNTOLD),
    "no-window-yet": ("no profile window yet", _WAIT),
    "few-recent-tokens": ("only {tokens} tokens in the last 2 s", _WAIT),
    "few-tokens": ("needs {tokens} tokens", _WAIT),
    "waits-for-gpu": ("the thread also waits for the GPU", UNKNOWN_REMEDY),
    "needs-window": ("needs a profile window", _WAIT),
    "gpu-fills-token": (
        "the GPU works for most of a token, and the thread may wait for it",
        UNKNOWN_REMEDY,
    ),
    "no-thread-clock": ("no CPU clock of a thread", UNKNOWN_REMEDY),
    "new-lengths": ("each cache length is new", _WAIT),
    "cpu-computes": ("the CPU computes", _CUDA),
    "no-sample-in-run": ("no sample within this run", "longer runs (--new-tokens)"),
    "run-cut-short": ("the run was cut short", UNKNOWN_REMEDY),
    "not-asked-for": ("not asked for", UNKNOWN_REMEDY),
    "not-a-distribution": ("not installed: run from a clone", UNKNOWN_REMEDY),
    "not-a-clone": ("not run from a git clone", UNKNOWN_REMEDY),
    "git-failed": ("git failed", UNKNOWN_REMEDY),
    "not-installed": ("{package} is not installed", "install idlegap with its dependencies"),
    "no-triton": ("triton is not installed", "a CUDA build of torch for Linux, which brings it"),
    "torch-without-cuda": ("torch {version} was built without CUDA", "install a CUDA build of torch"),
    "no-compiler": (
        "no C compiler, which compiled modes need",
        "install gcc or clang, which triton calls",
    ),
    "no-usable-gpu": ("torch finds no usable GPU", "check nvidia-smi and CUDA_VISIBLE_DEVICES"),
    "not-offered": ("not offered by this engine", UNKNOWN_REMEDY),
    "no-engine-asked": ("no engine was asked", UNKNOWN_REMEDY),
    "engine-ended": ("{message}", "{hint}"),
    "engine-silent": ("the engine did not answer in time", UNKNOWN_REMEDY),
    "not-measured": ("not measured", UNKNOWN_REMEDY),
    "not-read": ("not read", UNKNOWN_REMEDY),
    "no-sample": ("no sample arrived", UNKNOWN_REMEDY),
    "question-failed": ("{error}", UNKNOWN_REMEDY),
    "folder-unwritable": ("{folder} cannot be written", _FOLDER),
    "no-folder": ("{folder} cannot be written: {why}; nor can a temporary folder", _FOLDER),
}


def words(reason: ReasonOrText) -> str:
    """`reason` as it is shown: its own words, then its detail and its cause, each behind a colon."""
    if isinstance(reason, str):
        return reason
    return ": ".join(part for one in _chain(reason) for part in _own_words(one) if part)


def remedy(reason: ReasonOrText) -> str:
    """What would help against `reason`; ``none known`` where nothing does or `reason` has no code."""
    if isinstance(reason, str):
        return UNKNOWN_REMEDY
    found = (_filled(_TABLE[one.code][1], one) for one in _chain(reason) if one.code in _TABLE)
    return next(filter(None, found), UNKNOWN_REMEDY)


def logit_diff_words(verified: Verified) -> str:
    """The largest difference to three digits, or why there is none."""
    if verified.logit_diff is None:
        return words(verified.missing.get("logit_diff", "n/a"))
    return f"{verified.logit_diff:.3g}"


def _chain(reason: Reason) -> Iterator[Reason]:
    link: Reason | None = reason
    while link is not None:
        yield link
        link = link.cause


def _own_words(reason: Reason) -> tuple[str, str]:
    detail = str(reason.fields.get("detail", ""))
    if reason.code not in _TABLE:
        return f"unknown reason {reason.code}", detail
    template = _TABLE[reason.code][0]
    return _filled(template, reason), "" if "{detail}" in template else detail


def _filled(template: str, reason: Reason) -> str:
    """`template` with the fields; as it stands where a file was edited and they do not fit."""
    try:
        return template.format_map(reason.fields)
    except (KeyError, ValueError):
        return template
