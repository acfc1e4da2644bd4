"""Detail, explanation and help: today's numbers under their definitions."""

from dataclasses import replace
from typing import get_args

import pytest

from idlegap.core.measure.roofline import Ceiling
from idlegap.core.phrasing.contention import advice
from idlegap.core.protocol.events import CpuSample, KernelTotal, ProfileWindow
from idlegap.core.protocol.modes import MODES, ModeSpec
from idlegap.core.session.snapshot import Snapshot, StageView
from idlegap.core.slow_tokens.causes import Cause, CauseTotal
from idlegap.tui.screens.detail import detail_text
from idlegap.tui.screens.explain import explain_text
from idlegap.tui.screens.help import KEYS, REPLAY_KEYS, help_text
from idlegap.tui.screens.page import PageText
from idlegap.tui.screens.why import threshold_words, why_text
from idlegap.tui.widgets.cause_marks import MARKS, MEANINGS, UNKNOWN_MARK
from tests.tui.support import scenes


def text(page: PageText, snap: Snapshot, width: int = 80) -> str:
    return "\n".join(line.plain for line in page(snap, width))


PAGES = pytest.mark.parametrize("page", [detail_text, explain_text, help_text, why_text])
EVERY_SCENE = pytest.mark.parametrize("scene", [*scenes.SCENES.values(), scenes.unsupported])


@PAGES
@EVERY_SCENE
@pytest.mark.parametrize("width", [80, 120, 160])
def test_no_row_is_wider_than_the_screen(page: PageText, scene: "type[Snapshot]", width: int) -> None:
    assert max(line.cells for line in page(scene(), width)) <= width


@PAGES
def test_pages_work_before_anything_is_known(page: PageText) -> None:
    empty = Snapshot(0, StageView("starting", "", None, 0))
    assert text(page, empty)


def test_detail_sets_meters_side_by_side() -> None:
    shown = text(detail_text, scenes.eager_and_graph())
    for row in (
        "device busy             89 %",
        "NVML utilisation        99 %",
        "GPM graphics            96 %",
        "GPM SM                  25 %",
        "GPM DRAM                16 %",
    ):
        assert row in shown


def test_detail_says_between_which_visits_the_host_changed_speed() -> None:
    shown = " ".join(text(detail_text, scenes.host_changed()).split())
    assert f"* {scenes.host_changed().host_changes[0].text}" in shown
    assert "* To submit" not in text(detail_text, scenes.eager_and_graph())


def test_detail_says_which_figures_are_of_new_cache_lengths() -> None:
    shown = " ".join(text(detail_text, scenes.first_round()).split())
    assert "first: eager has decoded only at cache lengths that were new" in shown
    assert "cuDNN" not in shown
    assert "first:" not in text(detail_text, scenes.eager_and_graph())


def test_detail_says_how_to_avoid_an_attention_that_is_planned_for_each_length() -> None:
    scene = scenes.first_round()
    name = "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16"
    planned = ProfileWindow(0, mode="eager", steps=4, accepted=True, top=(KernelTotal(name, 28, 142_000),))
    modes = tuple(replace(view, profile=planned) if view.first_round else view for view in scene.modes)
    shown = " ".join(text(detail_text, replace(scene, modes=modes)).split())
    assert "Attention is cuDNN's here" in shown
    assert "TORCH_CUDNN_SDPA_DEPRIORITIZED=1" in shown


def test_detail_lists_split_prefill_and_kernels() -> None:
    rows = text(detail_text, scenes.six_modes(), 100).splitlines()
    graph = next(row for row in rows if row.startswith("   3 graph"))
    assert graph.split()[2:] == [
        "4.18",
        "4.26",
        "0.03",
        "4.15",
        "3.74",
        "0.02",
        "0.02",
        "0.40",
        "31.4",
        "512",
    ]
    assert any("1.48 ms   112x ampere_fp16" in row for row in rows)
    assert any("4 steps, a pause of 310 ms" in row for row in rows)


@pytest.mark.parametrize("width", [80, 120])
def test_detail_tells_the_verdict_on_tokens(width: int) -> None:
    shown = " ".join(text(detail_text, scenes.six_modes(), width).split())
    told = "same tokens: 255/255 agree (eager with itself 255), largest logit difference 0.0144"
    assert f"{told} (eager's own 0.0134)" in shown


