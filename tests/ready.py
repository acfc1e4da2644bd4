"""The engine's introduction as an H200 gives it, for tests that need one."""

from typing import Any

from idlegap.core.protocol.events import EngineReady

_H200: dict[str, Any] = {
    "t_ns": 0,
    "pid": 1,
    "tid": 1,
    "model": "synthetic:qwen2.5-1.5b",
    "shape": "28 layers, hidden 1536, 12/2 heads, vocabulary 151936",
    "random_weights": True,
    "dtype": "float16",
    "attention": "sdpa",
    "device": "cuda:0",
    "device_name": "NVIDIA H200",
    "device_uuid": None,
    "weight_bytes": 3_087_428_608,
    "parameters": 1_543_714_304,
    "prompt_tokens": 512,
    "new_tokens": 255,
    "cache_len": 768,
    "batch": 1,
    "modes": (),
    "torch": "2.11.0+cu130",
    "transformers": "5.17.0",
    "python": "3.12.3",
    "cuda": "13.0",
}


def engine_ready(**changes: Any) -> EngineReady:
    """An `EngineReady` with `changes` to its fields."""
    return EngineReady(**(_H200 | changes))
