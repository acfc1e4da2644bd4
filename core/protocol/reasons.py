"""Reasons: why a reading is missing, a mode refused, a window rejected. Codes, never sentences.

Whoever compares a reason compares its code; its words, and what would help, are made in
`core.text.reasons`. Free text of a driver or of torch is a field like any other and is only shown.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

Code = Literal[
    # the engine: modes, windows, measurements
    "needs-cuda",
    "windows-need-cuda",
    "needs-triton",
    "left-out",
    "sliding-window",
    "position-on-host",
    "capture-failed",
    "compilation-failed",
    "no-memory-for-batch",
    "no-memory-for-prompt",
    "no-memory-for-logits",
    "logits-not-numbers",
    "baseline-not-numbers",
    "baseline-refused",
    "little-memory",
    "no-memory-for-buffers",
    "profiler-broken",
    "no-kernel-records",
    "no-device-records",
    "records-lost",
    "kernels-differ",
    "records-reversed",
    "no-launch-records",
    "first-window",
    "pin-outside",
    "pin-refused",
    "nice-refused",
    "nice-needs-root",
    # a thread's own counters
    "schedstat-unreadable",
    "schedstat-zero",
    "schedstat-stopped",
    "closed",
    # the host
    "first-reading",
    "unreadable",
    "cpu-times-zero",
    "cpu-times-still",
    "process-unreadable",
    "thread-unreadable",
    "no-engine",
    "within-engine",
    "of-engine",
    "no-cpufreq",
    "no-cpu-model",
    "gvisor",
    "sensor-failed",
    # the control group
    "no-quota",
    "no-cgroup",
    "no-cgroup-v2",
    "cpu-stat-unreadable",
    "no-cpu-controller",
    "no-psi",
    "psi-unreadable",
    "root-cgroup",
    # the GPU
    "no-bindings",
    "wrong-bindings",
    "old-bindings",
    "no-driver",
    "driver-not-loaded",
    "driver-too-old",
    "driver-mismatch",
    "driver-dropped",
    "not-supported",
    "nvml-error",
    "nvml-hangs",
    "nvml-silent",
    "nvml-off",
    "nvml-zero",
    "stale",
    "no-gpu",
    "gpu-unnamed",
    "gpu-unknown",
    "mig",
    "mig-whole-gpu",
    "needs-hopper",
    "gpm-driver",
    "gpm-breaks-memory",
    "gpm-second-sample",
    "gpm-error",
    "gpm-impossible",
    "no-samples",
    "samples-not-percent",
    # the state
    "no-window-yet",
    "few-recent-tokens",
    "few-tokens",
    "waits-for-gpu",
    "needs-window",
    "gpu-fills-token",
    "no-thread-clock",
    "new-lengths",
    "cpu-computes",
    # a benchmark
    "no-sample-in-run",
    "run-cut-short",
    "not-asked-for",
    "not-a-distribution",
    "not-a-clone",
    "git-failed",
    # doctor
    "not-installed",
    "no-triton",
    "torch-without-cuda",
    "no-compiler",
    "no-usable-gpu",
    "not-offered",
    "no-engine-asked",
    "engine-ended",
    "engine-silent",
    "not-measured",
    "not-read",
    "no-sample",
    "question-failed",
    # folders
    "folder-unwritable",
    "no-folder",
]


class Reason(msgspec.Struct, frozen=True, array_like=True):
    """One reason. `fields` are what its words name, `cause` is the reason behind it, if any.

    `code` is one of `Code` where it was made by `because`; a file of a later version may hold others.
    """

    code: str
    fields: dict[str, str | int | float] = {}
    cause: "Reason | None" = None


ReasonOrText: TypeAlias = Reason | str
"""As files hold it: those of schema 1 have words without a code."""

Missing: TypeAlias = Mapping[str, ReasonOrText]
"""Why fields are None, by their names."""


def because(code: Code, cause: Reason | None = None, **fields: str | int | float) -> Reason:
    """The reason `code`; a field `detail` is free text that stands behind its words."""
    return Reason(code, fields, cause)


def code_of(reason: ReasonOrText | None) -> str | None:
    """The code of `reason`; None where it is unknown, as it is of most words of schema 1."""
    return reason.code if isinstance(reason, Reason) else _SCHEMA_1.get(reason or "")


_SCHEMA_1: dict[str, Code] = {"no quota": "no-quota"}
"""What schema 1 wrote in these words is a finding rather than a lack of one."""