def test_explanations_carry_the_values_of_the_snapshot() -> None:
    rows = text(explain_text, scenes.eager_and_graph(), 100).splitlines()
    values = {row[1:22].strip(): row[22:].strip() for row in rows if row[:1] == " " and row[1:2] != " "}
    assert values["tok/s"] == "239"
    assert values["ms/token, p50, p99"] == "4.18, 4.18, 4.23"
    assert values["device busy"] == "89 % = 3.74 of 4.18 ms"
    assert values["device gap"] == "0.40 ms a token"
    assert values["NVML util"] == "99 %"
    assert values["weight-stream bound"] == "0.72 ms, 1,389 tok/s"
    assert values["run delay"] == "0.02 ms/token"
    assert values["this screen"] == "1.3 % CPU, 2.3 KB/s, 3.10 ms a frame, 4 frames/s"


@pytest.mark.parametrize(
    ("wait", "words"),
    [("spin", "spins while it waits for a token (--wait spin)"),
     ("block", "sleeps while it waits for a token (--wait block)")],
)  # fmt: skip
def test_detail_says_how_the_decode_thread_waits(wait: str, words: str) -> None:
    snap = replace(scenes.eager_and_graph(), engine=scenes.engine(wait=wait))
    assert f" thread                 {words}" in text(detail_text, snap)


@pytest.mark.parametrize("width", [80, 120])
def test_a_reason_that_several_meters_share_stands_once_and_cuts_no_definition(width: int) -> None:
    rows = text(detail_text, scenes.no_gpu(), width).splitlines()
    meters = rows[2 : rows.index("", 2)]
    assert meters[0].startswith(" device busy            n/a")
    assert meters[0].endswith(" share of a token in which the device works")
    assert meters[1] == " NVML utilisation       n/a     share of its window with any kernel running"
    assert meters[5] == " GPM DRAM               n/a     share of cycles moving data to or from memory"
    assert " ".join(" ".join(meters).split()).endswith(
        "n/a: no NVIDIA driver: NVML shared library not found "
        "(NVML utilisation, NVML samples, GPM graphics, GPM SM, GPM DRAM)"
    )
    assert ("needs CUDA (device busy)" in "".join(meters)) == (width == 80)
    assert "…" not in "".join(meters)


def test_a_reason_without_room_in_its_row_stands_below() -> None:
    rows = text(detail_text, scenes.compiling(), 80).splitlines()
    assert rows[2] == " device busy            n/a     share of a token in which the device works"
    assert " n/a: nothing decodes now (device busy)" in rows


@pytest.mark.parametrize(("tokens", "shown"), [(41_956, "41,956"), (999_999, "999,999"), (1_234_567, "1.2M")])
def test_large_counts_stay_apart_from_their_neighbours(tokens: int, shown: str) -> None:
    snap = scenes.eager_and_graph()
    snap = replace(snap, modes=tuple(replace(view, tokens=tokens) for view in snap.modes))
    row = next(r for r in text(detail_text, snap).splitlines() if "3 graph" in r)
    assert row.split()[-2:] == ["31.4", shown]


def test_what_is_not_specified_says_so_once() -> None:
    bare = Ceiling(None, None, "decoding on the CPU", None, None, None)
    shown = text(detail_text, replace(scenes.no_gpu(), ceiling=bare))
    assert " specified              n/a: decoding on the CPU" in shown


@pytest.mark.parametrize("spec", MODES)
def test_what_a_mode_is_for_reads_well_after_shows(spec: ModeSpec) -> None:
    shown = " ".join(text(help_text, scenes.eager_and_graph(), 100).split())
    assert f"{spec.name}: {spec.summary}; shows {spec.isolates}" in shown
    assert not spec.isolates.endswith("fastest")


def test_pages_set_no_old_share_beside_the_live_meters() -> None:
    assert "device busy            n/a: nothing decodes now" in text(detail_text, scenes.compiling(), 120)
    shown = text(explain_text, scenes.compiling(), 100)
    assert "device busy          n/a: nothing decodes now\n" in shown
    assert "239 (the last ones: nothing decodes now)" in shown
    assert "the last ones" not in text(explain_text, scenes.eager_and_graph(), 100)


def test_explanations_do_not_wait_for_what_was_not_recorded() -> None:
    shown = text(explain_text, replace(scenes.replayed(), monitor=None), 100)
    assert "this screen          n/a: not in this recording so far" in shown


def test_explanations_say_why_cpu_time_tells_nothing() -> None:
    assert "CPU time of a token  n/a: the thread also waits for the GPU" in text(
        explain_text, scenes.eager_and_graph()
    )
    assert "CPU time of a token  n/a: nothing decodes now" in text(explain_text, scenes.compiling())


def test_explanations_say_why_a_value_is_missing() -> None:
    shown = text(explain_text, scenes.no_gpu(), 100)
    assert "host gap             n/a: needs CUDA" in shown
    assert "NVML util            n/a: no NVIDIA driver" in shown


