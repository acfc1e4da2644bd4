"""How the rows of the screen are shared out: a pure function of size and need.

Room is granted in order of importance, so a small terminal loses the least important rows
first and nothing ever overlaps. Below LEAST_WIDTH x LEAST_HEIGHT there is a text of few rows.
"""

from dataclasses import dataclass, field

LEAST_WIDTH, LEAST_HEIGHT = 60, 16
TWO_COLUMNS, THREE_COLUMNS = 104, 150
PANEL_ROWS = 11
TWO_PANELS_FROM = 34
STACKED_FROM = 46


@dataclass(frozen=True, slots=True)
class Need:
    """What there is to show. `modes` counts all rows, `ready_modes` those that can run."""

    modes: int = 0
    ready_modes: int = 0
    loading: bool = False
    failed: bool = False
    text: bool = False
    playback: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows of each region, 0 where it is left out. `columns` is how many panels stand side by
    side; with 1 they are stacked. Every region but `compact` is 0 in the smallest terminals."""

    compact: int = 0
    header: int = 0
    rate: int = 0
    loading: int = 0
    failure: int = 0
    strip: int = 0
    bars: int = 0
    host: int = 0
    gpu: int = 0
    work: int = 0
    text: int = 0
    sentence: int = 0
    playback: int = 0
    keys: int = 0
    spacing: int = 0
    columns: int = 1

    @property
    def rows(self) -> int:
        """Rows in use."""
        side_by_side = self.columns > 1
        panels = max(self.host, self.gpu, self.work) if side_by_side else self.host + self.gpu + self.work
        stacked = self.header + self.rate + self.loading + self.failure + self.strip + self.bars + self.text
        return self.compact + stacked + panels + self.sentence + self.playback + self.keys + self.spacing


@dataclass(slots=True)
class _Budget:
    left: int
    granted: dict[str, int] = field(default_factory=dict)

    def grant(self, region: str, rows: int) -> None:
        """Give `region` up to `rows` more rows."""
        given = max(0, min(rows, self.left))
        self.left -= given
        self.granted[region] = self.granted.get(region, 0) + given


def plan(width: int, height: int, need: Need) -> Plan:
    """The rows of each region for a terminal of `width` x `height`."""
    if width < LEAST_WIDTH or height < LEAST_HEIGHT:
        return Plan(compact=max(0, height))
    columns = _columns(width, height)
    budget = _Budget(height)
    for region in ("keys", "header", "sentence"):
        budget.grant(region, 1)
    budget.grant("playback", int(need.playback))
    if need.loading:
        return _loading(budget, columns, height)
    budget.grant("rate", 1)
    chart = "failure" if need.failed else "strip"
    budget.grant("bars", 1 + min(3, need.ready_modes))
    budget.grant(chart, 5)
    _panels(budget, columns, 1)
    budget.grant("sentence", 1)
    budget.grant("rate", 2)
    budget.grant("failure", 4 * need.failed)
    budget.grant("bars", need.ready_modes - min(3, need.ready_modes))
    _panels(budget, columns, 1)
    budget.grant("text", int(need.text))
    budget.grant(chart, 1)
    budget.grant("bars", need.modes - need.ready_modes)
    if columns > 1 or height >= STACKED_FROM:
        budget.grant("spacing", 4 if height >= 40 else 3 if height >= 36 else 0)
        _panels(budget, columns, PANEL_ROWS - 2)
        budget.grant("text", 2 * int(need.text))
    budget.grant(chart, budget.left)
    return Plan(columns=columns, **budget.granted)


def _columns(width: int, height: int) -> int:
    if height < TWO_PANELS_FROM or width < TWO_COLUMNS:
        return 1
    return 3 if width >= THREE_COLUMNS else 2


def _loading(budget: _Budget, columns: int, height: int) -> Plan:
    budget.grant("loading", 8)
    roomy = columns > 1 or height >= STACKED_FROM
    _panels(budget, columns, PANEL_ROWS if roomy else 2)
    budget.grant("loading", budget.left)
    return Plan(columns=columns, **budget.granted)


def _panels(budget: _Budget, columns: int, rows: int) -> None:
    """Rows for the panels: shared by those side by side, in turn for stacked ones."""
    if columns == 1:
        budget.grant("gpu", rows)
        budget.grant("host", rows)
        return
    before = budget.left
    budget.grant("host", rows)
    given = before - budget.left
    for region in ("gpu", "work")[: columns - 1]:
        budget.granted[region] = budget.granted.get(region, 0) + given
