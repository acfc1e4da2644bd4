"""The modes that can be entered with one model and one shape of workload."""

import os
import platform
import threading
from dataclasses import dataclass

import torch
import transformers

from idlegap.core.engine.device import Device, one_memory_error
from idlegap.core.engine.errors import UnsupportedError
from idlegap.core.engine.model import LoadedModel, make_prompt
from idlegap.core.engine.modes import MODE_CLASSES, Mode, Workload
from idlegap.core.protocol.events import EngineReady, ModeStatus
from idlegap.core.protocol.modes import BASELINE, ModeName
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.protocol.settings import Settings
from idlegap.core.text.reasons import words


@dataclass(slots=True)
class Lineup:
    """`modes` can be entered; `refused` says for the others why not."""

    workload: Workload
    modes: dict[ModeName, Mode]
    refused: dict[ModeName, Reason]

    @classmethod
    def build(cls, loaded: LoadedModel, device: Device, settings: Settings) -> "Lineup":
        """Make prompt and cache for `settings` and ask each mode whether it can run. Raises
        UnsupportedError where no mode can run or the first one asked for cannot, a round is longer
        than what the model was made for, or there is no memory for the prompts."""
        longest = getattr(loaded.model.config.get_text_config(decoder=True), "max_position_embeddings", None)
        asked = max(settings.round_len, settings.max_cache_len or 0)
        if longest is not None and asked > longest:
            raise UnsupportedError(
                f"a round of {asked:,} positions: {loaded.name} knows {longest:,}",
                "use fewer --prompt-tokens or --new-tokens, or a shorter --max-cache-len",
            )
        try:
            with one_memory_error():
                prompt = make_prompt(loaded, device, settings.prompt_tokens, settings.batch)
                workload = Workload.build(loaded.model, device, prompt, settings.cache_len)
        except torch.OutOfMemoryError as error:
            raise UnsupportedError(words(device.memory_reason(settings.batch))) from error
        lineup = cls(workload, {}, {})
        for name, mode_class in MODE_CLASSES.items():
            obstacle = mode_class.obstacle(workload)
            if settings.modes is not None and name not in settings.modes:
                obstacle = because("left-out")
            if obstacle is None:
                lineup.modes[name] = mode_class(workload)
            else:
                lineup.refused[name] = obstacle
        if not lineup.modes or (settings.mode is not None and settings.mode not in lineup.modes):
            refused = "; ".join(f"{name}: {words(reason)}" for name, reason in lineup.refused.items())
            raise UnsupportedError(
                f"--mode {settings.mode or 'any'} cannot run here ({refused})",
                f"available: {', '.join(lineup.modes) or 'none'}",
            )
        return lineup

    def first_mode(self, asked: ModeName | None) -> ModeName:
        """The mode to begin with: the one asked for, else the baseline where it can run."""
        if asked is not None:
            return asked
        return BASELINE if BASELINE in self.modes else next(iter(self.modes))

    def describe(
        self, t_ns: int, loaded: LoadedModel, settings: Settings, missing: dict[str, Reason]
    ) -> EngineReady:
        """The event that says what runs, on what, with which software."""
        device = self.workload.device
        return EngineReady(
            t_ns,
            pid=os.getpid(),
            tid=threading.get_native_id(),
            model=loaded.name,
            shape=loaded.shape,
            random_weights=loaded.random_weights,
            dtype=str(loaded.model.dtype).removeprefix("torch."),
            attention=str(loaded.model.config._attn_implementation),
            device=str(device.torch),
            device_name=device.name,
            device_uuid=device.uuid,
            weight_bytes=loaded.weight_bytes,
            parameters=loaded.parameters,
            prompt_tokens=settings.prompt_tokens,
            new_tokens=settings.new_tokens,
            cache_len=settings.cache_len,
            batch=settings.batch,
            modes=tuple(ModeStatus(name, self.refused.get(name)) for name in MODE_CLASSES),
            torch=str(torch.__version__),
            transformers=transformers.__version__,
            python=platform.python_version(),
            cuda=torch.version.cuda,
            wait=device.wait,
            missing=missing,
        )
