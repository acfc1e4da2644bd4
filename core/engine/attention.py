"""Attention for one query token over grouped key/value heads, without copying them.

Up to its release 5.17, transformers repeats K and V for every query head of a group before a
masked attention: at 768 slots that writes and reads 12 times more than the cache holds. Here
the query heads of a group share their K and V as rows of one product. It is registered with
transformers' own attention interface and used by the fused modes only, so that the eager modes
stay what transformers does by itself.
"""

from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

STOCK = "sdpa"
GROUPED = "idlegap_grouped"


def grouped_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Softmax attention of one token.

    Args:
        query: (batch, query heads, 1, head dim); longer queries (prefill) go to stock sdpa.
        key, value: (batch, kv heads, slots, head dim); kv heads divide query heads.
        attention_mask: boolean, (batch, 1, 1, slots), True where attended; None attends to all.

    Returns:
        (batch, 1, query heads, head dim), and None in place of the weights.
    """
    batch, heads, length, width = query.shape
    if length != 1:
        stock: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **kwargs
        )
        return stock
    kv_heads = key.shape[1]
    scale = width**-0.5 if scaling is None else scaling
    rows = query.view(batch, kv_heads, heads // kv_heads, width)
    scores = torch.matmul(rows, key.transpose(-1, -2)).float() * scale
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1).to(value.dtype)
    return torch.matmul(weights, value).view(batch, 1, heads, width), None


def register() -> None:
    """Make `GROUPED` known to transformers; safe to call again."""
    AttentionInterface.register(GROUPED, grouped_attention)
    AttentionMaskInterface.register(GROUPED, sdpa_mask)
