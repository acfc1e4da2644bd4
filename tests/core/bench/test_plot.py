"""The comparison as an SVG file."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from core.analysis.machines import machine
from core.bench.plot import write_svg
from core.bench.store import ResultError, read
from tests.core.bench.results import arm, bench, columns, run

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
ROWS = [machine(path.stem, read(path)) for path in sorted(EXAMPLES.glob("*.json"))]


def texts(path: Path) -> list[str]:
    return [element.text or "" for element in ElementTree.parse(path).iter() if element.tag.endswith("text")]


def test_the_plot_names_every_machine_and_what_it_is(tmp_path: Path) -> None:
    write_svg([*ROWS, machine("h", bench())], tmp_path / "a.svg")
    found = texts(tmp_path / "a.svg")
    for label in ("RTX 3070, Ryzen 7 3700X *", "RTX 4060 Ti, Core i7-11700 *", "H200", "eager decode"):
        assert label in found
    assert "* published, not measured by idlegap" in found
    assert "the same kernels from a graph" in found


def test_measured_machines_alone_carry_no_mark(tmp_path: Path) -> None:
    write_svg([machine("h", bench())], tmp_path / "a.svg")
    assert not any("published" in text for text in texts(tmp_path / "a.svg"))


def test_a_contended_machine_is_marked(tmp_path: Path) -> None:
    runs = tuple(run(turn, columns([10.0] * 20, delays_ms=[4.0] * 20)) for turn in range(4))
    busy = machine("h", bench(arm("eager-static", runs=runs)))
    write_svg([busy, *ROWS], tmp_path / "a.svg")
    found = texts(tmp_path / "a.svg")
    assert f"H200, {busy.cpu} !" in found
    assert "! measured under contention" in found
    write_svg([machine("h", bench()), *ROWS], tmp_path / "a.svg")
    assert not any("!" in text for text in texts(tmp_path / "a.svg"))


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        write_svg(ROWS, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_machines_without_a_bandwidth_leave_an_empty_plot(tmp_path: Path) -> None:
    write_svg([machine("h", bench(gpu=None))], tmp_path / "a.svg")
    assert "decode rate, tokens/s" in texts(tmp_path / "a.svg")


def test_a_path_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="cannot be written"):
        write_svg(ROWS, tmp_path / "none" / "a.svg")


def test_without_matplotlib_the_extra_is_named(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = sys.modules['matplotlib.figure'] = None\n"
        "from pathlib import Path\n"
        "from core.bench.plot import write_svg\n"
        "from core.bench.store import ResultError\n"
        "try:\n"
        f"    write_svg([], Path({str(tmp_path / 'a.svg')!r}))\n"
        "except ResultError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "--svg needs matplotlib: install idlegap with its extra 'report'\n"
