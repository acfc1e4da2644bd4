"""The plot of `benchmarks.dose_response`; matplotlib is wanted for this alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def plot(reports: Sequence[dict[str, Any]], path: Path) -> None:
    """Token time and run delay over the number of neighbours: one column for each arm, one line
    for each mode and way to wait for the GPU."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    report = reports[0]
    cells = [{**cell, "mode": _label(cell, report)} for report in reports for cell in report["cells"]]
    arms = list(dict.fromkeys(cell["arm"] for cell in cells))
    modes = list(dict.fromkeys(cell["mode"] for cell in cells))
    figure, axes = plt.subplots(
        2, len(arms), figsize=(4.6 * len(arms), 6), sharex=True, sharey="row", squeeze=False
    )
    titles = {"free": "neighbours on any core", "pinned": "all on the decode thread's core"}
    for column, arm in enumerate(arms):
        wall, delay = axes[0][column], axes[1][column]
        for number, mode in enumerate(modes):
            row = [cell for cell in cells if cell["arm"] == arm and cell["mode"] == mode]
            x = range(len(row))
            style = {"marker": "os^D"[number % 4], "color": f"C{number}", "label": mode}
            wall.plot(x, [cell["median_ms"] for cell in row], **style)
            wall.fill_between(
                x,
                [cell["p10_ms"] for cell in row],
                [cell["p90_ms"] for cell in row],
                color=f"C{number}",
                alpha=0.2,
            )
            delay.plot(x, [_known(cell["run_delay_ms"]) for cell in row], **style)
            delay.set_xticks(list(x), [str(cell["neighbours"]) for cell in row])
        wall.set_title(titles.get(arm, arm))
        wall.set_yscale("log")
        delay.set_yscale("symlog", linthresh=0.1)
        for axis in (wall.yaxis, delay.yaxis):
            axis.set_major_formatter("{x:g}")
        delay.set_xlabel("busy neighbours")
    axes[0][0].set_ylabel("ms per token (median, 10-90 %)")
    axes[1][0].set_ylabel("run delay, ms per token (mean)")
    axes[0][0].legend()
    cores = report["host"]["usable_cores"]
    figure.suptitle(f"{report['engine']['device_name']}, {cores:g} usable cores, {report['date'][:10]}")
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def _label(cell: dict[str, Any], report: dict[str, Any]) -> str:
    blocks = report["engine"].get("wait") == "block"
    return cell["mode"] + (", waits blocked" if blocks else "")


def _known(value: float | None) -> float:
    return float("nan") if value is None else value
