"""What one frame of the screen shows: an immutable picture of the session so far.

`core.session.session.Session` builds it from events; widgets read it and nothing else. All times are
integer nanoseconds; a value that is not known is None, and its reason is either in the
``missing`` of the event that carries it or in a ``..._reason`` field beside it.
"""

from dataclasses import dataclass, field
from typing import get_args

from idlegap.core.measure.cpu_time import CpuWork
from idlegap.core.measure.device_time import Split
from idlegap.core.measure.limits import Judgement, judge
from idlegap.core.measure.roofline import Ceiling
from idlegap.core.protocol import events
from idlegap.core.protocol.modes import ModeName
from idlegap.core.protocol.reasons import ReasonOrText
from idlegap.core.slow_tokens.causes import Cause, CauseTotal, Contention, RecentTokens
from idlegap.core.slow_tokens.explain import SlowToken

_TOKENS_OR_NONE = ("decoding", "profiling", "paused", "stopped", "failed")
TOKENLESS: tuple[events.Stage, ...] = tuple(
    stage for stage in get_args(events.Stage) if stage not in _TOKENS_OR_NONE
)
"""Stages in which no counted token can flow, whatever was measured before."""

STRIP_BUCKET_NS = 250_000_000
"""Time that one half-column of the latency strip stands for."""


@dataclass(frozen=True, slots=True)
class StageView:
    """What the engine is doing, since when, and how far it is where that is known."""

    stage: events.Stage
    detail: str
    fraction: float | None
    since_ns: int


@dataclass(frozen=True, slots=True)
class Rate:
    """Speed of the current mode over its last tokens (`tokens` of them).

    `tok_per_s` is batch x tokens over the sum of their wall times, so pauses, warm-ups and tokens under
    the profiler do not count. At new cache lengths all of it is of tokens at these.
    """

    tok_per_s: float
    mean_ns: int
    p50_ns: int
    p99_ns: int
    tokens: int


@dataclass(frozen=True, slots=True)
class ModeView:
    """One mode's row: availability, and its figures once it has been visited.

    Medians are over its last tokens. `split` is None until a profile window was accepted;
    then the bar falls back to `dispatch_ns` and `wait_ns`, and `split_reason` says why.
    `speedup` is against eager-static, None where that has not been visited.

    In its `first_round` a mode with a dynamic cache meets each cache length for the first time: its
    figures stand in until tokens come that count, and it has no speed-up.
    """

    key: str
    name: ModeName
    summary: str
    reason: ReasonOrText | None = None
    current: bool = False
    tokens: int = 0
    wall_ns: int | None = None
    p99_ns: int | None = None
    dispatch_ns: int | None = None
    wait_ns: int | None = None
    prefill_ns: int | None = None
    speedup: float | None = None
    split: Split | None = None
    split_reason: ReasonOrText = ""
    profile: events.ProfileWindow | None = None
    verified: events.Verified | None = None
    first_round: bool = False

    @property
    def judgement(self) -> Judgement:
        """What limits this mode, by its split."""
        reason = self.split_reason
        return judge(self.split, wall_ns=self.wall_ns or 0, dispatch_ns=self.dispatch_ns, reason=reason)

    @property
    def visited(self) -> bool:
        return self.wall_ns is not None


@dataclass(frozen=True, slots=True)
class StripColumn:
    """All tokens that ended within one bucket of STRIP_BUCKET_NS: the counted ones and those
    at new cache lengths.

    `cause` took the most of the excess of its slow tokens; None until they are explained. Once
    `reshaped`, its tokens had another shape than today's, so the mode's row says nothing about
    them: `busy_ns` is what their device time was known to be, None if it was not.
    """

    bucket: int
    mode: ModeName
    median_ns: int
    max_ns: int
    tokens: int
    slow: int = 0
    cause: Cause | None = None
    reshaped: bool = False
    busy_ns: int | None = None


@dataclass(frozen=True, slots=True)
class StripMark:
    """Something that happened at `bucket` and deserves a line on the strip."""

    bucket: int
    label: str


@dataclass(frozen=True, slots=True)
class Strip:
    """The latency history: closed buckets, oldest first; buckets without tokens are absent.

    `now_bucket` is the bucket of the snapshot's time, so that an idle strip still moves.
    """

    now_bucket: int
    columns: tuple[StripColumn, ...] = ()
    marks: tuple[StripMark, ...] = ()
    busy_ns: int | None = None
    bound_ns: int | None = None