def test_help_names_every_key_and_mode() -> None:
    shown = text(help_text, scenes.unavailable_modes(), 100)
    for key, meaning in KEYS:
        assert key in shown
        assert meaning.split()[0] in shown
    for spec in MODES:
        assert spec.summary in shown
    assert "(n/a: compilation failed: InductorError" in " ".join(shown.split())


def test_help_on_a_small_terminal_wraps_and_cuts_nothing() -> None:
    small, wide = (text(help_text, scenes.eager_and_graph(), width).split() for width in (80, 100))
    assert small == wide


def test_why_tells_shares_causes_evidence_and_advice() -> None:
    shown = text(why_text, scenes.contended(), 110)
    for words in (
        "CONTENDED: neighbour: waits 43 % for a CPU",
        "3 neighbours of ours",
        "► 3 neighbours are of our own making",
        "since eager-static was entered",
        "N neighbour    81 %     912 ms",
        "main cause of 51 tokens",
        "main cause of 1 token",
        "N 1 s ago, token 3/1,204: 41.3 ms, +18.9 ms: the decode thread waited 17.6 ms for a CPU",
    ):
        assert words in shown
    assert shown.index("token 3/1,204") < shown.index("token 3/1,187")


def test_in_a_replay_slow_tokens_stand_at_their_positions() -> None:
    playback = scenes.replayed().playback
    shown = text(why_text, replace(scenes.contended(), playback=playback))
    assert "N 1:03, token 3/1,204: 41.3 ms" in shown
    assert "▲ 0:04, token 3/41: 6.20 ms" in shown


@pytest.mark.parametrize("cpu", [None, CpuSample(0, (2.0,) * 16)])
def test_the_longest_advice_against_neighbours_is_not_cut_short(cpu: CpuSample | None) -> None:
    snap = replace(scenes.contended(), mode="graph", cpu=cpu, host=None, neighbours=0)
    said = advice(snap)
    shown = text(why_text, snap, 80)
    assert said in " ".join(shown.split())
    assert "--wait block" in said


def test_why_says_that_the_host_is_slow_though_nobody_holds_the_thread_back() -> None:
    shown = " ".join(text(why_text, scenes.slow_host()).split())
    assert "the host is slow: CPU time 45.7 ms/token, 22.5 at best; it does not wait for a CPU" in shown
    assert "nothing holds" not in shown


def test_thousands_of_slow_tokens_still_fit_beside_their_bar() -> None:
    shares = (CauseTotal("neighbour", 48_950_000_000, 3_450), CauseTotal("more cpu", 527_000_000, 1))
    assert "main cause of 3,450 tokens" in text(why_text, replace(scenes.contended(), slow_shares=shares))


def test_a_cause_that_was_never_the_largest_says_so() -> None:
    shares = (CauseTotal("neighbour", 900_000_000, 1), CauseTotal("more cpu", 9_000_000, 0))
    shown = text(why_text, replace(scenes.contended(), slow_shares=shares))
    assert "main cause of 1 token\n" in shown
    assert "no token's main cause" in shown
    assert "of 0 tokens" not in shown


def test_why_states_the_threshold_and_how_it_is_made() -> None:
    assert threshold_words(scenes.contended()).startswith(
        "slow: above 25.2 ms = the mode's median 22.9 ms plus the larger of 6 MAD and 10 % of the median"
    )
    assert threshold_words(scenes.eager_and_graph()).startswith(
        "slow: n/a: needs 32 counted tokens; then above the mode's median"
    )


def test_why_says_that_there_is_nothing_to_say() -> None:
    shown = text(why_text, scenes.eager_and_graph())
    assert "nothing holds the decode thread back" in shown
    assert "no slow token of this mode has been explained yet" in shown
    assert "none so far" in shown
    halted = text(why_text, scenes.compiling())
    assert "nothing decodes now" in halted
    assert "nothing holds" not in halted


def test_every_cause_has_a_letter_of_its_own_and_a_meaning() -> None:
    assert set(MARKS) == set(MEANINGS) == set(get_args(Cause))
    assert len(set(MARKS.values())) == len(MARKS)
    assert all(mark == UNKNOWN_MARK or (mark.isascii() and len(mark) == 1) for mark in MARKS.values())
    shown = text(why_text, scenes.contended(), 110)
    assert all(meaning in shown for meaning in MEANINGS.values())


def test_help_of_a_replay_names_its_own_keys() -> None:
    shown = text(help_text, scenes.replayed(), 100)
    for key, meaning in REPLAY_KEYS:
        assert key in shown
        assert meaning.split()[0] in shown
    assert "end a noisy neighbour" not in shown
