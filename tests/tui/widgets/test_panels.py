"""Host, GPU, header, rate and the rest: what they say, and what they say when nothing is known."""

from dataclasses import replace

import pytest

from idlegap.core.protocol.events import CgroupSample, CpuSample, GpuSample
from idlegap.core.session.snapshot import Rate, Snapshot, StageView
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets import readings
from idlegap.tui.widgets.compact import Compact
from idlegap.tui.widgets.cores import core_line
from idlegap.tui.widgets.digits import big
from idlegap.tui.widgets.failure import Failure
from idlegap.tui.widgets.gpu_panel import GpuPanel
from idlegap.tui.widgets.header import Header
from idlegap.tui.widgets.host_panel import HostPanel
from idlegap.tui.widgets.key_bar import KeyBar
from idlegap.tui.widgets.loading import Loading
from idlegap.tui.widgets.mode_bars import ModeBars
from idlegap.tui.widgets.palette import DIM
from idlegap.tui.widgets.panel import Panel
from idlegap.tui.widgets.playback_bar import PlaybackBar, playback_words
from idlegap.tui.widgets.rate import RatePanel
from idlegap.tui.widgets.sentence import Sentence
from idlegap.tui.widgets.text_view import TextView
from idlegap.tui.widgets.work_panel import WorkPanel
from tests.tui.support import scenes

SECOND = 10**9


def text(panel: type[Panel], snap: Snapshot, width: int = 80, height: int = 2) -> str:
    return "\n".join(line.plain for line in panel(GlyphLevel.BRAILLE).paint(snap, width, height))


EMPTY = Snapshot(0, StageView("starting", "", None, 0))


@pytest.mark.parametrize("height", [2, 11])
def test_gpu_panel_puts_nvml_beside_true_busy(height: int) -> None:
    shown = text(GpuPanel, scenes.eager_and_graph(), 80, height)
    assert "99 %" in shown
    assert "89 %" in shown
    assert "1,980 MHz, not limited" in shown
    assert "212/700 W" in shown
    assert "3.30/141 GB" in shown
    assert "41 °C" in shown


def test_beside_meters_of_new_cache_lengths_busy_is_a_share_of_tokens_at_these() -> None:
    snap = scenes.first_round()
    known = tuple(replace(m, wall_ns=21_600_000) if m.current else m for m in snap.modes)
    assert "device busy 4.6 %" in text(GpuPanel, replace(snap, modes=known), 80, 11)


@pytest.mark.parametrize("height", [2, 11])
def test_gpu_panel_says_why_it_is_empty(height: int) -> None:
    shown = text(GpuPanel, scenes.no_gpu(), 80, height)
    assert "n/a: no NVIDIA driver: NVML shared library not found" in shown
    assert "n/a: needs CUDA" in shown
    assert "0 %" not in shown


@pytest.mark.parametrize("height", [2, 11])
def test_while_nothing_decodes_no_busy_share_stands_beside_the_live_meters(height: int) -> None:
    shown = text(GpuPanel, scenes.compiling(), 100, height)
    assert "0.0 %" in shown
    assert "n/a: nothing decodes now" in shown
    assert "89 %" not in shown
    assert "n/a: nothing decodes now" in text(HostPanel, scenes.compiling(), 100, height)


@pytest.mark.parametrize(("width", "height"), [(80, 3), (80, 1), (60, 3)])
def test_while_nothing_decodes_the_rate_is_dim_and_called_the_last_one(width: int, height: int) -> None:
    live, halted = (
        RatePanel(GlyphLevel.BRAILLE).paint(scene(), width, height)
        for scene in (scenes.eager_and_graph, scenes.compiling)
    )
    assert "last: mode 3 graph" in "\n".join(line.plain for line in halted)
    assert "last" not in "\n".join(line.plain for line in live)
    strips = [line.strip(width, GlyphLevel.BRAILLE) for line in halted]
    assert {style for strip in strips for text, style, _ in strip if text.strip()} == {DIM}


def test_a_mode_without_tokens_has_no_last_ones() -> None:
    entered = replace(scenes.compiling(), rate=None, modes=scenes.mode_views((), "graph"))
    assert "last" not in text(RatePanel, entered, 80, 3)
    assert "n/a: not measured yet" in text(GpuPanel, entered, 80, 2)


def test_each_missing_gpu_reading_carries_its_reason() -> None:
    gpu = GpuSample(
        scenes.NOW_NS,
        sm_mhz=1980,
        missing={"util_pct": "MIG", "gpm_dram_pct": "needs Hopper", "power_mw": "not supported"},
    )
    shown = text(GpuPanel, replace(scenes.eager_and_graph(), gpu=gpu), 100, 11)
    assert "n/a: MIG" in shown
    assert "n/a: needs Hopper" in shown
    assert "n/a: not supported" in shown


