"""What would make a reading or a mode available, by the reason why it is not."""

_REMEDIES = (
    ("no NVIDIA driver", "install the NVIDIA driver; start a container with --gpus all"),
    ("driver not loaded", "load the kernel module (modprobe nvidia), or reboot after an installation"),
    ("differ in version", "reboot, so that the driver's module and library are the same again"),
    ("driver too old", "install a newer NVIDIA driver"),
    ("nvidia-ml-py is not installed", "install nvidia-ml-py"),
    ("wrong pynvml", "uninstall pynvml, install nvidia-ml-py"),
    ("this nvidia-ml-py has no", "install a newer nvidia-ml-py"),
    ("NVML sees no GPU", "give the container a GPU (--gpus all, NVIDIA_VISIBLE_DEVICES)"),
    ("GPUs: the engine has not named one", "choose one with --device cuda:N"),
    ("NVML does not answer", "look for a hung driver (dmesg), and reboot"),
    ("needs Hopper", "nothing on this GPU: profile windows tell the busy time instead"),
    ("MIG", "a whole GPU instead of a MIG instance"),
    ("not supported by this GPU", "nothing: this GPU does not tell"),
    ("NVML reports 0", "nothing: this GPU does not tell; --spec-bandwidth gives the bandwidth"),
    ("built without CUDA", "install a CUDA build of torch"),
    ("needs triton", "install triton, which comes with torch's CUDA builds for Linux"),
    ("need CUDA", "an NVIDIA GPU, its driver and a CUDA build of torch"),
    ("needs CUDA", "an NVIDIA GPU, its driver and a CUDA build of torch"),
    ("finds no usable GPU", "check nvidia-smi and CUDA_VISIBLE_DEVICES"),
    ("CUPTI", "end other profilers (nsys, ncu, DCGM); install a torch build with CUPTI"),
    ("no device records", "end other profilers (nsys, ncu, DCGM); install a torch build with CUPTI"),
    ("no C compiler", "install gcc or clang, which triton calls"),
    ("triton is not installed", "a CUDA build of torch for Linux, which brings it"),
    ("is not installed", "install idlegap with its dependencies"),
    ("sliding-window", "a model without sliding-window attention"),
    ("does not fit", "free the GPU, or choose a smaller model"),
    ("gVisor", "a runtime other than gVisor"),
    ("schedstat", "a kernel with CONFIG_SCHED_INFO, outside of gVisor"),
    ("PSI", "a kernel with CONFIG_PSI, booted with psi=1"),
    ("root cgroup", "nothing is missing: the machine's pressure is ours"),
    ("no cgroup v2", "a host with cgroup v2"),
    ("no cgroup mounted", "mount the cgroup file system in the container"),
    ("CPU controller", "a host that turns the cpu controller on for this group"),
    ("cpu.stat", "a host that turns the cpu controller on for this group"),
    ("no cpufreq", "nothing inside a virtual machine: its host keeps the clock to itself"),
    ("cannot be written", "a HOME, XDG folder or TMPDIR that can be written to"),
    ("/proc/", "mount /proc readable"),
)


def remedy(reason: str) -> str:
    """What would help against `reason`; ``none known`` where nobody has thought of any."""
    return next((cure for sign, cure in _REMEDIES if sign in reason), "none known")
