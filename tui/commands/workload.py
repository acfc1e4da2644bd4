"""The options that say what to decode and where, shared by all verbs that start an engine."""

import argparse
import os
from typing import TYPE_CHECKING, Any

from idlegap.tui.commands.base import UsageError

if TYPE_CHECKING:
    from idlegap.core.protocol.settings import Settings

GB = 1e9

_PLAIN = ("model", "device", "mode", "prompt_tokens", "new_tokens", "max_cache_len", "batch", "nice", "wait")
"""Options that carry the name of the setting that they are."""


def add_workload(parser: argparse.ArgumentParser, *, measured: bool = False) -> None:
    """Add the options to `parser`. With `measured` all modes take turns, so there is no first
    one, and a mode that is named twice is measured under two names."""
    from idlegap.core.protocol.modes import MODE_NAMES

    names = ", ".join(MODE_NAMES)
    what = parser.add_argument_group("what to decode")
    what.add_argument(
        "--model",
        help="hub id, local folder, synthetic:qwen2.5-1.5b (the default on a GPU) or "
        "synthetic:tiny (the default on a CPU)",
    )
    if measured:
        what.add_argument(
            "--modes",
            metavar="M,M",
            help=f"modes to measure, separated by commas (default: all): {names}; a mode named twice is "
            "measured twice, which shows how much two equal ones differ",
        )
    else:
        what.add_argument("--mode", choices=MODE_NAMES, metavar="MODE", help=f"mode to begin with: {names}")
        what.add_argument("--modes", metavar="M,M", help="modes to offer, separated by commas (default: all)")
    what.add_argument("--prompt-tokens", type=int, metavar="N", help="length of the prefill (default 512)")
    what.add_argument("--new-tokens", type=int, metavar="N", help="tokens decoded in a round (default 255)")
    what.add_argument(
        "--max-cache-len", type=int, metavar="N", help="slots of the static cache (default: as needed)"
    )
    what.add_argument("--batch", type=int, metavar="N", help="sequences decoded together (default 1)")
    add_machine(parser)


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where to decode."""
    where = parser.add_argument_group("where to decode")
    where.add_argument("--device", help="auto (default), cuda, cuda:N or cpu")
    where.add_argument(
        "--spec-bandwidth", type=float, metavar="GB/S", help="specified memory bandwidth, if NVML's is wrong"
    )
    where.add_argument("--pin", type=int, metavar="CORE", help="the only core that the decode thread may use")
    where.add_argument(
        "--nice",
        type=int,
        metavar="N",
        help="nice value of the decode thread, -20 (served first; needs root) to 19",
    )
    where.add_argument(
        "--wait",
        choices=("spin", "block"),
        help="how the decode thread waits for the GPU: spin (default) keeps its core busy, block gives it "
        "away, which helps where others want it",
    )


def settings_from(arguments: argparse.Namespace) -> "Settings":
    """The settings that were asked for; options that the verb does not have keep their default.

    Raises:
        UsageError: for what cannot work.
    """
    from idlegap.core.protocol.settings import Settings, SettingsError

    given: dict[str, Any] = {
        name: value for name in _PLAIN if (value := getattr(arguments, name, None)) is not None
    }
    if given.get("model") == "":
        raise UsageError("--model '': names no model")
    if (modes := getattr(arguments, "modes", None)) is not None:
        given["modes"] = _modes(modes)
    if arguments.spec_bandwidth is not None:
        given["spec_bandwidth"] = _bandwidth(arguments.spec_bandwidth)
    settings = Settings(**given, pin_core=arguments.pin)
    try:
        settings.validate()
    except SettingsError as error:
        raise UsageError(str(error)) from error
    _check_core(settings.pin_core)
    return settings


def _modes(text: str) -> tuple[str, ...]:
    from idlegap.core.protocol.modes import MODE_NAMES

    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in MODE_NAMES]
    if unknown or not names:
        raise UsageError(f"--modes {text}: choose from {', '.join(MODE_NAMES)}, separated by commas")
    return names


def _bandwidth(gigabytes_per_s: float) -> float:
    from idlegap.core.protocol.settings import LEAST_BYTES_PER_S, MOST_BYTES_PER_S

    bytes_per_s = gigabytes_per_s * GB
    if not LEAST_BYTES_PER_S <= bytes_per_s <= MOST_BYTES_PER_S:
        raise UsageError(
            f"--spec-bandwidth {gigabytes_per_s:g}: must be from {LEAST_BYTES_PER_S / GB:,.0f} to "
            f"{MOST_BYTES_PER_S / GB:,.0f}, in GB/s"
        )
    return bytes_per_s


def _check_core(core: int | None) -> None:
    """The engine inherits the affinity of this process, so a wrong core can be refused here."""
    usable = os.sched_getaffinity(0)
    if core is not None and core not in usable:
        raise UsageError(
            f"--pin {core}: not among the {len(usable)} cores that this process may use, "
            f"the lowest of which is {min(usable)} and the highest {max(usable)}"
        )
