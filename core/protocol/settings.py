"""What to run: model, mode, token counts and device, as one immutable value."""

from typing import Literal

import msgspec

from idlegap.core.protocol.modes import ModeName

SYNTHETIC_PREFIX = "synthetic:"
SYNTHETIC_DEFAULT = "synthetic:qwen2.5-1.5b"
SYNTHETIC_TINY = "synthetic:tiny"
SYNTHETIC_MODELS = (SYNTHETIC_DEFAULT, SYNTHETIC_TINY)

DEFAULT_PROMPT_TOKENS = 512
DEFAULT_NEW_TOKENS = 255

CACHE_STEP = 16
"""Slots of a static cache come in steps of this many, unless asked for otherwise. K and V of an odd
length cannot be read in wide words: with 767 slots the fused modes' products with them took 0.39 of
1.85 ms on an H200 (kernels called "align1"); with 640 the whole step took 1.53."""

MOST_BATCH, MOST_TOKENS, MOST_CORE = 4096, 10_000_000, 2**31 - 1
"""Beyond any model and any memory: a number as large is a slip of the keyboard."""

LEAST_BYTES_PER_S, MOST_BYTES_PER_S = 1e9, 1e15
"""Of a specified bandwidth: any memory that computes lies far within."""

Wait = Literal["spin", "block"]
"""How a thread waits for the GPU: it asks again and again, or sleeps until an interrupt."""


class SettingsError(ValueError):
    """A setting that cannot work; the message names it and says what would."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that the engine needs to know before it starts.

    Attributes:
        model: hub id, local folder or ``synthetic:NAME``; None picks the 1.5B shape on CUDA
            and the tiny model on the CPU.
        device: ``auto``, ``cuda``, ``cuda:N`` or ``cpu``.
        mode: the mode to enter first; None picks eager with the static cache.
        modes: the modes to offer; None offers all.
        prompt_tokens, new_tokens: lengths of the prefill and of the decode of one round.
        max_cache_len: slots of the static cache; None makes it no longer than a round needs,
            rounded up to a multiple of `CACHE_STEP`.
            Longer caches cost bandwidth, because decode reads and copies the whole cache.
        batch: sequences decoded together.
        spec_bandwidth: specified memory bandwidth in bytes/s, where NVML's is wrong or absent.
        profile_every_ns: take a profile window of the current mode when it is first entered and
            then this often; None takes one only when asked to.
        pin_core: the only core that the decode thread may run on; None leaves it to the kernel.
        nice: nice value of the decode thread, -20 (served first) to 19; None keeps the app's.
        wait: how the decode thread waits for a token: ``spin`` keeps its core busy meanwhile, as
            CUDA does by default; ``block`` gives it away.
    """

    model: str | None = None
    device: str = "auto"
    mode: ModeName | None = None
    modes: tuple[ModeName, ...] | None = None
    prompt_tokens: int = DEFAULT_PROMPT_TOKENS
    new_tokens: int = DEFAULT_NEW_TOKENS
    max_cache_len: int | None = None
    batch: int = 1
    spec_bandwidth: float | None = None
    profile_every_ns: int | None = 120_000_000_000
    pin_core: int | None = None
    nice: int | None = None
    wait: Wait = "spin"

    @property
    def round_len(self) -> int:
        """Positions that a round fills."""
        return self.prompt_tokens + self.new_tokens

    @property
    def cache_len(self) -> int:
        """Slots of the static cache that a round gets."""
        return self.max_cache_len or _slots(self.round_len)

    def with_shape(self, batch: int, prompt_tokens: int) -> "Settings":
        """The same for another batch size and prompt length; a cache too short for it grows."""
        needed, length = prompt_tokens + self.new_tokens, self.max_cache_len
        if length is not None and length < needed:
            length = _slots(needed)
        return msgspec.structs.replace(self, batch=batch, prompt_tokens=prompt_tokens, max_cache_len=length)

    def validate(self) -> None:
        """Check what can be checked without a device.

        Raises:
            SettingsError: naming the setting, its value and the accepted range.
        """
        for name, value, least, most in (
            ("--prompt-tokens", self.prompt_tokens, 1, MOST_TOKENS),
            ("--new-tokens", self.new_tokens, 8, MOST_TOKENS),
            ("--max-cache-len", self.max_cache_len, 1, 2 * MOST_TOKENS),
            ("--batch", self.batch, 1, MOST_BATCH),
            ("--pin", self.pin_core, 0, MOST_CORE),
            ("--nice", self.nice, -20, 19),
        ):
            if value is not None and not least <= value <= most:
                raise SettingsError(f"{name} {value}: must be from {least} to {most:,}")
        if self.max_cache_len is not None and self.max_cache_len < self.round_len:
            raise SettingsError(
                f"--max-cache-len {self.max_cache_len}: a round of {self.prompt_tokens} prompt and "
                f"{self.new_tokens} new tokens needs {self.round_len}"
            )
        if self.modes is not None and self.mode is not None and self.mode not in self.modes:
            raise SettingsError(f"--mode {self.mode}: not among --modes {','.join(self.modes)}")
        if self.model and not _is_text(self.model):
            raise SettingsError(f"--model {self.model!a}: not text in UTF-8")
        if self.model and self.model.startswith(SYNTHETIC_PREFIX) and self.model not in SYNTHETIC_MODELS:
            raise SettingsError(f"--model {self.model}: known shapes are {', '.join(SYNTHETIC_MODELS)}")
        parse_device(self.device)


def _is_text(name: str) -> bool:
    """Whether `name` can be passed on: bytes of the command line that are no text cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _slots(needed: int) -> int:
    """The least length of a cache in steps of `CACHE_STEP` that holds `needed`."""
    return -(-needed // CACHE_STEP) * CACHE_STEP


def parse_device(text: str) -> tuple[Literal["auto", "cuda", "cpu"], int]:
    """Split ``auto``, ``cpu``, ``cuda`` or ``cuda:N`` into its kind and index.

    Raises:
        SettingsError: for anything else.
    """
    if text == "auto":
        return "auto", 0
    if text == "cpu":
        return "cpu", 0
    kind, _, index = text.partition(":")
    if kind == "cuda" and (text == "cuda" or (index.isdecimal() and len(index) <= 9)):
        return "cuda", int(index or 0)
    raise SettingsError(f"--device {text}: expected auto, cpu, cuda or cuda:N")