def test_event_reasons_are_words() -> None:
    gpu = GpuSample(scenes.NOW_NS, sm_mhz=1200, event_reasons=0x4 | 0x40)
    shown = text(GpuPanel, replace(scenes.eager_and_graph(), gpu=gpu), 100, 11)
    assert "1,200 MHz, software power cap + hardware thermal slowdown (!)" in shown


def test_old_readings_are_called_stale() -> None:
    later = replace(scenes.eager_and_graph(), t_ns=scenes.NOW_NS + 12 * SECOND)
    assert "stale 12 s" in text(GpuPanel, later)
    assert "stale 12 s" in text(HostPanel, later)
    assert "stale" not in text(GpuPanel, scenes.eager_and_graph())


@pytest.mark.parametrize("height", [2, 11])
def test_host_panel_names_the_decode_core_and_what_disturbs_it(height: int) -> None:
    shown = text(HostPanel, scenes.eager_and_graph(), 80, height)
    assert "decode on core 3" in shown
    assert "0.02 ms/token" in shown
    assert "12 %" in shown
    assert "no quota" in shown
    assert "0.3 %" in shown


def test_host_panel_sets_cpu_time_beside_its_best() -> None:
    assert "CPU time of a token    45.7 ms/token, 22.5 at best" in text(HostPanel, scenes.slow_host(), 80, 11)
    assert "CPU time" not in text(HostPanel, scenes.eager_and_graph(), 80, 11)


def test_the_short_host_panel_tells_cpu_time_only_while_the_host_is_slow() -> None:
    assert "CPU time 45.7 ms/token, 22.5 at best" in text(HostPanel, scenes.slow_host(), 80, 2)
    assert "CPU time" not in text(HostPanel, scenes.eager_only(), 80, 2)


def test_a_replay_does_not_wait_for_a_reading_that_was_not_recorded() -> None:
    assert "this screen costs      1.3 % CPU" in text(HostPanel, scenes.replayed(), 80, 11)
    assert "this screen" not in text(HostPanel, replace(scenes.replayed(), monitor=None), 80, 11)
    assert "this screen costs      n/a: no reading yet" in text(
        HostPanel, replace(scenes.eager_and_graph(), monitor=None), 80, 11
    )


def test_the_marker_stands_under_the_decode_core() -> None:
    lines = HostPanel(GlyphLevel.BRAILLE).paint(scenes.eager_and_graph(), 60, 11)
    bars, marker = lines[1].plain, lines[2].plain
    assert bars[marker.index("▲")] == "█"


def test_many_cores_share_bars_and_the_busiest_one_shows() -> None:
    pct = [0.0] * 128
    pct[77] = 100.0
    bars = core_line(pct, 77, 32, GlyphLevel.BRAILLE).plain
    assert len(bars) == 32
    assert bars.index("█") == 77 // 4


@pytest.mark.parametrize(("level", "bars"), [(GlyphLevel.BLOCKS, "·▒█"), (GlyphLevel.ASCII, "059")])
def test_core_bars_come_in_every_glyph_level(level: GlyphLevel, bars: str) -> None:
    assert core_line([0.0, 50.0, 100.0], None, 9, level).plain == bars