@dataclass(frozen=True, slots=True)
class HostChange:
    """The host changed speed between two visits, so the figures of `modes` do not compare: of the
    one mode that was visited twice, or of the slower and the faster one of two.

    `since_ns` is when the later visit began, `found_ns` since when the change has been seen to hold:
    a host may slow down long after a visit began. `text` is the whole sentence, with the figures.
    """

    modes: tuple[ModeName, ...]
    since_ns: int
    found_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class RecordingView:
    """The recording that is being made. `problem` says why it ended by itself, "" while it goes on."""

    name: str
    size_bytes: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """One token of a recording. The session hears of it at `due_ns`: at its end, or with the rest of
    its batch."""

    mode: ModeName
    round: int
    index: int
    token: events.Token
    excluded: events.Exclusion | None
    due_ns: int


@dataclass(frozen=True, slots=True)
class Playback:
    """Where the replay of a recording stands; positions are ns since its start.

    `switches_ns` are the positions at which the mode changes. `token` is the one that was
    reached last. `behind` while a jump's events are still being taken. `ending` is what the
    user should know about the recording's end, "" where it is whole.
    """

    position_ns: int
    length_ns: int
    speed: float
    playing: bool
    ended: bool = False
    behind: bool = False
    switches_ns: tuple[int, ...] = ()
    token: TokenPlace | None = None
    ending: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The app's answer to a key. `asked` is the mode that a key asked for, until the engine has entered
    or refused it; `heard` is the session's own notice when the answer was given; `old` that it has
    been shown for as long as an answer is."""

    text: str
    asked: ModeName | None = None
    heard: str = ""
    old: bool = False


@dataclass(frozen=True, slots=True)
class FromApp:
    """What only the app knows: the recording that it makes, and its answer to a key."""

    recording: RecordingView | None = None
    answer: Answer | None = None


NO_APP = FromApp()
"""No app shows the snapshot, or it has nothing to say."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One frame.

    While `halted`, no token is decoded, so that `rate` and all shares of a token are those of the
    last ones. `recent` is None then, and while no token of the current mode began lately; so is
    `cpu_work`, and where CPU time does not tell of the host, which `cpu_work_reason` then explains.
    `newest_ns` is when the newest token of all ended, counted or not.
    Slow tokens are explained up to a second late, when the samples that cover them are in.
    `slow` holds the newest first; `slow_shares` covers all of them since the mode was entered,
    largest first. `host_changes` compares the modes' last visits. `threshold_ns` is the wall time
    above which a token of the current mode counts as slow. `contention` is None while nothing holds the
    decode thread back. `at_new_length` says that the
    newest tokens, and so `rate` and `recent`, are of cache lengths met for the first time.
    `neighbours` are those of our own making. `playback` is where a replay stands.
    """

    t_ns: int
    stage: StageView
    engine: events.EngineReady | None = None
    failed: events.EngineFailed | None = None
    mode: ModeName | None = None
    modes: tuple[ModeView, ...] = ()
    rate: Rate | None = None
    recent: RecentTokens | None = None
    cpu_work: CpuWork | None = None
    cpu_work_reason: ReasonOrText = ""
    halted: bool = False
    newest_ns: int | None = None
    strip: Strip = field(default_factory=lambda: Strip(now_bucket=0))
    ceiling: Ceiling | None = None
    host: events.HostInfo | None = None
    cpu: events.CpuSample | None = None
    cgroup: events.CgroupSample | None = None
    gpu_info: events.GpuInfo | None = None
    gpu: events.GpuSample | None = None
    monitor: events.MonitorSample | None = None
    notice: str = ""
    text: str = ""
    paused: bool = False
    dropped: int = 0
    excluded: int = 0
    at_new_length: bool = False
    in_process: bool = False
    slow: tuple[SlowToken, ...] = ()
    slow_shares: tuple[CauseTotal, ...] = ()
    host_changes: tuple[HostChange, ...] = ()
    threshold_ns: int | None = None
    contention: Contention | None = None
    neighbours: int = 0
    playback: Playback | None = None
    app: FromApp = NO_APP

    @property
    def recording(self) -> RecordingView | None:
        """The recording that is being made."""
        return self.app.recording

    @property
    def message(self) -> str:
        """What the user should read now: the app's answer to a key, or what the session has to say."""
        answer = self.app.answer
        if answer is None or (self.notice and self.notice != answer.heard):
            return self.notice
        replied = self.mode == answer.asked or self.failed is not None
        # A refusal in the same words as the last one: the engine just goes on decoding.
        replied = replied or (answer.old and self.stage.stage == "decoding")
        return self.notice if answer.asked is not None and replied else answer.text

    def mode_view(self, name: ModeName | None) -> ModeView | None:
        """The row of mode `name`, if the session knows it."""
        return next((row for row in self.modes if row.name == name), None)
