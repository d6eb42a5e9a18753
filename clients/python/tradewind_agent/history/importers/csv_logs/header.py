"""Where the table of a CSV log begins: titles, comments and Excel's ``sep=`` may stand before its header."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, islice

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.columns import (
    DELIMITERS,
    Columns,
    declare_units,
    list_missing,
    read_header,
    require_transfers,
)
from tradewind_agent.history.importers.csv_logs.names import DECLARED_UNITS, find_quantity, is_zone
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.ports import EmptyLog, ImportContext

LINES_BEFORE = 50
"""Lines among which the header is looked for."""

_NUMBERED = 5
_LEAST_LINES, _LEAST_CELLS = 2, 3
"""What shows a table of unknown titles."""

COMMENT_MARKS = ("#", "%", "//")
_QUOTED_NUMBER = re.compile(r'"[+-]?\d+(?:[.,]\d+)*"')
_MEASURED = frozenset({*DECLARED_UNITS, "date"})
"""Quantities whose values are no small numbers in quotes."""

_OF_LEVELS = re.compile(r"(?:^|[,;\t|\"])Unnamed: \d+_level_\d+")
_SEPARATOR = re.compile(r'"?sep=(.)"?', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundHeader:
    """Columns of a table, and how many of the lines before its first row are its head."""

    columns: Columns
    lines: int


def has_transfers(columns: Columns) -> bool:
    """Return whether columns hold what a log of transfers needs."""
    return not list_missing(columns)


def is_comment(text: str) -> bool:
    """Return whether a line of a table is a comment."""
    return text.lstrip().startswith(COMMENT_MARKS)


def find_header(lines: Sequence[str]) -> FoundHeader | None:
    """Return the first header that names what a log of transfers needs, else the one with most known columns."""
    delimiters: Sequence[str] = DELIMITERS
    best: FoundHeader | None = None
    comment: FoundHeader | None = None
    for place, line in enumerate(lines[:LINES_BEFORE]):
        if (separator := _SEPARATOR.fullmatch(line.strip())) is not None:
            delimiters = (separator[1],)
            continue
        columns = read_header(line.lstrip().lstrip("#%/ ") if is_comment(line) else line, delimiters)
        found = FoundHeader(replace(columns, lines_above=tuple(lines[:place])), place + 1)
        if has_transfers(columns) and not is_comment(line):
            return _read_units_row(_name_row_names(found, lines), lines)
        if has_transfers(columns):
            comment = comment or found
        elif best is None or len(columns.place) > len(best.columns.place):
            best = found
    return best if comment is None else _read_units_row(comment, lines)


def read_head(text: LogText, context: ImportContext) -> tuple[Columns, Line]:
    """Return the columns of a log, with the units that the user names, and the last line of its head.

    Raises
    ------
    InvalidValue : it is empty, or no log of transfers.
    """
    head = [
        line
        for line in islice(text.read_lines_with_head(), LINES_BEFORE)
        if line.fault is not None or line.text.strip()
    ]
    if not head:
        raise EmptyLog
    if head[0].fault is not None:
        raise head[0].fault
    if any(_OF_LEVELS.search(line.text) for line in head if not is_comment(line.text)):
        raise InvalidValue("csv", "has a header of several lines, as pandas writes it; write one line of titles")
    found = find_header([line.text for line in head])
    if found is None:
        raise InvalidValue("csv", "has no header")
    require_transfers(found.columns)
    return declare_units(found.columns, context.units), head[found.lines - 1]


def find_unknown_table(lines: Sequence[str]) -> Columns | None:
    """Return the columns of a table none of whose titles is known: two lines of as many cells; ``None`` for others."""
    if len(lines) < _LEAST_LINES:
        return None
    for delimiter in DELIMITERS:
        titles = lines[0].split(delimiter)
        if len(titles) >= _LEAST_CELLS and len(lines[1].split(delimiter)) == len(titles):
            return Columns(tuple(title.strip() for title in titles), delimiter, {}, {})
    return None


def _name_row_names(found: FoundHeader, lines: Sequence[str]) -> FoundHeader:
    """Return the header with a column for the names of rows, if R wrote them without a title: rows are longer by one.

    They are in quotes, as texts are, and numbered from 1 on, and the first title is of a number or a time. Rows are
    longer, too, where a number has a decimal comma, or a delimiter ends each row: these begin with a value.
    """
    columns = found.columns
    header = lines[found.lines - 1].strip()
    rows = [line for line in lines[found.lines :] if line.strip() and line.strip() != header and not is_comment(line)]
    rows = rows[:_NUMBERED]
    is_of_texts = _MEASURED.isdisjoint(each for each, place in columns.place.items() if place == 0)
    if len(rows) < _LEAST_LINES or is_of_texts or not all(map(_is_named_row, rows, count(1))):
        return found
    try:
        cells = [columns.split(row) for row in rows]
    except InvalidValue:
        return found
    if any(len(row) != len(columns.header) + 1 or not row[-1].strip() for row in cells):
        return found
    place = {quantity: at + 1 for quantity, at in columns.place.items()}
    return replace(found, columns=replace(columns, header=("", *columns.header), place=place, has_row_names=True))


def _is_named_row(row: str, number: int) -> bool:
    """Return whether a row begins with its own number in quotes, which other numbers of it do not have."""
    name = f'"{number}"'
    return row.lstrip().startswith(name) and _QUOTED_NUMBER.search(row.lstrip(), len(name)) is None


def _read_units_row(found: FoundHeader, lines: Sequence[str]) -> FoundHeader:
    """Return the header with the units that a second line of it holds, if there is such a line."""
    columns = found.columns
    if found.lines >= len(lines):
        return found
    cells = [cell.strip().strip("[]()") for cell in lines[found.lines].lstrip("#% ").split(columns.delimiter)]
    if not any(cells) or len(cells) < len(columns.header):
        return found
    declared = dict(columns.declared)
    for quantity, place in columns.place.items():
        if cells[place].lower() in UNKNOWN_TEXTS:
            continue
        _, unit = find_quantity(f"{columns.header[place]} {cells[place]}")
        if unit is None or not (is_zone(unit) or unit in DECLARED_UNITS.get(quantity, {}).values()):
            return found
        declared[quantity] = unit
    others = (cell for place, cell in enumerate(cells) if place not in columns.place.values())
    if any(cell.lower() not in UNKNOWN_TEXTS for cell in others):
        return found
    return FoundHeader(replace(columns, declared=declared), found.lines + 1)
