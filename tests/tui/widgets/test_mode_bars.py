"""The bars of the modes: one scale, the same work in each row, honest when nothing is measured."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.protocol.events import Verified
from idlegap.core.session.snapshot import Snapshot
from idlegap.tui.terminal.glyphs import GlyphLevel
from idlegap.tui.widgets.mode_bars import ModeBars, shown_rows, split_cells
from tests.tui.support import scenes

PARTS = st.lists(st.integers(min_value=0, max_value=10**9), min_size=1, max_size=6)


def rows(snap: Snapshot, width: int = 80, height: int = 7) -> list[str]:
    return [line.plain for line in ModeBars(GlyphLevel.BRAILLE).paint(snap, width, height)]


@given(PARTS, st.integers(min_value=1, max_value=200))
def test_parts_of_a_full_bar_fill_it_exactly(parts: list[int], cells: int) -> None:
    filled = split_cells(parts, sum(parts), cells)
    assert sum(filled) == (cells if sum(parts) else 0)
    assert all(n >= 0 for n in filled)


@given(PARTS, st.integers(min_value=1, max_value=200))
def test_no_part_is_off_by_more_than_one_cell(parts: list[int], cells: int) -> None:
    scale = max(1, sum(parts))
    for part, n in zip(parts, split_cells(parts, scale, cells), strict=True):
        assert abs(n - part / scale * cells) <= 1


def test_the_same_device_work_in_eager_and_graph_and_the_dotted_part_gone() -> None:
    shown = rows(scenes.eager_and_graph())
    static, graph = (next(r for r in shown if f" {name} " in r) for name in ("eager-static", "graph"))
    assert abs(static.count("█") + static.count("▓") - graph.count("█") - graph.count("▓")) <= 1
    assert static.count("·") > 20
    assert "·" not in graph
    assert "84 % idle" in static
    assert "11 % idle" in graph
    assert "5.48x" in graph


def test_a_first_round_has_a_bar_and_no_speed_up() -> None:
    eager, static, graph = (row for row in rows(scenes.first_round()) if " idle" in row)
    assert eager.endswith("first")
    assert eager.count("·") > static.count("·")
    assert (static[-4:], graph[-5:]) == ("base", "5.48x")


def test_without_a_profile_bars_show_dispatch_and_wait_and_say_so() -> None:
    shown = rows(scenes.eager_only())
    assert "dispatch (the host submits)" in shown[0]
    assert "bound" not in shown[0]
    assert "idle" not in "".join(shown)
    assert "100 % dispatch" in next(r for r in shown if "eager-static" in r)


def test_a_mixed_screen_names_all_six_parts() -> None:
    snap = scenes.eager_and_graph()
    unmeasured = replace(
        snap, modes=tuple(replace(m, split=None) if m.name == "eager" else m for m in snap.modes)
    )
    legend = rows(unmeasured)[0]
    assert all(name in legend for name in ("bound", "other", "launch+gap", "host", "dispatch", "wait"))
    assert len(legend.rstrip()) <= 80


def test_modes_not_visited_say_how_and_those_that_cannot_run_say_why() -> None:
    shown = "\n".join(rows(scenes.unavailable_modes()))
    assert "press 1: dynamic cache, plain forward" in shown
    assert "n/a: compilation failed: InductorError" in shown


def test_the_mode_that_was_just_entered_has_no_token_yet() -> None:
    entered = replace(scenes.eager_only(), modes=scenes.mode_views((), "graph"))
    assert any(" ▸ 3 graph " in row and "no token yet" in row for row in rows(entered))


def test_the_current_mode_is_marked_by_a_sign() -> None:
    marked = [row for row in rows(scenes.eager_and_graph()) if "▸" in row]
    assert len(marked) == 1
    assert "3 graph" in marked[0]


def test_where_room_is_short_visited_modes_stay() -> None:
    modes = scenes.mode_views(("graph", "fused"), "fused", {"eager": "why not"})
    assert [m.name for m in shown_rows(modes, 2)] == ["graph", "fused"]
    assert [m.name for m in shown_rows(modes, 1)] == ["fused"]
    assert "eager" not in [m.name for m in shown_rows(modes, 5)]


def test_the_common_scale_stays_while_medians_wobble() -> None:
    bars = ModeBars(GlyphLevel.BRAILLE)

    def graph_row(slowness: float) -> str:
        views = scenes.mode_views(("eager-static", "graph"), "graph", slowness=slowness)
        still = scenes.mode_views(("eager-static", "graph"), "graph")
        mixed = tuple(s if s.name == "graph" else v for s, v in zip(still, views, strict=True))
        return bars.paint(replace(scenes.eager_and_graph(), modes=mixed), 400, 7)[3].plain

    assert graph_row(1.0) == graph_row(1.02) == graph_row(0.98)
    assert graph_row(1.0) != graph_row(3.0)


def test_a_mode_with_other_tokens_is_marked_in_place_of_its_speed_up() -> None:
    wrong = Verified(0, "graph", 255, 12, 2.1, 255, 0.01, flagged=True)
    snap = scenes.SCENES["eager-and-graph"]()
    modes = tuple(replace(m, verified=wrong) if m.name == "graph" else m for m in snap.modes)
    (graph,) = [row for row in rows(replace(snap, modes=modes)) if "3 graph" in row]
    assert graph.rstrip().endswith("WRONG")


def test_the_mode_that_saw_a_slower_host_is_marked_and_the_mark_is_named() -> None:
    legend, *modes = rows(scenes.host_changed())
    assert legend.rstrip().endswith("* host changed")
    assert len(legend) <= 80
    assert [row.split()[-1] for row in modes if row.rstrip().endswith("*")] == ["0.35x*"]
    assert max(len(row) for row in modes) <= 80
    assert "*" not in "".join(rows(scenes.eager_and_graph()))