def test_a_quota_tells_how_much_it_took_away() -> None:
    half = CgroupSample(0, quota_cores=1.5, throttled_ns=SECOND // 8, throttled=2, interval_ns=SECOND // 4)
    assert readings.quota(half) == "quota 1.5, throttled 50 %"
    unread = CgroupSample(0, missing={"quota_cores": "cpu.max unreadable"})
    assert readings.quota(unread) == "quota n/a: cpu.max unreadable"


def test_pressure_prefers_our_own_group() -> None:
    both = CgroupSample(0, cgroup_pressure_us=25_000, system_pressure_us=100_000, interval_ns=SECOND // 4)
    whole = CgroupSample(0, system_pressure_us=100_000, interval_ns=SECOND // 4)
    none = CgroupSample(0, interval_ns=SECOND, missing={"system_pressure_us": "no PSI"})
    assert [readings.pressure(s).strip() for s in (both, whole, none)] == ["10 %", "40 %", "n/a: no PSI"]


def test_before_the_first_reading_nothing_is_zero() -> None:
    for panel in (HostPanel, GpuPanel, WorkPanel):
        shown = text(panel, EMPTY, 80, 11)
        assert "n/a" in shown
        assert not any(digit in shown for digit in "0123456789")


def test_long_reasons_give_way_before_whole_readings_do() -> None:
    cpu = CpuSample(scenes.NOW_NS, core_pct=(1.0,), others_pct=3.0, missing={"steal_pct": "x" * 60})
    shown = text(HostPanel, replace(scenes.eager_and_graph(), cpu=cpu))
    assert "steal n/a ·" in shown
    assert "no quota" in shown


def test_header_tells_random_from_real_weights() -> None:
    assert "qwen2.5-1.5b shape, random fp16" in text(Header, scenes.eager_and_graph())
    assert "Qwen2.5-1.5B, real weights fp16" in text(Header, scenes.six_modes())


def test_header_states() -> None:
    live = scenes.eager_and_graph()
    assert text(Header, live).endswith("LIVE ")
    assert text(Header, replace(live, paused=True)).endswith("PAUSED ")
    assert text(Header, scenes.failed()).endswith("ENGINE LOST ")
    assert text(Header, scenes.loading()).endswith("DOWNLOADING 12.4 s ")
    assert "in-process (includes UI)" in text(Header, replace(live, in_process=True))


def test_rate_is_large_where_it_can_be_and_small_elsewhere() -> None:
    snap = scenes.eager_and_graph()
    assert "█" in text(RatePanel, snap, 80, 3)
    for width, height in ((80, 1), (60, 3)):
        small = text(RatePanel, snap, width, height)
        assert "239 tok/s" in small
        assert "4.18 ms/token" in small
    assert text(RatePanel, EMPTY, 80, 1).split() == ["-", "tok/s", "-", "ms/token"]
    fast = replace(snap, rate=Rate(1389.4, 720_000, 720_000, 730_000, 96))
    assert " 1,389 tok/s" in text(RatePanel, fast, 80, 1)
    assert text(RatePanel, fast, 80, 3).splitlines()[2].startswith("  " + big("1389")[2])
    ascii_rows = RatePanel(GlyphLevel.ASCII).paint(snap, 80, 3)
    assert "239 tok/s" in ascii_rows[0].plain


def test_keys_follow_the_state() -> None:
    live = scenes.eager_and_graph()
    assert "space → eager" in text(KeyBar, live)
    assert "space → graph" in text(KeyBar, scenes.eager_only())
    assert "space" not in text(KeyBar, scenes.no_gpu())
    assert "p resume" in text(KeyBar, replace(live, paused=True), 100)
    assert "R restart the engine  d detail" in text(KeyBar, scenes.failed())
    beside = replace(scenes.failed(), neighbours=2)
    assert "R restart the engine  N end a neighbour  d detail" in text(KeyBar, beside)
    assert "space" not in text(KeyBar, scenes.loading())
    for width in (30, 80, 200):
        assert text(KeyBar, live, width).rstrip().endswith("? help  q quit")
        assert len(text(KeyBar, live, width).rstrip()) <= width


def test_the_80_column_bar_prefers_pages_that_explain() -> None:
    bar = text(KeyBar, scenes.eager_and_graph())
    assert "n neighbour  w why  e explain" in bar
    assert "s save" not in bar
    assert "s save" in text(KeyBar, scenes.eager_and_graph(), 200)


def test_the_bar_offers_what_undoes() -> None:
    assert "n N neighbour" in text(KeyBar, scenes.contended(), 140)
    assert "r stop recording" in text(KeyBar, scenes.contended(), 140)
    assert "r record" in text(KeyBar, scenes.eager_and_graph(), 140)


@pytest.mark.parametrize("height", [2, 11])
def test_host_panel_says_who_contends_and_what_of_it_is_ours(height: int) -> None:
    shown = text(HostPanel, scenes.contended(), 80, height)
    assert "neighbour: waits 43 % for a CPU" in shown
    assert "3 neighbours of ours" in shown
    assert "of ours" not in text(HostPanel, scenes.eager_and_graph(), 80, height)


def test_the_badge_stands_in_the_header_while_the_machine_is_contended() -> None:
    assert text(Header, scenes.contended()).endswith("CONTENDED  REC 1.2 MB  LIVE ")
    assert "CONTENDED" not in text(Header, scenes.eager_and_graph())


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_header_keeps_state_and_model_before_anything_else(width: int) -> None:
    named = replace(scenes.contended(), engine=scenes.engine(model="org/" + "long-name" * 9, batch=8))
    shown = text(Header, named, width)
    assert len(shown) == width
    assert shown.endswith("LIVE ")
    assert width == 60 or "long-name" in shown


def test_playback_bar_shows_head_switches_and_the_token() -> None:
    snap = scenes.replayed()
    shown = text(PlaybackBar, snap, 100, 1)
    position, bar, length, *token = shown.split(maxsplit=3)
    assert (position, length, token) == ("1:05", "2:30", ["token 1,204 of round 3: 4.18 ms"])
    assert bar.index("█") == len(bar) * 65 // 150
    assert [i for i, c in enumerate(bar) if c == "┊"] == [len(bar) * s // 150 for s in (20, 61, 110)]


def test_playback_bar_ends_with_what_is_wrong_with_the_end() -> None:
    snap = scenes.replayed()
    assert snap.playback is not None
    over = replace(snap.playback, position_ns=snap.playback.length_ns, ended=True, ending="it was cut off")
    shown = text(PlaybackBar, replace(snap, playback=over), 100, 1)
    assert shown.endswith("█ 2:30 it was cut off")
    assert text(PlaybackBar, scenes.eager_and_graph(), 100, 1) == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"playing": True}, "playing 4x"),
        ({}, "paused 4x"),
        ({"ended": True}, "at its end"),
        ({"behind": True, "playing": True}, "catching up 4x"),
    ],
)
def test_a_replay_says_what_it_does(changes: dict[str, bool], words: str) -> None:
    playback = scenes.replayed().playback
    assert playback is not None
    assert playback_words(replace(playback, **changes)) == words  # type: ignore[arg-type]


