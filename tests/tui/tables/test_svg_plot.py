"""The comparison as an SVG file."""

import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from idlegap.core.compare.machines import Machine, machine
from idlegap.core.results.store import read
from idlegap.tui.tables.svg_plot import svg
from tests.core.bench.results import arm, bench, columns, run
from tests.paths import EXAMPLES

ROWS = [machine(read(path)) for path in sorted(EXAMPLES.glob("*.json"))]


def texts(machines: list[Machine]) -> list[str]:
    drawn = ElementTree.fromstring(svg(machines))
    return [element.text or "" for element in drawn.iter() if element.tag.endswith("text")]


def test_the_plot_names_every_machine_and_what_it_is() -> None:
    found = texts([*ROWS, machine(bench())])
    for label in ("RTX 3070, Ryzen 7 3700X *", "RTX 4060 Ti, Core i7-11700 *", "H200", "eager decode"):
        assert label in found
    assert "* published, not measured by idlegap" in found
    assert "the same kernels from a graph" in found


def test_measured_machines_alone_carry_no_mark() -> None:
    assert not any("published" in text for text in texts([machine(bench())]))


def test_a_contended_machine_is_marked() -> None:
    runs = tuple(run(turn, columns([10.0] * 20, delays_ms=[4.0] * 20)) for turn in range(4))
    busy = machine(bench(arm("eager-static", runs=runs)))
    found = texts([busy, *ROWS])
    assert f"H200, {busy.cpu} !" in found
    assert "! measured under contention" in found
    assert not any("!" in text for text in texts([machine(bench()), *ROWS]))


def test_the_same_results_give_the_same_bytes() -> None:
    assert svg(ROWS) == svg(ROWS)


def test_machines_without_a_bandwidth_leave_an_empty_plot() -> None:
    assert "decode rate, tokens/s" in texts([machine(bench(gpu=None))])


@pytest.mark.parametrize(
    ("name", "shown"), [("$\\frac{$", "$\\frac{$"), ("\x1b[2J<H200>\x00", "?[2J<H200>?"), ("a\nb", "a b")]
)
def test_a_name_is_neither_a_formula_nor_a_control_character(name: str, shown: str) -> None:
    row = replace(machine(bench()), gpu=name)
    assert [text for text in texts([row]) if shown in text] == [f"{shown}, {row.cpu}", shown]


def test_without_matplotlib_the_extra_is_named() -> None:
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = sys.modules['matplotlib.figure'] = None\n"
        "from pathlib import Path\n"
        "from idlegap.tui.tables.svg_plot import svg\n"
        "from idlegap.tui.tables.svg_plot import PlotError\n"
        "try:\n"
        "    svg([])\n"
        "except PlotError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "--svg needs matplotlib: install idlegap with its extra 'report'\n"
