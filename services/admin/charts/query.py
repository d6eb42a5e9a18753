"""A chart of a query's rows: which columns it takes follows from what they hold."""

from enum import StrEnum

from services.admin.charts.style import Options, axis, framed, in_unit
from services.admin.query_rows import Held, QueryRows

MOST_LINES = 5
MOST_BARS = 60


class ChartKind(StrEnum):
    """How rows are drawn."""

    AUTO = "by its columns"
    LINE = "lines"
    BAR = "bars"
    SCATTER = "points"
    NONE = "none"


def query_chart(rows: QueryRows, asked: ChartKind) -> Options | None:
    """The chart of these rows; None where no columns suit it.

    Lines and points have the first column of times, else of numbers, across; bars the first of text, else the first.
    Up is every other column of numbers, of the first few.
    """
    kind = _chosen(rows) if asked is ChartKind.AUTO else asked
    if kind is ChartKind.NONE or len(rows.rows) < 2:
        return None
    numbers = rows.of(Held.NUMBERS)
    if kind is ChartKind.BAR:
        across = next(iter((*rows.of(Held.TEXT), *rows.of(Held.TIMES), *numbers)), None)
    else:
        across = next(iter((*rows.of(Held.TIMES), *numbers)), None)
    up = [place for place in numbers if place != across][:MOST_LINES]
    if across is None or not up:
        return None
    return _bars(rows, across, up) if kind is ChartKind.BAR else _points(rows, across, up, kind)


def _chosen(rows: QueryRows) -> ChartKind:
    if rows.of(Held.TIMES):
        return ChartKind.LINE
    if rows.of(Held.TEXT):
        return ChartKind.BAR if len(rows.rows) <= MOST_BARS else ChartKind.NONE
    return ChartKind.SCATTER


def _bars(rows: QueryRows, across: int, up: list[int]) -> Options:
    shown = rows.rows[:MOST_BARS]
    names = [str(row[across]) for row in shown]
    series = [{"type": "bar", "name": rows.columns[place].name, "data": [row[place] for row in shown]} for place in up]
    return _framed(rows, up, series, axis(rows.columns[across].name, values=names))


def _points(rows: QueryRows, across: int, up: list[int], kind: ChartKind) -> Options:
    column = rows.columns[across]
    ordered = sorted((row for row in rows.rows if row[across] is not None), key=lambda row: row[across])
    shape = {"type": "line", "symbolSize": 4} if kind is ChartKind.LINE else {"type": "scatter", "symbolSize": 7}
    series = [
        shape | {"name": rows.columns[place].name, "data": [(row[across], row[place]) for row in ordered]}
        for place in up
    ]
    scale = axis(column.name, type="time" if column.held is Held.TIMES else "value", scale=True)
    return _framed(rows, up, series, scale)


def _framed(rows: QueryRows, up: list[int], series: list[Options], across: Options) -> Options:
    names = [rows.columns[place].name for place in up]
    upwards = axis(names[0] if len(names) == 1 else "")
    return framed(
        legend=names if len(names) > 1 else (),
        tooltip={"trigger": "item" if series[0]["type"] == "scatter" else "axis", "valueFormatter": in_unit("")},
        grid={"left": 80, "right": 24, "top": 44 if len(names) > 1 else 16, "bottom": 56},
        xAxis=across,
        yAxis=upwards | {"nameGap": 60},
        series=series,
    )