def test_a_replay_invites_to_no_key_that_asks_an_engine() -> None:
    shown = text(ModeBars, scenes.replayed(), 80, 7)
    assert "press" not in shown
    assert "not visited yet: inductor kernels" in shown


def test_failure_shows_reason_hint_log_tail_and_keys() -> None:
    shown = text(Failure, scenes.failed(), 80, 12)
    assert "signal 6 (SIGABRT)" in shown
    assert "engine-4242.log" in shown
    assert "device-side assert" in shown
    assert "exit code 4" in shown
    assert "exit code 3" in text(Failure, scenes.unsupported(), 80, 12)
    short = text(Failure, scenes.failed(), 80, 6)
    assert "device-side assert" in short
    assert "R starts it again" in short


def test_loading_lists_finished_stages_with_their_time() -> None:
    panel = Loading(GlyphLevel.BRAILLE)
    panel.paint(replace(EMPTY, stage=StageView("starting", "", None, 0)), 80, 14)
    panel.paint(replace(EMPTY, t_ns=SECOND, stage=StageView("importing", "", None, SECOND)), 80, 14)
    at_4_s = replace(EMPTY, t_ns=4 * SECOND, stage=StageView("building", "1.5b", 0.5, 3 * SECOND))
    shown = "\n".join(line.plain for line in panel.paint(at_4_s, 80, 14))
    assert "✓ starting the engine process" in shown
    assert "✓ importing torch and transformers    2.0 s" in shown
    assert "▸ building the model                  1.0 s" in shown
    assert "░  50 %" in shown


def test_a_notice_goes_before_the_sentence() -> None:
    snap = scenes.eager_and_graph()
    assert text(Sentence, snap).startswith(" ► The host submits once")
    assert text(Sentence, replace(snap, notice="look")).startswith(" ! look")
    assert "the last ones before the engine ended" in text(Sentence, scenes.failed())
    tokenless = text(Sentence, scenes.unsupported())
    assert tokenless == " ► The engine ended before it had decoded anything."


def test_text_shows_its_end() -> None:
    snap = replace(EMPTY, text="word " * 100 + "the end")
    assert text(TextView, snap, 40, 1).endswith("the end")
    assert text(TextView, snap, 40, 3).endswith("the end")
    assert "\n" not in text(TextView, replace(EMPTY, text="a\nb\x1b[2J"), 40, 1)
    assert "\x1b" not in text(TextView, replace(EMPTY, text="a\nb\x1b[2J"), 40, 1)


def test_work_panel_shows_ceilings_and_kernels() -> None:
    shown = text(WorkPanel, scenes.eager_and_graph(), 70, 12)
    assert "0.72 ms, 1,389 tok/s" in shown
    assert "4,290 GB/s, 17 % used" in shown
    assert "read bandwidth         4,100 GB/s" in shown
    assert "4,814 GB/s (NVML), 15 % used" in shown
    assert "1,431" in shown
    assert "gemvNSP_kernel" in shown


def test_compact_view_says_the_most_important_first() -> None:
    lines = text(Compact, scenes.eager_and_graph(), 40, 10).splitlines()
    assert lines[0].strip() == "239 tok/s"
    assert "GPU idle 11 %" in lines
    halted = text(Compact, scenes.compiling(), 40, 10).splitlines()
    assert "3 graph  (last)" in halted
    assert not any("GPU idle" in line for line in halted)
    assert "engine lost" in text(Compact, scenes.failed(), 40, 10)
    assert "downloading the model 12.4 s" in text(Compact, scenes.loading(), 40, 10)
