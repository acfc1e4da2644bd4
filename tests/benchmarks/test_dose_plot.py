"""The picture of the doses: every cell stands over its own number of neighbours."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.dose_plot import curves, draw, plot


def cell(neighbours: int, mode: str, median_ms: float, arm: str = "free", **changes: Any) -> dict[str, Any]:
    made = {"arm": arm, "neighbours": neighbours, "mode": mode, "median_ms": median_ms}
    return {**made, "p10_ms": median_ms - 1, "p90_ms": median_ms + 2, "waiting": 0.25, **changes}


def report(*cells: dict[str, Any], wait: str | None = None) -> dict[str, Any]:
    engine = {"device_name": "NVIDIA H200"} | ({"wait": wait} if wait else {})
    host = {"usable_cores": 16.0}
    return {"date": "2026-11-30 00:51:10 +0000", "host": host, "engine": engine, "cells": list(cells)}


SPIN = report(
    *(cell(n, mode, 10 * n + level) for n in (0, 1, 2, 4) for mode, level in (("eager", 20), ("graph", 4)))
)
BLOCK = report(cell(4, "graph", 4.3), cell(0, "graph", 4.4), wait="block")


def lines(axes: Any) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Points by colour and line style."""
    return {
        (line.get_color(), line.get_linestyle()): [(float(x), float(y)) for x, y in line.get_xydata()]
        for line in axes.get_lines()
    }


def test_curves_of_one_mode_stand_together_and_an_old_report_waited_spinning() -> None:
    found = curves([SPIN, BLOCK])
    assert [(curve.mode, curve.wait) for curve in found] == [
        ("eager", "spin"),
        ("graph", "spin"),
        ("graph", "block"),
    ]
    assert found[2].neighbours == (0, 4)
    assert found[2].values("median_ms") == [4.4, 4.3]
    assert found[2].values("waiting", 100) == [25.0, 25.0]


def test_reports_with_other_counts_share_one_axis() -> None:
    """0 and 4 of the second report are the first and the last of 0, 1, 2, 4."""
    wall, waiting = draw([SPIN, BLOCK]).axes
    drawn = lines(wall)
    graph = next(colour for colour, style in drawn if style == "--")
    assert drawn[graph, "--"] == [(0, 4.4), (3, 4.3)]
    assert drawn[graph, "-"] == [(0, 4), (1, 14), (2, 24), (3, 44)]
    assert lines(waiting)[graph, "--"] == [(0, 25), (3, 25)]
    assert [label.get_text() for label in waiting.get_xticklabels()] == ["0", "1", "2", "4"]


def legend(*reports: dict[str, Any]) -> list[str]:
    (found,) = draw(reports).legends
    return [text.get_text() for text in found.get_texts()]


def test_the_way_to_wait_is_named_where_there_are_two() -> None:
    assert legend(SPIN) == legend(report(*SPIN["cells"], wait="block")) == ["eager", "graph"]
    assert legend(SPIN, BLOCK) == ["eager, --wait spin", "graph, --wait spin", "graph, --wait block"]


def test_equal_shares_of_one_core_are_drawn_where_all_are_on_it() -> None:
    pinned = report(*(cell(n, "graph", 4.0, arm="pinned") for n in (0, 1, 4)))
    assert legend(pinned) == ["graph", "all get the same share of the core"]
    _, waiting = draw([pinned]).axes
    assert [(0, 0), (1, 50), (2, 80)] in lines(waiting).values()


@pytest.mark.parametrize("name", ["a.png", "a.svg"])
def test_a_missing_run_delay_leaves_a_hole_and_the_file_is_written(name: str, tmp_path: Path) -> None:
    blind = report(cell(0, "graph", 4.0), cell(1, "graph", 4.1, waiting=None))
    plot([blind], tmp_path / name)
    assert (tmp_path / name).stat().st_size > 1000
    _, waiting = draw([blind]).axes
    ((before, after),) = lines(waiting).values()
    assert before == (0, 25)
    assert after[1] != after[1]
