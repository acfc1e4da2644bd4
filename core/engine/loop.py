"""The decode loop: rounds of one prefill and many single-token steps, timed one by one.

It runs on the decode thread and does nothing else: between two tokens it looks at a queue of
commands, and about twenty times a second it hands a batch of records to the outbox. It never
waits for whoever reads them.
"""

import math
import queue
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import msgspec
import torch

from idlegap.core.engine.available_modes import Lineup
from idlegap.core.engine.device import one_memory_error
from idlegap.core.engine.errors import ModeError, UnsupportedError
from idlegap.core.engine.microbenchmarks import probe_dispatch
from idlegap.core.engine.modes import Mode, forget_compiled
from idlegap.core.engine.outbox import Outbox
from idlegap.core.engine.profile import WINDOW_STEPS, Profiler
from idlegap.core.engine.tokens import LengthLog, TokenWriter, timed_step
from idlegap.core.engine.verify import Verifier
from idlegap.core.protocol import events
from idlegap.core.protocol.commands import (
    AnyCommand,
    ProbeDispatch,
    RestartRound,
    SetMode,
    SetPaused,
    SetShape,
    Stop,
    TakeProfile,
    VerifyModes,
)
from idlegap.core.protocol.modes import BASELINE, ModeName, mode_spec
from idlegap.core.protocol.reasons import Reason, because
from idlegap.core.protocol.settings import Settings
from idlegap.core.sensors.thread import ThreadCounters
from idlegap.core.text.reasons import words

PROFILE_RETRY_NS = 10_000_000_000
"""After a rejected window the next one is taken this much later."""


@dataclass(slots=True)
class Round:
    """Where the current round stands: its number and the tokens decoded since its prefill."""

    number: int
    decoded: int = 0


