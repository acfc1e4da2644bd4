"""Everything that the events have said so far, in bounded memory.

`Memory.apply` takes one event of any kind, live or replayed; `core.session.build` turns
the result into a snapshot.
"""

from dataclasses import dataclass, field

from idlegap.core.protocol.events import (
    AnyEvent,
    Bandwidth,
    Dropped,
    EngineFailed,
    EngineReady,
    EngineStage,
    ModeEntered,
    ModeRefused,
    Neighbours,
    Notice,
    NotVerified,
    ProfileWindow,
    RoundStarted,
    TextPiece,
    Token,
    TokenBatch,
    Verified,
)
from idlegap.core.protocol.modes import MODE_NAMES, ModeName
from idlegap.core.protocol.reasons import ReasonOrText
from idlegap.core.session.host_changes import HostChanges, told_by_cpu_time
from idlegap.core.session.latest import Latest
from idlegap.core.session.mode_history import ModeHistory
from idlegap.core.session.snapshot import StageView
from idlegap.core.session.strip import StripHistory
from idlegap.core.session.visits import VisitLog
from idlegap.core.slow_tokens.attribution import Attribution
from idlegap.core.slow_tokens.contention import SlowLog
from idlegap.core.text.reasons import words

KEPT_TEXT = 2000


@dataclass(slots=True)
class Memory:
    """The state of one session; a new engine begins a new one, the sensors' part aside."""

    stage: StageView
    engine: EngineReady | None = None
    failed: EngineFailed | None = None
    mode: ModeName | None = None
    refused: dict[ModeName, ReasonOrText] = field(default_factory=dict)
    modes: dict[ModeName, ModeHistory] = field(default_factory=lambda: {n: ModeHistory() for n in MODE_NAMES})
    visits: VisitLog = field(default_factory=VisitLog)
    host_changes: HostChanges = field(default_factory=HostChanges)
    strip: StripHistory = field(default_factory=StripHistory)
    bandwidth: Bandwidth | None = None
    notice: str = ""
    notice_ns: int = 0
    text: str = ""
    dropped: int = 0
    excluded: int = 0
    machine: Latest = field(default_factory=Latest)
    attribution: Attribution = field(default_factory=Attribution)
    slow: SlowLog = field(default_factory=SlowLog)
    neighbours: int = 0
    newest: Token | None = None
    """The newest token of all, counted or not."""

    @classmethod
    def begin(cls, now_ns: int) -> "Memory":
        """A session of which nothing is known yet."""
        return cls(StageView("starting", "", None, now_ns))

    def restarted(self, now_ns: int) -> "Memory":
        """What stays true when the engine starts again: the machine."""
        fresh = Memory.begin(now_ns)
        fresh.machine = self.machine
        fresh.neighbours = self.neighbours
        return fresh

    def apply(self, event: AnyEvent) -> None:
        """Take one event into account."""
        match event:
            case TokenBatch():
                self._tokens(event)
            case EngineStage():
                self._stage(event)
            case EngineReady():
                if self.engine is not None:
                    self._new_shape(event)
                self.engine = event
                self.refused = {m.name: m.reason for m in event.modes if m.reason is not None}
            case ModeEntered():
                if event.mode != self.mode:
                    # Entered anew in another shape, it would cover what marks that.
                    self.strip.mark(event.t_ns, event.mode)
                self.mode = event.mode
                self.modes[event.mode].entered()
                self.visits.end()
                self.slow.entered()
            case ModeRefused():
                self.refused[event.mode] = event.reason
                self.say(event.t_ns, f"{event.mode}: {words(event.reason)}")
            case RoundStarted():
                self.modes[event.mode].prefills_ns.append(event.prefill_ns)
            case ProfileWindow():
                self.modes[event.mode].note_profile(event)
                self._judge_host(event.t_ns)
                if not event.accepted:
                    self.say(event.t_ns, f"profile window rejected: {words(event.reason)}")
            case Verified():
                self.modes[event.mode].verified = event
                self.say(event.t_ns, _verdict(event))
            case NotVerified():
                self.say(event.t_ns, f"{event.mode} not verified: {words(event.reason)}")
            case Bandwidth():
                self.bandwidth = event
            case TextPiece():
                self.text = (event.text if event.restart else self.text + event.text)[-KEPT_TEXT:]
            case Dropped():
                self.dropped = event.events
            case EngineFailed():
                self.failed = event
                self.stage = StageView("failed", event.reason, None, event.t_ns)
            case Neighbours():
                self._neighbours(event)
            case Notice():
                self.say(event.t_ns, event.text)
            case _:
                self.machine.take(event)
        self.attribution.observe(event)
        for found in self.attribution.settled():
            self.slow.add(found, self.mode)
            self.strip.blame(found.done_ns, ((share.cause, share.ns) for share in found.shares))

    def _new_shape(self, event: EngineReady) -> None:
        """Another batch size or prompt: what was measured of the modes no longer holds."""
        profiles = {name: history.profile for name, history in self.modes.items()}
        self.strip.reshape({name: window.busy_ns for name, window in profiles.items() if window is not None})
        self.modes = {name: ModeHistory() for name in MODE_NAMES}
        self.visits = VisitLog()
        self.host_changes = HostChanges()
        self.slow.entered()
        self.strip.mark(event.t_ns, f"batch {event.batch}, prompt {event.prompt_tokens}")

    def say(self, t_ns: int, notice: str) -> None:
        """Keep `notice` as the newest thing that the user should read."""
        self.notice, self.notice_ns = notice, t_ns

    def _stage(self, event: EngineStage) -> None:
        same = event.stage == self.stage.stage
        self.stage = StageView(
            event.stage, event.detail, event.fraction, self.stage.since_ns if same else event.t_ns
        )
        if event.stage == "paused":
            self.strip.mark(event.t_ns, "paused")

    def _neighbours(self, event: Neighbours) -> None:
        change, self.neighbours = event.count - self.neighbours, event.count
        if change:
            self.visits.end()
            self.strip.mark(event.t_ns, f"{change:+d} neighbour{'s' * (abs(change) != 1)}")

    def _tokens(self, batch: TokenBatch) -> None:
        if not batch.tokens:
            return
        self.newest = batch.tokens[-1]
        if batch.excluded is not None:
            self.excluded += len(batch.tokens)
            self.attribution.add(batch, None)
            if batch.excluded == "new-length":
                self._at_new_lengths(batch)
            return
        self.mode = batch.mode
        history = self.modes[batch.mode]
        if history.turns(at_new_length=False):
            self.strip.mark(batch.tokens[0].start_ns, "known lengths")
        history.add(batch.tokens)
        if told_by_cpu_time(self.engine):
            history.least_cpu.add(batch.tokens)
        if not self.neighbours:
            self.visits.add(batch)
        usual = history.usual()
        self.strip.add(batch.mode, batch.tokens, usual.threshold_ns if usual else None)
        self.attribution.add(batch, usual)
        self._judge_host(batch.t_ns)

    def _at_new_lengths(self, batch: TokenBatch) -> None:
        self.mode = batch.mode
        history = self.modes[batch.mode]
        if history.turns(at_new_length=True):
            self.strip.mark(batch.tokens[0].start_ns, "new lengths")
        history.add_at_new_lengths(batch.tokens)
        self.strip.add(batch.mode, batch.tokens, None)

    def _judge_host(self, now_ns: int) -> None:
        profiles = {mode: history.profile for mode, history in self.modes.items()}
        kernels = {mode: window.kernels for mode, window in profiles.items() if window is not None}
        self.host_changes.judge(now_ns, self.visits, self.engine, kernels)


def _verdict(verified: Verified) -> str:
    """What a comparison of tokens has shown, and the key of the page with the rest."""
    agree = f"{verified.mode} verified: {verified.agree}/{verified.steps} agree"
    return f"{agree}, FLAGGED: other logits than eager's (d)" if verified.flagged else f"{agree} (d)"
