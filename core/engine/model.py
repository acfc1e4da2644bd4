"""Building the model: a hub id, a local folder, or a synthetic shape with random weights.

Random weights decode nonsense at the same speed: the kernels, their number and the bytes that
they move depend on the shape alone. They are drawn, never zero, because arithmetic on zeros
draws less power and runs faster.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, Qwen2Config

from idlegap.core.engine.device import Device, one_memory_error
from idlegap.core.engine.errors import UnsupportedError, first_line, is_out_of_memory
from idlegap.core.protocol.events import Stage
from idlegap.core.protocol.settings import SYNTHETIC_DEFAULT, SYNTHETIC_PREFIX, SYNTHETIC_TINY

Progress = Callable[[Stage, str, float | None], None]
"""Called with a stage, a detail and a fraction (0..1) or None."""

SEED = 20240917
"""Fixes random weights and prompts, so that two runs decode the same thing."""

PROMPT = (
    "A graphics processor can only run what has been submitted to it. When one sequence is decoded at a "
    "time, every token needs more than a thousand short kernels, and the host submits them one by one. "
    "Explain, step by step and in plain words, how long the processor waits between them and what could "
    "be done about it. "
)
"""What a real model is asked; repeated until it fills the prompt."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model on its device. `tokenizer` is None for synthetic shapes (their text means nothing)."""

    model: PreTrainedModel
    tokenizer: Any
    name: str
    random_weights: bool

    @property
    def shape(self) -> str:
        """Layers, width and heads in one line."""
        config = self.model.config.get_text_config(decoder=True)
        heads = getattr(config, "num_attention_heads", "?")
        kv_heads = getattr(config, "num_key_value_heads", heads)
        return (
            f"{config.num_hidden_layers} layers, hidden {config.hidden_size}, "
            f"{heads}/{kv_heads} heads, vocabulary {config.vocab_size}"
        )

    @property
    def parameters(self) -> int:
        """Number of distinct parameters (tied ones once)."""
        return sum(p.numel() for p in self.model.parameters())

    @property
    def weight_bytes(self) -> int:
        """Bytes of the distinct storages that hold the weights: tied once, quantised as stored
        (some quantisers keep theirs in buffers)."""
        storages = [tensor.untyped_storage() for tensor in self.model.state_dict().values()]
        return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def synthetic_config(name: str) -> Qwen2Config:
    """The shape called `name`: Qwen2.5-1.5B's own, or one small enough for any CPU."""
    tiny: dict[str, Any] = {
        "vocab_size": 512,
        "hidden_size": 64,
        "intermediate_size": 192,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 4096,
    }
    qwen: dict[str, Any] = {
        "vocab_size": 151_936,
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_hidden_layers": 28,
        "num_attention_heads": 12,
        "max_position_embeddings": 32_768,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
    }
    shape = qwen if name == SYNTHETIC_DEFAULT else tiny
    return Qwen2Config(**shape, num_key_value_heads=2, tie_word_embeddings=True, use_sliding_window=False)


def load_model(name: str | None, device: Device, progress: Progress) -> LoadedModel:
    """Build or load `name` on `device`; None picks the shape that suits the device. Raises
    UnsupportedError where the model does not exist, cannot be read or does not fit."""
    name = name or (SYNTHETIC_DEFAULT if device.is_cuda else SYNTHETIC_TINY)
    try:
        with one_memory_error():
            if name.startswith(SYNTHETIC_PREFIX):
                progress("building", f"{name.removeprefix(SYNTHETIC_PREFIX)} shape, random weights", None)
                return _synthetic(name, device)
            return _pretrained(name, device, progress)
    except torch.OutOfMemoryError as error:
        if not device.is_cuda:
            raise UnsupportedError(
                f"--model {name}: does not fit into this machine's memory", "choose a smaller model"
            ) from error
        free, total = device.memory_bytes()
        raise UnsupportedError(
            f"--model {name}: does not fit ({free / 1e9:.1f} of {total / 1e9:.1f} GB free on {device.name})",
            "choose a smaller model or free the GPU",
        ) from error


def _synthetic(name: str, device: Device) -> LoadedModel:
    torch.manual_seed(SEED)
    dtype = torch.float16 if device.is_cuda else torch.float32
    if name == SYNTHETIC_TINY and not device.is_cuda:
        # Its operators are too small to share: helper threads would only wait for each other.
        torch.set_num_threads(1)
    # Drawing under the device context also computes the rotary frequencies there; building on
    # "meta" and emptying later would leave that non-persistent buffer as garbage.
    with device.torch:
        model = AutoModelForCausalLM.from_config(
            synthetic_config(name), dtype=dtype, attn_implementation="sdpa"
        )
    return LoadedModel(model.eval(), None, name, random_weights=True)


def _pretrained(name: str, device: Device, progress: Progress) -> LoadedModel:
    folder = Path(name) if Path(name).is_dir() else _download(name, progress)
    progress("building", f"reading {name}", None)
    dtype = "auto" if device.is_cuda else torch.float32
    try:
        AutoConfig.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, attn_implementation="sdpa", local_files_only=True
        )
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    # Damaged files, unknown architectures and missing optional packages raise many classes.
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise UnsupportedError(
            f"--model {name}: not a causal language model that transformers can load: {first_line(error)}",
            "give a hub id or a folder with config.json, safetensors weights and a tokenizer",
        ) from error
    return LoadedModel(model.to(device.torch).eval(), tokenizer, name, random_weights=False)


def _download(name: str, progress: Progress) -> Path:
    from huggingface_hub import snapshot_download
    from tqdm.std import tqdm

    progress("downloading", name, None)

    nowhere = SimpleNamespace(write=len, flush=lambda: None)

    class ReportingBar(tqdm):  # type: ignore[misc]
        """The bar that the hub client moves, drawing nothing and reporting bytes instead."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.reports_bytes = kwargs.get("unit") == "B"
            super().__init__(*args, **{**kwargs, "disable": False, "file": nowhere})

        def update(self, n: float | None = 1) -> bool | None:
            shown: bool | None = super().update(n)
            if self.reports_bytes and self.total:
                done = f"{name}: {self.n / 1e9:.2f} of {self.total / 1e9:.2f} GB"
                progress("downloading", done, min(1.0, self.n / self.total))
            return shown

    try:
        return Path(
            snapshot_download(
                name,
                allow_patterns=["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"],
                tqdm_class=ReportingBar,
            )
        )
    # The hub client raises some twenty unrelated classes for "cannot be had", among them
    # those of its HTTP library, which changed between releases.
    except Exception as error:
        raise UnsupportedError(
            f"--model {name}: neither a local folder nor obtainable from the hub: {first_line(error)}",
            f"check the name and the network, or use {SYNTHETIC_DEFAULT} which needs no download",
        ) from error


def make_prompt(loaded: LoadedModel, device: Device, tokens: int, batch: int) -> torch.Tensor:
    """Token ids of shape (batch, tokens) on the device: text for real weights, else random ids."""
    if loaded.tokenizer is None:
        generator = torch.Generator().manual_seed(SEED)
        vocabulary = loaded.model.config.get_text_config(decoder=True).vocab_size
        row = torch.randint(0, vocabulary, (tokens,), generator=generator)
    else:
        ids = loaded.tokenizer(PROMPT)["input_ids"]
        row = torch.tensor((ids * (tokens // len(ids) + 1))[:tokens])
    return row.repeat(batch, 1).to(device.torch)