class DecodeLoop:
    """Decodes for ever, in the mode that was asked for last."""

    def __init__(
        self,
        lineup: Lineup,
        rebuild: Callable[[int, int], Lineup],
        *,
        settings: Settings,
        outbox: Outbox,
        commands: "queue.SimpleQueue[AnyCommand]",
        clock: Callable[[], int],
        counters: ThreadCounters,
        tokenizer: Any = None,
        profiler: Profiler | None = None,
        lengths: LengthLog | None = None,
        unpinned: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`rebuild(batch, prompt_tokens)` makes the lineup for another shape.

        Without a `profiler` (on the CPU) no window is taken. Without `lengths` (on the CPU) no cache
        length is new. `unpinned` is entered while a mode is prepared.
        """
        self._modes = lineup.modes
        self._refused = lineup.refused
        self._rebuild = rebuild
        self._profiler = profiler
        self._profile_every_ns = settings.profile_every_ns
        self._lengths = lengths
        self._unpinned = unpinned
        self._next_profile_ns: dict[ModeName, int] = {}
        self._verifier: Verifier | None = None
        self._new_tokens = settings.new_tokens
        self._outbox = outbox
        self._commands = commands
        self._clock = clock
        self._counters = counters
        self._prepared: set[ModeName] = set()
        self._has_compiled = False
        self._mode: Mode = lineup.modes[lineup.first_mode(settings.mode)]
        self._round: Round | None = None
        self._rounds = 0
        self._writer = TokenWriter(outbox, clock, tokenizer)
        self._stopped = False

    def run(self) -> None:
        """Decode until a `Stop` command arrives."""
        self._enter(self._mode.name)
        while not self._stopped:
            if self._round is None:
                self._begin_round()
            self._step()
            self._writer.settle(self._token_id())
            self._finish_full_round()
            if self._profile_is_due():
                self._take_profile()
            while not self._commands.empty():
                self._obey(self._commands.get())
        self._writer.flush()
        self._release()

    # --- commands ---------------------------------------------------------------

    def _obey(self, command: AnyCommand) -> None:
        match command:
            case SetMode(mode):
                self._enter(mode)
            case RestartRound():
                self._writer.flush()
                self._round = None
            case SetPaused(True):
                self._wait_paused()
            case TakeProfile():
                self._take_profile()
            case VerifyModes():
                self._verify()
            case ProbeDispatch():
                self._writer.flush()
                self._outbox.put(probe_dispatch(self._mode.workload.device, self._clock))
                self._writer.begin_warm_up()
            case SetShape(batch, prompt_tokens):
                self._reshape(batch, prompt_tokens)
            case Stop():
                self._stopped = True

    def _wait_paused(self) -> None:
        self._writer.flush()
        self._say("paused")
        while not self._stopped:
            command = self._commands.get()
            if command == SetPaused(False):
                break
            if command != SetPaused(True):
                self._obey(command)
                # Whatever was done meanwhile, nothing decodes until the pause ends.
                self._say("paused")
        self._resume()

    # --- modes and rounds -------------------------------------------------------

    def _enter(self, name: ModeName) -> None:
        """Decode in mode `name` from the next token on, or say why not.

        The static modes share cache and token buffer, so a round goes on across a change
        between them; another cache, or a first capture, begins a new round.
        """
        if name in self._refused:
            self._outbox.put(events.ModeRefused(self._clock(), name, self._refused[name]))
            return
        self._writer.flush()
        mode = self._modes[name]
        setup_ns = 0
        if name not in self._prepared:
            started = self._clock()
            self._round = None
            if not self._prepare(mode):
                self._fall_back()
                return
            setup_ns = self._clock() - started
        elif mode.cache_kind != self._mode.cache_kind:
            self._round = None
        mode.enter()
        self._mode = mode
        self._writer.begin_warm_up()
        self._outbox.put(events.ModeEntered(self._clock(), name, setup_ns))
        self._say("decoding")

    def _fall_back(self) -> None:
        """A mode could not be prepared: go on in the one before, or else in any that can run. Raises
        UnsupportedError where none can."""
        if self._mode.name in self._prepared:
            self._mode.enter()
            self._resume()
            return
        left = [name for name in self._modes if name not in self._refused]
        if not left:
            reasons = "; ".join(f"{name}: {words(reason)}" for name, reason in self._refused.items())
            raise UnsupportedError(f"no mode can run here: {reasons}")
        self._enter(BASELINE if BASELINE in left else left[0])

    def _prepare(self, mode: Mode) -> bool:
        spec = mode_spec(mode.name)
        stage: events.Stage = (
            "compiling" if spec.compiles else "capturing" if mode.name == "graph" else "warming up"
        )
        self._say(stage, spec.summary)
        self._has_compiled |= spec.compiles
        try:
            with self._unpinned(), one_memory_error():
                mode.enter()
                mode.prefill()
                mode.prepare()
                mode.workload.device.synchronize()
        except (ModeError, torch.OutOfMemoryError) as error:
            too_large = mode.workload.device.memory_reason(mode.workload.prompt.shape[0])
            reason = error.reason if isinstance(error, ModeError) else too_large
            self._refused[mode.name] = reason
            self._outbox.put(events.ModeRefused(self._clock(), mode.name, reason))
            return False
        self._prepared.add(mode.name)
        return True

    def _reshape(self, batch: int, prompt_tokens: int) -> None:
        """Another batch size or prompt length: new cache, new graphs, same mode."""
        self._writer.flush()
        self._say("building", f"batch {batch}, prompt of {prompt_tokens} tokens")
        name = self._mode.name
        try:
            lineup = self._rebuild(batch, prompt_tokens)
        except UnsupportedError as error:
            self._outbox.put(events.Notice(self._clock(), str(error)))
            self._say("decoding")
            return
        self._release()
        if self._has_compiled:
            forget_compiled()
            self._has_compiled = False
        self._modes, self._refused = lineup.modes, lineup.refused
        self._round = None
        self._next_profile_ns.clear()
        self._verifier = None
        self._mode = self._modes[name]
        self._enter(name)

    def _release(self) -> None:
        for name in self._prepared:
            self._modes[name].release()
        self._prepared.clear()
        # A step that was compiled for a mode that then failed has no mode left to release it.
        self._mode.workload.tuned_step = None

    def _begin_round(self) -> None:
        self._writer.flush()
        self._rounds += 1
        self._round = Round(self._rounds)
        device = self._mode.workload.device
        device.synchronize()
        device.reset_peak_memory()
        started = self._clock()
        self._mode.prefill()
        device.synchronize()
        done = self._clock()
        prompt_tokens = self._mode.workload.prompt.shape[1]
        self._outbox.put(
            events.RoundStarted(done, self._rounds, self._mode.name, done - started, prompt_tokens)
        )
        self._writer.begin_round(self._token_id())

    def _finish_full_round(self) -> None:
        """Tell of the current round if it has all of its tokens; then there is none."""
        finished = self._round
        if finished is None or finished.decoded < self._new_tokens:
            return
        self._round = None
        self._writer.flush()
        peak = self._mode.workload.device.peak_memory_bytes()
        if peak is not None and self._verifier is not None:
            peak -= self._verifier.held_bytes
        self._outbox.put(
            events.RoundFinished(
                self._clock(),
                finished.number,
                self._mode.name,
                finished.decoded,
                peak_memory_bytes=peak,
                missing={} if peak is not None else {"peak_memory_bytes": because("needs-cuda")},
            )
        )

    # --- tokens -----------------------------------------------------------------

    def _step(self, *, profiled: bool = False) -> None:
        """One timed step of the current round, given to the writer. The tokens of a profile window
        stay together: what they meet is met, but not marked."""
        assert self._round is not None
        token = timed_step(self._mode, self._clock, self._counters)
        decoded = self._round.decoded
        new_length = self._lengths is not None and self._lengths.meet(self._mode, decoded)
        self._writer.add(
            token, self._mode.name, self._round.number, decoded, new_length=new_length and not profiled
        )
        self._round.decoded += 1

    def _token_id(self) -> int | None:
        """The newest token of the first sequence, where its text is wanted: costs a copy."""
        return int(self._mode.workload.token[0, 0]) if self._writer.reads_tokens else None

    # --- measurements that interrupt decoding -------------------------------------

    def _profile_is_due(self) -> bool:
        if self._profiler is None or self._profile_every_ns is None or self._writer.warming:
            return False
        return self._clock() >= self._next_profile_ns.get(self._mode.name, 0)

    def _take_profile(self) -> None:
        """A window in the current mode; its tokens are marked and followed by a warm-up.

        The first window of a mode can only say what the second one must agree with, so it is
        followed by that at once and not reported by itself.
        """
        if self._profiler is None:
            reason = because("windows-need-cuda")
            self._outbox.put(
                events.ProfileWindow(
                    self._clock(), mode=self._mode.name, steps=0, accepted=False, reason=reason
                )
            )
            return
        windows = []
        for _ in range(2 if self._mode.name not in self._next_profile_ns else 1):
            self._reserve(WINDOW_STEPS)
            self._writer.flush()
            self._say("profiling", f"{WINDOW_STEPS} steps of {self._mode.name}")
            windows.append(self._profiler.take(self._mode.name, lambda: self._step(profiled=True)))
            self._writer.flush("profile")
        self._writer.mark_gap()
        pause_ns = sum(window.pause_ns for window in windows)
        self._outbox.put(msgspec.structs.replace(windows[-1], pause_ns=pause_ns))
        pause_until_next = self._profile_every_ns or 0 if windows[-1].accepted else PROFILE_RETRY_NS
        self._next_profile_ns[self._mode.name] = self._clock() + pause_until_next
        self._finish_full_round()
        self._resume()

    def _reserve(self, steps: int) -> None:
        """Begin a new round where fewer than `steps` tokens remain in this one."""
        if self._round is None or self._round.decoded + steps > self._new_tokens:
            self._finish_full_round()
            self._begin_round()

    def _verify(self) -> None:
        """Compare the current mode with the baseline over a round, then begin a new one."""
        baseline = self._modes.get(BASELINE)
        if baseline is None:
            self._not_verified(because("baseline-refused", self._refused[BASELINE], mode=BASELINE))
            return
        self._writer.flush()
        self._say("verifying", f"{self._mode.name} against {BASELINE}, {self._new_tokens} tokens")
        try:
            with one_memory_error():
                if self._verifier is None:
                    self._verifier = Verifier(baseline, self._new_tokens, self._clock)
                verified = self._verifier.verify(self._mode)
            if self._lengths is not None:
                for decoded in range(self._new_tokens):
                    self._lengths.meet(self._mode, decoded)
            if math.isfinite(verified.noise_diff):
                self._outbox.put(verified)
            else:
                self._not_verified(because("baseline-not-numbers", mode=BASELINE))
        except torch.OutOfMemoryError:
            self._verifier = None
            self._not_verified(because("no-memory-for-logits"))
        self._mode.enter()
        self._round = None
        self._resume()

    def _not_verified(self, reason: Reason) -> None:
        self._outbox.put(events.NotVerified(self._clock(), self._mode.name, reason))

    def _resume(self) -> None:
        self._writer.begin_warm_up()
        self._say("decoding")

    def _say(self, stage: events.Stage, detail: str = "") -> None:
        self._outbox.put(events.EngineStage(self._clock(), stage, detail))
