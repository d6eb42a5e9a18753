"""A chart of a query's rows; its columns follow from their values unless the visitor has chosen."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from services.admin.charts.style import Options, build_axis, build_chart, in_unit
from services.admin.formatting.query_rows import QueryRows, ValueKind, cell

MOST_LINES = 6
"""As many as there are colours."""

MOST_BARS = 60


class ChartKind(StrEnum):
    """A way to draw rows."""

    AUTO = "by its columns"
    LINE = "lines"
    BAR = "bars"
    SCATTER = "points"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ChartRequest:
    """What a visitor wants drawn: columns by name, empty where the page chooses.

    ``apart`` : column with one line for each of its values.
    """

    kind: ChartKind = ChartKind.AUTO
    across: str = ""
    up: str = ""
    apart: str = ""


@dataclass(frozen=True, slots=True)
class QueryChart:
    """A chart with the columns that it shows; ``left_out`` : lines beyond the most that are drawn."""

    options: Options
    across: str
    up: Sequence[str]
    apart: str
    left_out: int = 0


def query_chart(rows: QueryRows, request: ChartRequest) -> QueryChart | None:
    """Return the chart of these rows; ``None`` where no columns suit one.

    Lines and points have the first column of times, else of numbers, across; bars the first of text, else the first.
    Up is every other column of numbers, of the first few. Where rows of one place across differ by a text, such as a
    link, there is a line for each of its values instead, of the first column up.
    """
    kind = _choose_kind(rows, request) if request.kind is ChartKind.AUTO else request.kind
    if kind is ChartKind.NONE or len(rows.rows) < 2:
        return None
    across, up = _build_axes(rows, kind, request)
    if across is None or not up:
        return None
    if kind is ChartKind.BAR:
        return _build_bars(rows, across, up)
    apart = _choose_separator(rows, across, request)
    return (
        _build_points(rows, across, up, kind)
        if apart is None
        else _build_points_apart(rows, (across, up[0], apart), kind)
    )


def _place(rows: QueryRows, name: str) -> int | None:
    return next((place for place, column in enumerate(rows.columns) if column.name == name), None) if name else None


def _choose_kind(rows: QueryRows, request: ChartRequest) -> ChartKind:
    across = _place(rows, request.across)
    held = None if across is None else rows.columns[across].held
    if held is ValueKind.TIMES or (held is None and rows.of(ValueKind.TIMES)):
        return ChartKind.LINE
    if held is ValueKind.TEXT or (held is None and rows.of(ValueKind.TEXT) and not (request.apart or _has_lines(rows))):
        return ChartKind.BAR if len(rows.rows) <= MOST_BARS else ChartKind.NONE
    return ChartKind.LINE if request.apart or _has_lines(rows) else ChartKind.SCATTER


def _has_lines(rows: QueryRows) -> bool:
    """Return whether texts repeat next to two columns of numbers, such as a link with each of its settings."""
    texts = rows.of(ValueKind.TEXT)
    return bool(texts) and len(rows.of(ValueKind.NUMBERS)) >= 2 and len(set(rows.values(texts[0]))) < len(rows.rows)


def _build_axes(rows: QueryRows, kind: ChartKind, request: ChartRequest) -> tuple[int | None, Sequence[int]]:
    numbers = rows.of(ValueKind.NUMBERS)
    across = _place(rows, request.across)
    if across is None or (kind is not ChartKind.BAR and rows.columns[across].held is ValueKind.TEXT):
        first = (
            (*rows.of(ValueKind.TEXT), *rows.of(ValueKind.TIMES)) if kind is ChartKind.BAR else rows.of(ValueKind.TIMES)
        )
        across = next(iter((*first, *(each for each in numbers if rows.columns[each].name != request.up))), None)
    chosen = _place(rows, request.up)
    if chosen is not None and chosen in numbers and chosen != across:
        return across, [chosen]
    return across, [place for place in numbers if place != across][:MOST_LINES]


def _choose_separator(rows: QueryRows, across: int, request: ChartRequest) -> int | None:
    """Return the column that separates rows with the same value across: the requested one, else the first text that
    does.
    """
    chosen = _place(rows, request.apart)
    if chosen is not None:
        return chosen if chosen != across else None
    repeated = len({row[across] for row in rows.rows}) < len(rows.rows)
    several = (place for place in rows.of(ValueKind.TEXT) if len(set(map(str, rows.values(place)))) > 1)
    return next(several, None) if repeated else None


def _build_bars(rows: QueryRows, across: int, up: Sequence[int]) -> QueryChart:
    shown = rows.rows[:MOST_BARS]
    labels = [str(row[across]) for row in shown]
    series = [{"type": "bar", "name": rows.columns[place].name, "data": [row[place] for row in shown]} for place in up]
    names = [rows.columns[place].name for place in up]
    title = names[0] if len(names) == 1 else ""
    options = _build_framed_chart(names, title, series, build_axis(rows.columns[across].name, values=labels))
    return QueryChart(options, rows.columns[across].name, names, "")


def _build_points(rows: QueryRows, across: int, up: Sequence[int], kind: ChartKind) -> QueryChart:
    names = [rows.columns[place].name for place in up]
    series = [_build_series(rows.rows, across, place, name, kind) for place, name in zip(up, names, strict=True)]
    options = _build_framed_chart(names, names[0] if len(names) == 1 else "", series, _scale(rows, across))
    return QueryChart(options, rows.columns[across].name, names, "")


def _build_points_apart(rows: QueryRows, places: tuple[int, int, int], kind: ChartKind) -> QueryChart:
    """Return a chart with a line for each of the most frequent values of the third column."""
    across, up, apart = places
    counts = Counter(cell(row[apart]) for row in rows.rows)
    names = sorted(name for name, _ in counts.most_common(MOST_LINES))
    series = [
        _build_series([row for row in rows.rows if cell(row[apart]) == name], across, up, name, kind) for name in names
    ]
    options = _build_framed_chart(names, rows.columns[up].name, series, _scale(rows, across), legend=True)
    columns = rows.columns
    return QueryChart(options, columns[across].name, [columns[up].name], columns[apart].name, len(counts) - len(names))


def _build_series(rows: Sequence[Sequence[Any]], across: int, up: int, name: str, kind: ChartKind) -> Options:
    ordered = sorted((row for row in rows if row[across] is not None), key=lambda row: row[across])
    shape = {"type": "line", "symbolSize": 4} if kind is ChartKind.LINE else {"type": "scatter", "symbolSize": 7}
    return shape | {"name": name, "data": [(row[across], row[up]) for row in ordered]}


def _scale(rows: QueryRows, across: int) -> Options:
    column = rows.columns[across]
    return build_axis(column.name, type="time" if column.held is ValueKind.TIMES else "value", scale=True)


def _build_framed_chart(
    names: Sequence[str], upwards: str, series: Sequence[Options], across: Options, *, legend: bool = False
) -> Options:
    named = legend or len(names) > 1
    return build_chart(
        legend=tuple(names) if named else (),
        tooltip={"trigger": "item" if series[0]["type"] == "scatter" else "axis", "valueFormatter": in_unit("")},
        grid={"left": 80, "right": 24, "top": 44 if named else 16, "bottom": 56},
        xAxis=across,
        yAxis=build_axis(upwards) | {"nameGap": 60},
        series=list(series),
    )
