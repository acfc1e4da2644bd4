"""The state of a session: the one place where events are taken into account.

`State.apply` takes one event of any kind, live or replayed. The live screen, a replay, a report, a
bench, the exporter and a recording that begins in the middle all read what it knows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from idlegap.core.measure.host_speed import told_by_cpu_time
from idlegap.core.measure.typical_token import Typical
from idlegap.core.protocol import events
from idlegap.core.protocol.modes import ModeName
from idlegap.core.session.facts import Facts
from idlegap.core.session.setup import Setup
from idlegap.core.session.snapshot import StageView
from idlegap.core.session.strip import StripHistory
from idlegap.core.slow_tokens.attribution import Attribution
from idlegap.core.slow_tokens.contention import SlowLog
from idlegap.core.slow_tokens.explain import SlowToken
from idlegap.core.slow_tokens.samples import Samples
from idlegap.core.text.reasons import words

KEPT_TEXT = 2000


@dataclass(slots=True)
class State:
    """What the events have said so far, in bounded memory, or with `keep_all` in full.

    Attributes:
        begun_ns: when it began; the stage is ``starting`` since then while nothing was heard.
        setup: what was measured of the current model and shape; `setups` are all there were, oldest
            first, where everything is kept, else this one alone.
        newest: the newest token of all, counted or not; `excluded` counts those that do not count.
        slow_tokens: every explained slow token, oldest first, where everything is kept.
        steady_since_ns: since when counted tokens of one mode are decoded without a break, None while
            they are not.
    """

    begun_ns: int
    keep_all: bool = False
    facts: Facts = field(default_factory=Facts)
    mode: ModeName | None = None
    setup: Setup = field(init=False)
    setups: list[Setup] = field(default_factory=list)
    strip: StripHistory = field(default_factory=StripHistory)
    attribution: Attribution = field(init=False)
    slow: SlowLog = field(default_factory=SlowLog)
    slow_tokens: list[SlowToken] = field(default_factory=list)
    notice: str = ""
    notice_ns: int = 0
    text: str = ""
    newest: events.Token | None = None
    excluded: int = 0
    steady_since_ns: int | None = None

    def __post_init__(self) -> None:
        self.attribution = Attribution(Samples(self.keep_all))
        self._enter(Setup.begin(None, keep_all=self.keep_all))

    @property
    def stage(self) -> StageView:
        return self.facts.stage or StageView("starting", "", None, self.begun_ns)

    @property
    def samples(self) -> Samples:
        """The sensors' samples: the last ones, or all."""
        return self.attribution.samples

    def apply(self, event: events.AnyEvent) -> None:
        """Take one event into account."""
        match event:
            case events.TokenBatch():
                self._tokens(event)
            case events.EngineStage():
                self._stage(event)
            case events.EngineReady():
                self._ready(event)
            case events.ModeEntered():
                self._entered(event)
            case events.ModeRefused():
                self._say(event.t_ns, f"{event.mode}: {words(event.reason)}")
            case events.RoundStarted():
                self.setup.modes[event.mode].prefills_ns.append(event.prefill_ns)
            case events.ProfileWindow():
                self.setup.modes[event.mode].note_profile(event)
                self.setup.judge_host(event.t_ns)
                if not event.accepted:
                    self._say(event.t_ns, f"profile window rejected: {words(event.reason)}")
            case events.Verified():
                self.setup.modes[event.mode].verified = event
                self._say(event.t_ns, _verified_words(event))
            case events.NotVerified():
                self._say(event.t_ns, f"{event.mode} not verified: {words(event.reason)}")
            case events.TextPiece():
                self.text = (event.text if event.restart else self.text + event.text)[-KEPT_TEXT:]
            case events.EngineFailed():
                self.steady_since_ns = None
            case events.Neighbours():
                self._neighbours(event)
            case events.Notice():
                self._say(event.t_ns, event.text)
            case _:
                pass
        self.facts.apply(event)
        self.attribution.observe(event)
        self._explained(self.attribution.settled())

    def finish(self) -> None:
        """The events have ended: explain the slow tokens that still wait, with what is known."""
        self._explained(self.attribution.rest())

    @classmethod
    def of(cls, heard: Iterable[events.AnyEvent], begun_ns: int = 0) -> "State":
        """The full state after all of `heard`, which end there."""
        state = cls(begun_ns, keep_all=True)
        for event in heard:
            state.apply(event)
        state.finish()
        return state

    def usual(self) -> Typical | None:
        """What a counted token of the current mode usually costs."""
        return self.setup.modes[self.mode].usual() if self.mode is not None else None

    def _stage(self, event: events.EngineStage) -> None:
        if event.stage == "starting":
            self._restart()
        elif event.stage == "paused":
            self.strip.mark(event.t_ns, "paused")
        if event.stage != "decoding":
            self.steady_since_ns = None
        elif self.steady_since_ns is None:
            self.steady_since_ns = event.t_ns

    def _restart(self) -> None:
        """Another engine: what was measured with the one before does not hold; the machine does."""
        self.finish()
        self.setup.visits.end()
        self.attribution = Attribution(self.samples)
        self._enter(Setup.begin(None, keep_all=self.keep_all))
        self.strip, self.slow = StripHistory(), SlowLog()
        self.mode = self.newest = self.steady_since_ns = None
        self.excluded = 0
        self.text = self.notice = ""

    def _ready(self, event: events.EngineReady) -> None:
        known = next((setup for setup in self.setups if setup.same_as(event)), None)
        if self.setup.engine is not None:
            self.setup.visits.end()
            self.slow.entered()
            self.strip.reshape({name: window.busy_ns for name, window in self.setup.profiles.items()})
            self.strip.mark(event.t_ns, f"batch {event.batch}, prompt {event.prompt_tokens}")
        if known is None or not self.keep_all:
            known = Setup.begin(event, keep_all=self.keep_all)
        self._enter(known)

    def _enter(self, setup: Setup) -> None:
        self.setup = setup
        if not self.keep_all:
            self.setups = [setup]
        elif not any(known is setup for known in self.setups):
            self.setups.append(setup)

    def _entered(self, event: events.ModeEntered) -> None:
        if event.mode != self.mode:
            # Entered again in another shape, it would cover what marks that.
            self.strip.mark(event.t_ns, event.mode)
        self.mode = event.mode
        self.setup.modes[event.mode].entered()
        self.setup.visits.end()
        self.slow.entered()
        self._unsteady(event.t_ns)

    def _neighbours(self, event: events.Neighbours) -> None:
        change = event.count - self.facts.neighbours
        if change:
            self.setup.visits.end()
            self.strip.mark(event.t_ns, f"{change:+d} neighbour{'s' * (abs(change) != 1)}")

    def _tokens(self, batch: events.TokenBatch) -> None:
        if not batch.tokens:
            return
        self.newest = batch.tokens[-1]
        history = self.setup.modes[batch.mode]
        # The quickest: the first ones after a change of mode can take many times as long.
        history.token_ns = min(token.wall_ns for token in batch.tokens)
        if batch.excluded is not None:
            self.excluded += len(batch.tokens)
            self.setup.excluded[batch.excluded] += len(batch.tokens)
            self.attribution.add(batch, None)
            if batch.excluded == "new-length":
                self._at_new_lengths(batch)
            return
        self.mode = batch.mode
        if history.turns(at_new_length=False):
            self.strip.mark(batch.tokens[0].start_ns, "known lengths")
        history.add(batch.tokens)
        neighbours = self.facts.neighbours
        if self.setup.log is not None:
            self.setup.log.add(batch, neighbours)
        if told_by_cpu_time(self.setup.engine):
            history.least_cpu.add(batch.tokens)
        if not neighbours:
            self.setup.visits.add(batch)
        usual = history.usual()
        self.strip.add(batch.mode, batch.tokens, usual.threshold_ns if usual else None)
        self.attribution.add(batch, usual)
        self.setup.judge_host(batch.t_ns)

    def _at_new_lengths(self, batch: events.TokenBatch) -> None:
        self.mode = batch.mode
        history = self.setup.modes[batch.mode]
        if history.turns(at_new_length=True):
            self.strip.mark(batch.tokens[0].start_ns, "new lengths")
        history.add_at_new_lengths(batch.tokens)
        self.strip.add(batch.mode, batch.tokens, None)
        self._unsteady(batch.t_ns)

    def _unsteady(self, t_ns: int) -> None:
        if self.steady_since_ns is not None:
            self.steady_since_ns = t_ns

    def _explained(self, found: tuple[SlowToken, ...]) -> None:
        for token in found:
            self.slow.add(token, self.mode)
            self.strip.blame(token.done_ns, ((share.cause, share.ns) for share in token.shares))
        if self.keep_all:
            self.slow_tokens.extend(found)

    def _say(self, t_ns: int, notice: str) -> None:
        """Keep `notice` as the newest thing that the user should read."""
        self.notice, self.notice_ns = notice, t_ns


def _verified_words(verified: events.Verified) -> str:
    """What a comparison of tokens has shown, and the key of the page with the rest."""
    agree = f"{verified.mode} verified: {verified.agree}/{verified.steps} agree"
    return f"{agree}, FLAGGED: other logits than eager's (d)" if verified.flagged else f"{agree} (d)"
