"""The session: events in, snapshots out, over a fake source and fake sensors."""

from collections import deque

import msgspec
import pytest

from idlegap.core.phrasing.contention import advice, contention_words
from idlegap.core.phrasing.sentence import limiting_sentence
from idlegap.core.protocol.commands import SetMode
from idlegap.core.protocol.events import (
    Bandwidth,
    CpuSample,
    EngineFailed,
    EngineStage,
    GpuInfo,
    ModeEntered,
    ModeRefused,
    ModeStatus,
    ProfileWindow,
    RoundStarted,
    TextPiece,
    Token,
    TokenBatch,
    Verified,
)
from idlegap.core.protocol.reasons import because
from idlegap.core.session.first_snapshot import first_snapshot
from idlegap.core.session.session import Session
from idlegap.core.session.snapshot import STRIP_BUCKET_NS
from tests.ready import engine_ready

MS = 1_000_000
SECOND = 1_000 * MS


class FakeSource:
    in_process = False

    def __init__(self):
        self.said, self.sent, self.restarts, self.closed = deque(), [], 0, False

    def start(self):
        self.said.append(EngineStage(0, "importing", "torch"))

    def poll(self):
        taken, self.said = list(self.said), deque()
        return taken

    def send(self, command):
        self.sent.append(command)

    def restart(self):
        self.restarts += 1

    def close(self):
        self.closed = True
        self.said.append(EngineStage(9 * SECOND, "stopped"))


class FakeSensors:
    def __init__(self):
        self.running, self.watched = False, None

    def start(self):
        self.running = True

    def watch_engine(self, pid, tid, device_uuid):
        self.watched = (pid, tid, device_uuid)

    def stop(self):
        self.running = False


READY = engine_ready(
    t_ns=1,
    pid=10,
    tid=11,
    device_uuid="abc",
    weight_bytes=3_000_000_000,
    batch=2,
    modes=(ModeStatus("eager-static"), ModeStatus("graph"), ModeStatus("fused", "needs triton")),
)


