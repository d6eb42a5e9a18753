"""Where the table of a CSV log begins: titles, comments and Excel's ``sep=`` may stand before its header."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.columns import DELIMITERS, Columns, list_missing, read_header
from tradewind_agent.history.importers.csv_logs.names import DECLARED_UNITS, find_quantity, is_zone
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS

LINES_BEFORE = 50
"""Lines among which the header is looked for."""

_NUMBERED = 5
_LEAST_LINES, _LEAST_CELLS = 2, 3
"""What shows a table of unknown titles."""

COMMENT_MARKS = ("#", "%", "//")
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

    They are numbered from 1 on. A delimiter at the end of each row makes them longer, too, but they begin with a value.
    """
    columns, rows = found.columns, []
    for line in lines[found.lines : found.lines + _NUMBERED]:
        try:
            rows.append([cell.strip(' "') for cell in columns.split(line)])
        except InvalidValue:
            return found
    width = len(columns.header) + 1
    numbered = [str(number) for number in range(1, len(rows) + 1)]
    if len(rows) < _LEAST_LINES or [row[0] for row in rows] != numbered or any(len(row) != width for row in rows):
        return found
    if not all(row[-1] for row in rows):
        return found
    place = {quantity: at + 1 for quantity, at in columns.place.items()}
    return replace(found, columns=replace(columns, header=("", *columns.header), place=place))


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
