"""What every decode mode is: one way to submit the same step, over one key/value cache.

A static cache is built once, rewound for every round and never overrun. From transformers 5.8 on,
each of its layers counts its own positions in a tensor on the device and advances it inside the
forward. A captured graph therefore advances itself; warm-up and capture advance it too, and must be
undone. Writing past the end is a device-side assertion, after which the CUDA context is lost, so the
loop stops before.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from transformers import Cache, DynamicCache, PreTrainedModel, Qwen2ForCausalLM, StaticCache

from idlegap.core.engine.device import Device
from idlegap.core.protocol.modes import CacheKind, ModeName, mode_spec
from idlegap.core.protocol.reasons import Reason, because

CACHE_ARGUMENT = (
    "cache" if "cache" in inspect.signature(Qwen2ForCausalLM.forward).parameters else "past_key_values"
)
"""What every forward calls its cache; renamed between releases of transformers."""


def forward(model: PreTrainedModel, ids: torch.Tensor, cache: Cache, **options: Any) -> Any:
    """Run `ids` (batch, tokens) through `model`, reading and extending `cache`."""
    return model(input_ids=ids, use_cache=True, **{CACHE_ARGUMENT: cache}, **options)


def positions(cache: Cache) -> list[torch.Tensor]:
    """Copies of the layers' position counters, for `rewind`."""
    return [layer.cumulative_length.clone() for layer in cache.layers]


def rewind(cache: Cache, saved: list[torch.Tensor]) -> None:
    """Put the position counters back in place; what was written beyond them is overwritten
    before it is ever attended to."""
    for layer, value in zip(cache.layers, saved, strict=True):
        layer.cumulative_length.copy_(value)


@dataclass(slots=True)
class Workload:
    """What all modes share: the model, the prompt, the one token buffer and the static cache.

    Shapes: `prompt` (batch, prompt_tokens), `token` (batch, 1). `token` and the static cache
    keep their addresses for life, because captured graphs have them built in.
    """

    model: PreTrainedModel
    device: Device
    prompt: torch.Tensor
    token: torch.Tensor
    static: Cache
    tuned_step: Callable[[], torch.Tensor] | None = None
    """The compiled step that `fused` and `fused-graph` share; it and this workload hold each other."""

    @classmethod
    def build(
        cls, model: PreTrainedModel, device: Device, prompt: torch.Tensor, cache_len: int
    ) -> "Workload":
        token = torch.zeros((prompt.shape[0], 1), dtype=torch.long, device=device.torch)
        # The cache's tensors appear at the first (eager) prefill.
        static = StaticCache(config=model.config, max_cache_len=cache_len)
        return cls(model, device, prompt, token, static)

    def use_attention(self, name: str) -> None:
        """Choose among the attention functions registered with transformers."""
        if self.model.config._attn_implementation != name:
            self.model.set_attn_implementation(name)


def graph_obstacle(workload: Workload) -> Reason | None:
    """Why a step over the static cache cannot be captured, or None."""
    layers = workload.static.layers
    if not workload.device.is_cuda:
        return because("needs-cuda")
    # A sliding layer decides on a Python integer whether its window is full; a graph would freeze
    # that decision.
    if any(getattr(layer, "is_sliding", False) for layer in layers):
        return because("sliding-window")
    if not all(hasattr(layer, "cumulative_length") for layer in layers):
        return because("position-on-host")
    return None


def decode_one_token(model: PreTrainedModel, token: torch.Tensor, cache: Cache) -> torch.Tensor:
    """One decode step: forward over `token` (batch, 1), greedy argmax written back into it.

    Nothing is read back to the host. Returns the logits, shape (batch, vocabulary).
    """
    logits: torch.Tensor = forward(model, token, cache).logits[:, -1]
    token.copy_(logits.argmax(dim=-1, keepdim=True))
    return logits


class Mode(ABC):
    """One way to decode. `prefill` begins a round, `step` submits one token without waiting."""

    name: ClassVar[ModeName]

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.cache: Cache = workload.static

    @property
    def cache_kind(self) -> CacheKind:
        return mode_spec(self.name).cache

    @classmethod
    def obstacle(cls, workload: Workload) -> Reason | None:
        """Why this mode cannot run on this workload, known without trying; None if it can."""
        return None

    def enter(self) -> None:
        """Called each time that decoding turns to this mode."""
        self.workload.use_attention("sdpa")

    def prefill(self) -> None:
        """Run the prompt through the model and leave the first new token in the buffer."""
        work = self.workload
        if self.cache_kind == "dynamic":
            self.cache = DynamicCache(config=work.model.config)
        else:
            work.static.reset()
        logits = forward(work.model, work.prompt, self.cache, logits_to_keep=1).logits
        work.token.copy_(logits[:, -1].argmax(dim=-1, keepdim=True))

    def prepare(self) -> None:
        """Capture or compile, after a prefill; the caller begins a new round afterwards. Raises
        ModeError with the reason, when this model or machine refuses."""
        return

    @abstractmethod
    def step(self) -> torch.Tensor:
        """Submit one token's work and return its logits (batch, vocabulary), not waited for."""

    def release(self) -> None:
        """Let go of graphs and compiled code."""
        return