def batch(mode, wall_ms, count=4, at_ns=SECOND, excluded=None):
    wall = round(wall_ms * MS)
    made = tuple(
        Token(at_ns + i * wall, at_ns + i * wall + wall // 2, at_ns + (i + 1) * wall) for i in range(count)
    )
    return TokenBatch(made[-1].done_ns, mode, 1, 0, made, excluded)


@pytest.fixture
def source():
    return FakeSource()


@pytest.fixture
def session(source):
    return Session(source, clock=lambda: 0)


def shown(session, *events, now_ns=5 * SECOND):
    session._source.said.extend(events)
    return session.snapshot(now_ns)


@pytest.mark.parametrize(
    ("stage", "age_ms", "excluded", "halted"),
    [
        ("decoding", 1_999, None, False),
        ("decoding", 2_001, None, True),
        ("decoding", 1_999, "warm-up", False),
        ("profiling", 100, None, False),
        ("stopped", 100, None, False),
        ("verifying", 100, None, True),
        ("compiling", 100, None, True),
        ("paused", 100, None, True),
    ],
)
def test_it_is_halted_in_stages_without_tokens_and_when_none_came_for_two_seconds(
    session, stage, age_ms, excluded, halted
):
    counted, newest = batch("graph", 5), batch("graph", 5, at_ns=2 * SECOND, excluded=excluded)
    events = READY, ModeEntered(2, "graph"), counted, newest, EngineStage(newest.t_ns, stage)
    snapshot = shown(session, *events, now_ns=newest.t_ns + age_ms * MS)
    assert snapshot.halted == halted
    assert snapshot.newest_ns == newest.t_ns
    assert snapshot.rate is not None
    assert snapshot.recent is None or not halted


def test_contention_is_not_told_of_tokens_that_stopped_coming(session):
    tokens = batch("graph", 5, count=40)
    events = READY, ModeEntered(2, "graph"), tokens, EngineStage(tokens.t_ns, "decoding")
    full = CpuSample(tokens.t_ns + 15 * SECOND, (99.0, 99.0), others_pct=190.0)
    snapshot = shown(session, *events, full, now_ns=tokens.t_ns + 16 * SECOND)
    assert contention_words(snapshot.contention) == "others use 1.9 of 2 cores"
    assert limiting_sentence(snapshot) == "No token for 16 s; others use 1.9 of 2 cores."


def test_slow_tokens_have_time_to_come(session):
    slow = batch("graph", 3_000)
    events = READY, ModeEntered(2, "graph"), slow, EngineStage(0, "decoding")
    assert not shown(session, *events, now_ns=slow.t_ns + 5_999 * MS).halted
    assert shown(session, now_ns=slow.t_ns + 6_001 * MS).halted


def test_before_anything_is_known_the_snapshot_says_so(session):
    snapshot = session.snapshot(0)
    assert snapshot.stage.stage == "starting"
    assert snapshot.mode is None
    assert snapshot.rate is None
    assert not any(view.visited for view in snapshot.modes)
    assert limiting_sentence(snapshot)


def test_a_stage_keeps_its_beginning_while_only_its_progress_changes(session):
    shown(session, EngineStage(5, "downloading", "0.1 of 3 GB", 0.03))
    snapshot = shown(session, EngineStage(9, "downloading", "1.5 of 3 GB", 0.5))
    assert (snapshot.stage.since_ns, snapshot.stage.fraction) == (5, 0.5)


def test_modes_carry_their_figures_and_the_speed_up_against_the_baseline(session):
    snapshot = shown(
        session,
        READY,
        ModeEntered(2, "eager-static"),
        RoundStarted(3, 1, "eager-static", 30 * MS, 512),
        batch("eager-static", 24),
        ModeEntered(4, "graph"),
        batch("graph", 4, at_ns=2 * SECOND),
    )
    eager, graph, fused = (snapshot.mode_view(name) for name in ("eager-static", "graph", "fused"))
    assert (eager.wall_ns, eager.prefill_ns, eager.current) == (24 * MS, 30 * MS, False)
    assert (graph.wall_ns, graph.dispatch_ns, graph.wait_ns, graph.current) == (4 * MS, 2 * MS, 2 * MS, True)
    assert graph.speedup == 6.0
    assert fused.reason == "needs triton"
    assert snapshot.rate.tok_per_s == pytest.approx(2 * 250)
    assert [mark.label for mark in snapshot.strip.marks] == ["graph"]


def test_excluded_tokens_are_counted_and_enter_no_figure(session):
    snapshot = shown(
        session, READY, batch("graph", 99, excluded="warm-up"), batch("graph", 50, excluded="profile")
    )
    assert snapshot.excluded == 8
    assert snapshot.rate is None
    assert snapshot.strip.columns == ()


def test_tokens_at_new_lengths_are_shown_until_others_come_and_have_no_speed_up(session):
    base = batch("eager-static", 25)
    new = batch("eager", 75, count=40, at_ns=2 * SECOND, excluded="new-length")
    events = READY, EngineStage(2, "decoding"), base, ModeEntered(2 * SECOND, "eager"), new
    snapshot = shown(session, *events, now_ns=new.t_ns)
    eager = snapshot.mode_view("eager")
    assert snapshot.rate.mean_ns == eager.wall_ns == 75 * MS
    assert (eager.first_round, eager.speedup, eager.tokens) == (True, None, 40)
    assert snapshot.excluded == 40
    assert (snapshot.at_new_length, snapshot.cpu_work_reason) == (True, because("new-lengths"))
    assert (snapshot.threshold_ns, snapshot.host_changes) == (None, ())
    assert snapshot.strip.columns[-1].median_ns == 75 * MS
    assert "75.0 ms a token. The next round counts." in limiting_sentence(snapshot)

    counted = batch("eager", 20, at_ns=new.t_ns)
    snapshot = shown(session, counted, now_ns=counted.t_ns)
    eager = snapshot.mode_view("eager")
    assert snapshot.rate.mean_ns == eager.wall_ns == 20 * MS
    assert (eager.first_round, eager.speedup, eager.tokens) == (False, 1.25, 4)
    assert not snapshot.at_new_length
    assert [mark.label for mark in snapshot.strip.marks] == ["eager", "known lengths"]


def test_a_first_round_is_followed_from_frame_to_frame(session):
    # No event names the mode: the tokens do.
    first = batch("eager", 60, count=10, excluded="new-length")
    snapshot = shown(session, READY, first)
    assert (snapshot.mode, snapshot.mode_view("eager").wall_ns) == ("eager", 60 * MS)
    slower = batch("eager", 90, count=30, at_ns=first.t_ns, excluded="new-length")
    assert shown(session, slower).mode_view("eager").wall_ns == 90 * MS


def test_marks_tell_new_lengths_from_known_ones_within_a_visit(session):
    def at(second, mode, excluded=None):
        return batch(mode, 20, at_ns=second * SECOND, excluded=excluded)

    snapshot = shown(
        session,
        READY,
        ModeEntered(SECOND, "eager"),
        at(1, "eager", "new-length"),
        ModeEntered(2 * SECOND, "graph"),
        at(2, "graph"),
        ModeEntered(3 * SECOND, "eager"),
        at(3, "eager"),
        at(4, "eager", "new-length"),
        at(5, "eager"),
    )
    told = [(mark.bucket * STRIP_BUCKET_NS // SECOND, mark.label) for mark in snapshot.strip.marks]
    entered = [(1, "eager"), (2, "graph"), (3, "eager")]
    assert told == [*entered, (4, "new lengths"), (5, "known lengths")]


def test_who_holds_back_tokens_at_new_lengths_is_asked_at_their_time(session):
    held = batch("eager", 60, count=8, at_ns=SECOND, excluded="new-length")
    waited = [msgspec.structs.replace(token, run_delay_ns=30 * MS, cpu_ns=30 * MS) for token in held.tokens]
    held = msgspec.structs.replace(held, tokens=tuple(waited))
    loads = [
        CpuSample(t_ns, (100.0, 100.0), others_pct=others, engine_pct=50.0)
        for t_ns, others in ((0, 0.0), (200 * MS, 0.0), (SECOND, 0.0), (held.t_ns, 150.0))
    ]
    events = READY, EngineStage(2, "decoding"), batch("eager", 20, at_ns=0), *loads[:3], held, loads[3]
    assert (
        contention_words(shown(session, *events, now_ns=held.t_ns).contention)
        == "neighbour: waits 50 % for a CPU"
    )


def test_new_lengths_after_a_round_that_was_cut_short_change_the_rate_alone(session):
    counted = batch("eager", 20, count=40)
    new = batch("eager", 60, count=10, at_ns=counted.t_ns, excluded="new-length")
    events = READY, EngineStage(2, "decoding"), batch("eager-static", 25, at_ns=0), counted, new
    snapshot = shown(session, *events, now_ns=new.t_ns)
    eager = snapshot.mode_view("eager")
    assert (snapshot.rate.mean_ns, snapshot.rate.p50_ns) == (60 * MS, 60 * MS)
    assert (eager.wall_ns, eager.first_round, eager.speedup) == (20 * MS, False, 1.25)
    assert snapshot.at_new_length
    assert snapshot.recent.wall_ns == 60 * MS
    assert "60.0 ms a token" in limiting_sentence(snapshot)


def test_a_batch_without_tokens_changes_nothing(session):
    counted = batch("eager", 20)
    before = shown(session, READY, counted)
    empty = [msgspec.structs.replace(counted, tokens=(), excluded=why) for why in (None, "new-length")]
    assert shown(session, *empty) == before


def test_a_profile_window_splits_the_token_and_bandwidth_gives_the_bound(session):
    window = ProfileWindow(
        7, mode="graph", steps=4, accepted=True, busy_ns=3 * MS, kernels=1429, device_gap_ns=MS // 2
    )
    snapshot = shown(session, READY, batch("graph", 4), window, Bandwidth(8, 3e12, 3e12))
    split = snapshot.mode_view("graph").split
    assert (split.bound_ns, split.other_ns, split.device_gap_ns, split.host_gap_ns) == (
        MS,
        2 * MS,
        MS // 2,
        MS // 2,
    )
    assert (snapshot.strip.busy_ns, snapshot.strip.bound_ns) == (3 * MS, MS)


def test_a_rejected_window_gives_no_split_but_its_reason(session):
    window = ProfileWindow(7, mode="graph", steps=4, accepted=False, reason="lost records")
    snapshot = shown(session, READY, batch("graph", 4), window, now_ns=SECOND)
    view = snapshot.mode_view("graph")
    assert (view.split, view.split_reason) == (None, "lost records")
    assert "lost records" in snapshot.notice


def test_mbu_against_both_bandwidths_and_the_users_own_figure_first(source):
    info = GpuInfo(1, "H200", None, bus_width_bits=6016, max_memory_mhz=3201)
    session = Session(source, clock=lambda: 0, spec_bytes_per_s=6e12)
    ceiling = shown(session, READY, info, batch("graph", 4), Bandwidth(8, 3e12, 3e12)).ceiling
    assert ceiling.spec_source == "--spec-bandwidth"
    assert ceiling.mbu_spec == pytest.approx(3e9 / 0.004 / 6e12)
    assert ceiling.mbu_measured == pytest.approx(3e9 / 0.004 / 3e12)


def test_a_refusal_is_a_notice_for_a_while_and_stays_the_modes_reason(session):
    snapshot = shown(session, READY, ModeRefused(SECOND, "graph", "capture failed"), now_ns=2 * SECOND)
    assert snapshot.notice == "graph: capture failed"
    later = session.snapshot(60 * SECOND)
    assert later.notice == ""
    assert later.mode_view("graph").reason == "capture failed"


def test_another_shape_forgets_the_figures_of_the_old_one(session):
    shown(session, READY, batch("graph", 4))
    snapshot = shown(session, READY)
    assert not any(view.visited for view in snapshot.modes)


def test_another_shape_leaves_the_device_time_of_earlier_tokens_on_the_strip(session):
    window = ProfileWindow(7, mode="graph", steps=4, accepted=True, busy_ns=3 * MS)
    wider = msgspec.structs.replace(READY, t_ns=2 * SECOND, batch=4)
    earlier = shown(session, READY, batch("graph", 4), window).strip.columns[0]
    columns = shown(session, wider, batch("graph", 8, at_ns=2 * SECOND)).strip.columns
    assert [column.busy_ns for column in columns] == [3 * MS, None]
    assert [column.reshaped for column in (earlier, *columns)] == [False, True, False]


def test_another_shape_is_marked_and_its_mode_that_is_entered_anew_does_not_cover_the_mark(session):
    wider = msgspec.structs.replace(READY, t_ns=SECOND, batch=4)
    told = shown(
        session, READY, ModeEntered(1, "graph"), batch("graph", 4.0), wider, ModeEntered(SECOND, "graph")
    )
    assert [mark.label for mark in told.strip.marks] == ["graph", "batch 4, prompt 512"]


def test_text_grows_within_a_round_and_starts_anew_with_the_next(session):
    assert shown(session, TextPiece(1, "The", True), TextPiece(2, " GPU")).text == "The GPU"
    assert shown(session, TextPiece(3, "Host", True)).text == "Host"


def test_a_failed_engine_is_shown_and_a_restart_keeps_the_machine(session, source):
    cpu = CpuSample(1, core_pct=(5.0,))
    snapshot = shown(session, READY, cpu, batch("graph", 4), EngineFailed(6, "signal 9"))
    assert snapshot.failed.reason == "signal 9"
    assert snapshot.stage.stage == "failed"
    session.restart()
    snapshot = session.snapshot(7)
    assert source.restarts == 1
    assert snapshot.failed is None
    assert snapshot.engine is None
    assert snapshot.cpu == cpu


def test_sensors_start_watch_the_engine_and_stop_and_listeners_hear_everything(source):
    sensors, sensed, heard = FakeSensors(), deque(), []
    session = Session(
        source, sensors=sensors, sensor_events=sensed, listeners=[heard.append], clock=lambda: 0
    )
    session.start()
    assert sensors.running
    sensed.append(CpuSample(2, core_pct=(1.0,)))
    source.said.append(READY)
    session.pump()
    assert sensors.watched == (10, 11, "abc")
    session.send(SetMode("graph"))
    assert source.sent == [SetMode("graph")]
    session.close()
    assert source.closed
    assert not sensors.running
    assert [type(event).__name__ for event in heard] == [
        "EngineStage",
        "EngineReady",
        "CpuSample",
        "EngineStage",
    ]


@pytest.mark.parametrize("spec_bytes_per_s", [None, 3.35e12])
@pytest.mark.parametrize("in_process", [False, True])
def test_the_first_snapshot_is_what_a_session_shows_that_has_heard_nothing(in_process, spec_bytes_per_s):
    source = FakeSource()
    source.in_process = in_process
    session = Session(source, spec_bytes_per_s=spec_bytes_per_s, clock=lambda: 7 * SECOND)
    assert session.snapshot(7 * SECOND) == first_snapshot(7 * SECOND, in_process=in_process)


@pytest.mark.parametrize(
    ("agree", "flagged", "notice"),
    [
        (255, False, "graph verified: 255/255 agree (d)"),
        (12, True, "graph verified: 12/255 agree, FLAGGED: other logits than eager's (d)"),
    ],
)
def test_a_verification_says_what_it_found(session, agree, flagged, notice):
    verified = Verified(SECOND, "graph", 255, agree, 0.1, 255, 0.1, flagged=flagged)
    assert shown(session, READY, verified, now_ns=2 * SECOND).notice == notice


def test_nobody_holds_back_an_engine_that_is_lost(session):
    crowd = CpuSample(SECOND, (100.0, 100.0), others_pct=190.0)
    lost = EngineFailed(SECOND, "killed")
    assert (
        contention_words(shown(session, READY, crowd, now_ns=SECOND).contention)
        == "others use 1.9 of 2 cores"
    )
    snapshot = shown(session, lost, now_ns=SECOND)
    assert (contention_words(snapshot.contention), advice(snapshot)) == ("", "")


def test_a_source_that_the_system_does_not_let_start_has_failed_until_it_is_restarted():
    class Barred(FakeSource):
        def start(self):
            raise PermissionError(13, "Permission denied")

        restart = start

    heard = []
    session = Session(Barred(), sensors=FakeSensors(), listeners=(heard.append,), clock=lambda: 5)
    session.start()
    assert session.snapshot(6).failed == EngineFailed(5, "cannot be started: [Errno 13] Permission denied")
    session.restart()
    assert session.snapshot(7).stage.stage == "failed"
    assert [type(event) for event in heard] == [EngineFailed, EngineStage, EngineFailed]
