"""The plot of `benchmarks.dose_response`; matplotlib is wanted for this alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TITLES = {"free": "neighbours on any core", "pinned": "all on the decode thread's core"}

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""Of the palette of Okabe and Ito, which stays apart for every kind of colour vision."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The cells of one mode in one arm of one report, by number of neighbours.

    `wait` is how the decode thread waited for the GPU.
    """

    arm: str
    mode: str
    wait: str
    cells: tuple[dict[str, Any], ...]

    @property
    def neighbours(self) -> tuple[int, ...]:
        return tuple(cell["neighbours"] for cell in self.cells)

    def values(self, name: str, factor: float = 1.0) -> list[float]:
        """One reading of each cell; NaN, which is not drawn, where it is missing."""
        found = [cell[name] for cell in self.cells]
        return [float("nan") if value is None else factor * value for value in found]


def curves(reports: Sequence[dict[str, Any]]) -> list[Curve]:
    """All curves, those of one mode together. A report from before `--wait` waited spinning."""
    found = []
    for report in reports:
        wait = report["engine"].get("wait", "spin")
        for arm, mode in dict.fromkeys((cell["arm"], cell["mode"]) for cell in report["cells"]):
            cells = [cell for cell in report["cells"] if (cell["arm"], cell["mode"]) == (arm, mode)]
            found.append(Curve(arm, mode, wait, tuple(sorted(cells, key=lambda cell: cell["neighbours"]))))
    modes = list(dict.fromkeys(curve.mode for curve in found))
    return sorted(found, key=lambda curve: modes.index(curve.mode))


def plot(reports: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw `reports` into the file at `path`; its suffix says in which format."""
    draw(reports).savefig(path, dpi=120)


def draw(reports: Sequence[dict[str, Any]]) -> Any:
    """A figure of the token time, and of the share of it spent waiting for a CPU, over the number
    of neighbours. One column for each arm; a colour for each mode, dashed where the thread waits
    blocked.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    drawn = curves(reports)
    arms = list(dict.fromkeys(curve.arm for curve in drawn))
    modes = list(dict.fromkeys(curve.mode for curve in drawn))
    counts = sorted({count for curve in drawn for count in curve.neighbours})
    one_wait = len({curve.wait for curve in drawn}) == 1
    figure = Figure(figsize=(4.8 * len(arms), 7), layout="constrained")
    rows = figure.subplots(2, len(arms), sharex=True, sharey="row", squeeze=False, height_ratios=(3, 2))
    named: dict[str, Any] = {}
    for column, arm in enumerate(arms):
        wall, waiting = rows[0][column], rows[1][column]
        for curve in drawn:
            if curve.arm == arm:
                colour = COLOURS[modes.index(curve.mode) % len(COLOURS)]
                label = curve.mode if one_wait else f"{curve.mode}, --wait {curve.wait}"
                named[label] = _add(curve, (wall, waiting), counts, colour)
        if arm == "pinned":
            equal = [100 * count / (count + 1) for count in counts]
            (line,) = waiting.plot(range(len(counts)), equal, color="0.8", linewidth=7, zorder=1)
            named["all get the same share of the core"] = line
        wall.set(title=TITLES.get(arm, arm), yscale="log")
        wall.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        wall.yaxis.set_major_formatter("{x:g}")
        wall.yaxis.set_minor_formatter(NullFormatter())
        waiting.set_xticks(range(len(counts)), [str(count) for count in counts])
        waiting.set(xlabel="busy neighbours", ylim=(-4, 104))
        for axes in (wall, waiting):
            axes.grid(color="0.9")
            axes.spines[["top", "right"]].set_visible(False)
    rows[0][0].set_ylabel("ms per token: median, 10 to 90 %")
    rows[1][0].set_ylabel("waiting for a CPU, % of the time")
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=3, frameon=False)
    report = reports[0]
    cores = report["host"]["usable_cores"]
    figure.suptitle(f"{report['engine']['device_name']}, {cores:g} usable cores, {report['date'][:10]}")
    return figure


def _add(curve: Curve, axes: tuple[Any, Any], counts: Sequence[int], colour: str) -> Any:
    """Draw `curve` on both axes; returns its line, for the legend."""
    wall, waiting = axes
    x = [counts.index(count) for count in curve.neighbours]
    blocks = curve.wait == "block"
    style = {
        "color": colour,
        "linestyle": "--" if blocks else "-",
        "marker": "s" if blocks else "o",
        "markerfacecolor": "white" if blocks else colour,
    }
    (line,) = wall.plot(x, curve.values("median_ms"), **style)
    wall.fill_between(
        x, curve.values("p10_ms"), curve.values("p90_ms"), color=colour, alpha=0.15, linewidth=0
    )
    waiting.plot(x, curve.values("waiting", 100), **style)
    return line
