"""How a CSV log writes numbers and durations: decimal commas, thousands marks, clock times, and units in the cells.

Only what the sampled rows show is decided; what may be read in two ways is left to the user.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.cell_units import (
    get_plain_unit,
    make_converter,
    reject_other_units,
    reject_unclear_units,
    take_numbers,
)
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.spans import is_span, parse_span
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS
from tradewind_agent.history.importers.ports import DecimalMark

ToPlain = Callable[[str], str]

_COUNTS = ("file_count", "parallelism", "concurrency", "pipelining", "cores")
_NUMBERS = (
    *_COUNTS, "file_size", "total_size", "moved_size", "bandwidth", "rtt", "buffer", "io_block", "throughput",
    "duration", "total_energy", "dynamic_energy", "frequency",
)  # fmt: skip

_BLANKS = " \u00a0\u202f\u2009'\u2019_"
"""Marks of thousands that are no decimal marks: blanks of several widths, apostrophes and low lines."""

_BLANK_GROUPS = re.compile(rf"[+-]?\d{{1,3}}(?:[{_BLANKS}]\d{{3}})+(?:[.,]\d+)?")
_WITHOUT_BLANKS = str.maketrans("", "", _BLANKS)
_EXPONENT = r"(?:[eE][+-]?\d{1,3})?"
_COMMA_GROUPS = re.compile(r"[+-]?\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?")
_SURE_COMMA_GROUPS = re.compile(r"[+-]?\d{1,3}(?:(?:,\d{2,3})+,\d{3}(?:\.\d+)?|,\d{3}\.\d+)")
_DOT_GROUPS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_SURE_DOT_GROUPS = re.compile(r"[+-]?\d{1,3}(?:(?:\.\d{3}){2,}(?:,\d+)?|\.\d{3},\d+)")
_COMMA_DECIMAL = re.compile(rf"[+-]?\d*,\d+{_EXPONENT}")
_POINT_DECIMAL = re.compile(rf"[+-]?\d*\.\d+{_EXPONENT}")
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
"""Thousands, or three decimals."""

_MOST_ODD = 0.5


@dataclass(frozen=True, slots=True)
class _Signs:
    """What cells of a file show: an example for each mark, and one that may be read in two ways, with its column."""

    comma: str | None = None
    point: str | None = None
    either: tuple[str, str] | None = None
    is_grouped: bool = False


def decide_notation(columns: Columns, rows: Iterable[Sequence[str]], decimal: DecimalMark | None) -> Columns:
    """Return the columns with the notations that their sampled rows show; unchanged where all are plain numbers.

    Parameters
    ----------
    decimal : the mark that the user names.

    Raises
    ------
    InvalidValue : the rows show two marks, or a number that may be read in two ways.
    """
    cells = _collect_cells(columns, rows)
    notations: dict[int, ToPlain] = {}
    declared = dict(columns.declared)
    duration = cells.get("duration", [])
    if duration and sum(map(is_span, duration)) > _MOST_ODD * len(duration):
        title = columns.find_title("duration")
        notations[columns.place["duration"]] = partial(_to_seconds, title, columns.declared.get("duration"))
        declared["duration"] = "s"
        del cells["duration"]
    with_units = {quantity: found for quantity in cells if (found := take_numbers(quantity, cells[quantity]))}
    for quantity in with_units.keys() - columns.given:
        title = columns.find_title(quantity)
        reject_unclear_units(title, quantity, cells[quantity])
        reject_other_units(title, quantity, columns.declared.get(quantity), cells[quantity])
    mark = decimal or _decide_mark(columns, cells | with_units)
    for quantity in cells:
        title, place = columns.find_title(quantity), columns.place[quantity]
        to_number = partial(_to_plain_number, title, mark or DecimalMark.POINT)
        if quantity in with_units:
            given = columns.declared[quantity] if quantity in columns.given else None
            notations[place] = make_converter(title, quantity, to_number, given)
            declared[quantity] = get_plain_unit(quantity)
        elif mark is not None:
            notations[place] = to_number
    return replace(columns, notations=notations, declared=declared) if notations else columns


def _collect_cells(columns: Columns, rows: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """Return the known cells of the columns of numbers."""
    places = {quantity: columns.place[quantity] for quantity in _NUMBERS if quantity in columns.place}
    cells: dict[str, list[str]] = {quantity: [] for quantity in places}
    for row in rows:
        for quantity, place in places.items():
            if (text := row[place].strip()).lower() not in UNKNOWN_TEXTS:
                cells[quantity].append(text)
    return cells


def _to_seconds(title: str, unit: str | None, text: str) -> str:
    return text if text.strip().lower() in UNKNOWN_TEXTS else repr(parse_span(title, text, unit))


def _decide_mark(columns: Columns, cells: Mapping[str, Sequence[str]]) -> DecimalMark | None:
    """Return the decimal mark of a file; ``None`` where its numbers are all plain."""
    signs = _find_signs(columns, cells)
    if signs.comma is not None and signs.point is not None:
        raise InvalidValue(
            "--decimal", f"is needed: numbers have a decimal comma ({signs.comma}) and a point ({signs.point})"
        )
    if signs.comma is not None:
        return DecimalMark.COMMA
    if signs.either is not None and signs.point is None:
        title, text = signs.either
        if "," in text or columns.delimiter == ";":
            thousands = text.replace(",", "").replace(".", "")
            fraction = text.replace(",", ".")
            raise InvalidValue(title, f"is {text}, which may be {thousands} or {fraction}; --decimal says which")
    return DecimalMark.POINT if signs.is_grouped or signs.either is not None else None


def _find_signs(columns: Columns, cells: Mapping[str, Sequence[str]]) -> _Signs:
    signs = _Signs()
    for quantity, texts in cells.items():
        is_integer = quantity in _COUNTS or columns.declared.get(quantity) == "B"
        for cell in texts:
            if cell.isdecimal():
                continue
            text = cell.translate(_WITHOUT_BLANKS) if _BLANK_GROUPS.fullmatch(cell) else cell
            if text != cell:
                signs = replace(signs, is_grouped=True)
            if _EITHER.fullmatch(text) and not is_integer:
                signs = replace(signs, either=signs.either or (columns.find_title(quantity), text))
            elif _SURE_COMMA_GROUPS.fullmatch(text) or (is_integer and _COMMA_GROUPS.fullmatch(text)):
                signs = replace(signs, point=signs.point or text, is_grouped=True)
            elif _has_comma_decimal(text, is_integer=is_integer):
                signs = replace(signs, comma=signs.comma or text)
            elif _POINT_DECIMAL.fullmatch(text):
                signs = replace(signs, point=signs.point or text)
    return signs


def _has_comma_decimal(text: str, *, is_integer: bool) -> bool:
    if is_integer and _DOT_GROUPS.fullmatch(text):
        return True
    return any(pattern.fullmatch(text) for pattern in (_SURE_DOT_GROUPS, _COMMA_DECIMAL))


def _to_plain_number(title: str, mark: DecimalMark, cell: str) -> str:
    """Return a number as Python reads it; what is no number stays as it is.

    Raises
    ------
    InvalidValue : it has the other decimal mark.
    """
    text = cell.strip()
    if text.isdecimal():
        return text
    if _BLANK_GROUPS.fullmatch(text):
        text = text.translate(_WITHOUT_BLANKS)
    if mark is DecimalMark.COMMA:
        if _DOT_GROUPS.fullmatch(text):
            return text.replace(".", "").replace(",", ".")
        if _COMMA_DECIMAL.fullmatch(text):
            return text.replace(",", ".")
        if _POINT_DECIMAL.fullmatch(text):
            raise InvalidValue(title, f"has a decimal point where the file has commas: {text[:40]!r}")
    elif _COMMA_GROUPS.fullmatch(text):
        return text.replace(",", "")
    return text
