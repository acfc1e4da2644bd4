"""The key/value cache: built once, rewound for every round, never overrun.

From transformers 5.8 on, each layer of a `StaticCache` counts its own positions in a tensor on
the device and advances it inside the forward. A captured graph therefore advances itself;
warm-up and capture advance it too, and must be undone. Writing past the end is a device-side
assertion, after which the CUDA context is lost, so the loop stops before.
"""

import inspect
from typing import Any

import torch
from transformers import Cache, PreTrainedModel, Qwen2ForCausalLM

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


def graph_obstacle(cache: Cache) -> Reason | None:
    """Why a step over this cache must not be captured, or None.

    A sliding layer decides on a Python integer whether its window is full; a graph would
    freeze that decision.
    """
    if any(getattr(layer, "is_sliding", False) for layer in cache.layers):
        return because("sliding-window")
    if not all(hasattr(layer, "cumulative_length") for layer in cache.layers):
        return because("position-on-host")
    return None
