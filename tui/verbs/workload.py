"""The options that say what to decode, shared by all verbs that start an engine."""

import argparse
from typing import TYPE_CHECKING, Any

from tui.verbs.base import UsageError

if TYPE_CHECKING:
    from core.settings import Settings

GB = 1e9


def add_workload(parser: argparse.ArgumentParser) -> None:
    """Add the options to `parser`."""
    from core.modes import MODE_NAMES

    what = parser.add_argument_group("what to decode")
    what.add_argument(
        "--model",
        help="hub id, local folder, synthetic:qwen2.5-1.5b (the default on a GPU) or "
        "synthetic:tiny (the default on a CPU)",
    )
    what.add_argument("--device", help="auto (default), cuda, cuda:N or cpu")
    what.add_argument(
        "--mode", choices=MODE_NAMES, metavar="MODE", help=f"mode to begin with: {', '.join(MODE_NAMES)}"
    )
    what.add_argument("--modes", metavar="M,M", help="modes to offer, separated by commas (default: all)")
    what.add_argument("--prompt-tokens", type=int, metavar="N", help="length of the prefill (default 512)")
    what.add_argument("--new-tokens", type=int, metavar="N", help="tokens decoded in a round (default 255)")
    what.add_argument(
        "--max-cache-len", type=int, metavar="N", help="slots of the static cache (default: as needed)"
    )
    what.add_argument("--batch", type=int, metavar="N", help="sequences decoded together (default 1)")
    what.add_argument(
        "--spec-bandwidth", type=float, metavar="GB/S", help="specified memory bandwidth, if NVML's is wrong"
    )


def settings_from(arguments: argparse.Namespace) -> "Settings":
    """The settings that were asked for.

    Raises:
        UsageError: for what cannot work.
    """
    from core.settings import Settings, SettingsError

    given: dict[str, Any] = {
        name: getattr(arguments, name)
        for name in ("model", "device", "mode", "prompt_tokens", "new_tokens", "max_cache_len", "batch")
        if getattr(arguments, name) is not None
    }
    if arguments.modes is not None:
        given["modes"] = _modes(arguments.modes)
    if arguments.spec_bandwidth is not None:
        given["spec_bandwidth"] = _bandwidth(arguments.spec_bandwidth)
    settings = Settings(**given)
    try:
        settings.validate()
    except SettingsError as error:
        raise UsageError(str(error)) from error
    return settings


def _modes(text: str) -> tuple[str, ...]:
    from core.modes import MODE_NAMES

    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in MODE_NAMES]
    if unknown or not names:
        raise UsageError(f"--modes {text}: choose from {', '.join(MODE_NAMES)}, separated by commas")
    return names


def _bandwidth(gigabytes_per_s: float) -> float:
    if not 0 < gigabytes_per_s < float("inf"):
        raise UsageError(f"--spec-bandwidth {gigabytes_per_s:g}: must be above 0, in GB/s")
    return gigabytes_per_s * GB
