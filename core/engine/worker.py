"""The decode thread: imports torch, builds the model, and decodes until it is told to stop.

The same thread is hosted by the engine process (`core.engine.__main__`) and, with
``--in-process``, by the app. Torch is imported on this thread and used on no other.
"""

import gc
import os
import queue
import threading
import time
import traceback
from collections.abc import Callable

from idlegap.core.engine.errors import UnsupportedError, first_line, is_out_of_memory, memory_line
from idlegap.core.engine.outbox import Outbox
from idlegap.core.engine.placement import Placement
from idlegap.core.protocol.commands import AnyCommand
from idlegap.core.protocol.events import EngineFailed, EngineStage, Notice, Stage
from idlegap.core.protocol.settings import Settings
from idlegap.core.sensors.thread import ThreadCounters
from idlegap.core.system.locations import Folder, cache_dir
from idlegap.core.text.reasons import words

TRACE_LINES = 12
"""Of a traceback: the innermost calls, as many as the log's last lines."""

QUIET = {
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "KINETO_LOG_LEVEL": "5",
}
"""Libraries draw progress bars and warnings on stderr; these keep the log readable."""


def prepare_environment(cache: Folder) -> None:
    """Set what is not set already, before torch is imported.

    Compiled kernels are kept in `cache`, because the libraries' default, a temporary folder, is gone
    after a reboot.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    if cache.path is not None:
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache.path / "inductor"))
        os.environ.setdefault("TRITON_CACHE_DIR", str(cache.path / "triton"))


class EngineThread(threading.Thread):
    """Runs one engine. Everything that it says goes to `outbox`, the end included."""

    def __init__(
        self,
        settings: Settings,
        outbox: Outbox,
        commands: "queue.SimpleQueue[AnyCommand]",
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        super().__init__(name="decode", daemon=True)
        self.settings = settings
        self.outbox = outbox
        self.commands = commands
        self.clock = clock
        self.failed = False

    def run(self) -> None:
        try:
            self._run()
        # Whatever ends the engine must reach the screen: this is its last line of defence.
        except BaseException as error:  # noqa: BLE001
            self.failed = True
            self.outbox.put(self._failure(error))
            traceback.print_exc()
        finally:
            self.outbox.close()

    def _run(self) -> None:
        self._say("importing", "torch and transformers")
        cache = cache_dir()
        prepare_environment(cache)
        import torch

        from idlegap.core.engine.available_modes import Lineup
        from idlegap.core.engine.device import choose_device
        from idlegap.core.engine.loop import DecodeLoop
        from idlegap.core.engine.microbenchmarks import measure_bandwidth
        from idlegap.core.engine.model import load_model
        from idlegap.core.engine.profile import Profiler
        from idlegap.core.engine.tokens import LengthLog

        # Inference mode would be stricter, but inductor's autotuning does not start under it.
        torch.set_grad_enabled(False)
        settings = self.settings
        device = choose_device(settings.device, settings.wait)
        if device.is_cuda and cache.reason is not None:
            kept = "are not kept" if cache.path is None else f"are kept in {cache.path}"
            self.outbox.put(Notice(self.clock(), f"compiled kernels {kept}; {words(cache.reason)}"))
        loaded = load_model(settings.model, device, self._say)
        counters = ThreadCounters()
        no_run_delay = counters.run_delay_reason
        missing = {"run_delay_ns": no_run_delay} if no_run_delay is not None else {}
        placement = Placement(settings.pin_core, settings.nice)
        refused = placement.apply()
        missing |= refused

        def build(batch: int, prompt_tokens: int) -> Lineup:
            shape = settings.with_shape(batch, prompt_tokens)
            lineup = Lineup.build(loaded, device, shape)
            self.outbox.put(lineup.describe(self.clock(), loaded, shape, missing))
            return lineup

        # What is refused stands in the event that describes the engine; threads that start while
        # that is built are to have all cores.
        with placement.released():
            lineup = build(settings.batch, settings.prompt_tokens)
            self._say("bandwidth", "copying device memory")
            self.outbox.put(measure_bandwidth(device, self.clock))
        # Long-lived objects leave the collector's sight: its passes would land in tokens.
        gc.collect()
        gc.freeze()
        for reason in refused.values():
            self.outbox.put(Notice(self.clock(), words(reason)))
        loop = DecodeLoop(
            lineup,
            build,
            settings=settings,
            outbox=self.outbox,
            commands=self.commands,
            clock=self.clock,
            counters=counters,
            tokenizer=loaded.tokenizer,
            profiler=Profiler(device, self.clock) if device.is_cuda else None,
            lengths=LengthLog() if device.is_cuda else None,
            unpinned=placement.released,
        )
        # The loop alone keeps it: after a change of shape its cache and graphs are to go.
        del lineup
        loop.run()
        self._say("stopped")

    def _say(self, stage: Stage, detail: str = "", fraction: float | None = None) -> None:
        self.outbox.put(EngineStage(self.clock(), stage, detail, fraction))

    def _failure(self, error: BaseException) -> EngineFailed:
        if isinstance(error, UnsupportedError):
            return EngineFailed(self.clock(), str(error), unsupported=True, hint=error.hint)
        if isinstance(error, ImportError):
            hint = "install idlegap with its dependencies"
            return EngineFailed(self.clock(), f"cannot import: {error}", unsupported=True, hint=hint)
        if is_out_of_memory(error):
            hint = "use a smaller --batch, fewer --prompt-tokens or a smaller --model"
            return EngineFailed(self.clock(), f"out of memory: {memory_line(error)}", hint=hint)
        trace = "".join(traceback.format_exception(error)).splitlines()
        reason = f"{type(error).__name__}: {first_line(error)}"
        return EngineFailed(self.clock(), reason, log_tail=tuple(trace[-TRACE_LINES:]))
