"""What every decode mode is: one way to submit the same step."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from transformers import Cache, DynamicCache, PreTrainedModel, StaticCache

from idlegap.core.engine.cache import forward
from idlegap.core.engine.device import Device
from idlegap.core.protocol.modes import CacheKind, ModeName, mode_spec
from idlegap.core.protocol.reasons import Reason


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
