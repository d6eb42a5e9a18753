"""Tables that searches export of JSON messages: each row as the message that it was.

The titles are the names of members, often behind ``_source.`` or ``data.``, as of Kibana, OpenSearch and pandas. A
table of transfers with other titles is CSV.
"""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.reading.flattened import nest_names
from tradewind_agent.history.importers.reading.lines import Line

_MESSAGES: Sequence[frozenset[str]] = (
    frozenset({"tr_id", "t_final_transfer_state"}),
    frozenset({"file_state", "source_surl", "dest_surl"}),
    frozenset({"eventType", "transferStart"}),
    frozenset({"event_type", "transferred_at"}),
    frozenset({"start_time", "end_time", "read_bytes_at_close"}),
    frozenset({"start_time", "end_time", "read", "readv", "write"}),
    frozenset({"src", "dst", "xeq"}),
    frozenset({"source", "destination", "xeq"}),
    frozenset({"msgType", "transferTime", "transferSize"}),
)
"""Members by which messages of known services are known: of FTS, rucio, XRootD, and dCache."""

_DELIMITERS = (",", ";", "\t")
_EMPTY = frozenset({"", "-", "(null)", "null", "NaN", "nan"})
_LONG_COUNT = re.compile(
    r"\d{1,3}(?P<mark>[,' \u00a0\u202f])\d{3}(?:(?P=mark)\d{3})+|\d{1,3}\.\d{3}\.\d{3}(?:\.\d{3}(?:\.\d{3})+)?"
)
"""A count with several marks of thousands, which no fraction looks like, nor an IPv4 address."""

_DOTS_OF_ADDRESS, _HIGHEST_OF_ADDRESS = 3, 255

_MOST_LINES = 100
"""Lines of one row; a quote that is not closed by then is a stray one."""


def find_delimiter(line: str) -> str | None:
    """Return what separates the titles of an export of messages; ``None`` for other lines."""
    if line.startswith("{"):
        return None
    for delimiter in _DELIMITERS:
        titles = _split(line, delimiter)
        message = nest_names(dict.fromkeys(titles, ""))
        payload = message.get("payload")
        names = {*message, *(payload if isinstance(payload, dict) else ())}
        if any(known <= names for known in _MESSAGES):
            return delimiter
    return None


def open_table(lines: Iterator[Line]) -> Iterator[Line]:
    """Yield lines; those of a table of messages as a message a row, under the numbers of their first lines."""
    for line in lines:
        if line.text.strip() or line.fault is not None:
            delimiter = None if line.fault is not None else find_delimiter(line.text.removeprefix("\ufeff"))
            if delimiter is None:
                yield from chain([line], lines)
            else:
                yield from _read_rows(_split(line.text, delimiter), delimiter, line.text, lines)
            return
        yield line


def _read_rows(titles: Sequence[str], delimiter: str, header: str, lines: Iterator[Line]) -> Iterator[Line]:
    for first in lines:
        if first.fault is not None or not first.text.strip():
            yield first
            continue
        if first.text == header:
            continue
        line = _join(first, lines)
        cells = _split(line.text, delimiter)
        if len(cells) != len(titles):
            reason = f"has {len(cells)} fields where the header has {len(titles)}"
            yield line._replace(fault=InvalidValue("row", reason))
        elif line.is_open:
            reason = "has no line end and may be cut off; end the file with a line break if it is complete"
            yield line._replace(fault=InvalidValue("row", reason))
        else:
            yield line._replace(text=_to_message(titles, cells))


def _join(first: Line, lines: Iterator[Line]) -> Line:
    """Return a row with the lines that its quotes hold; a quote that is not closed makes a row that is refused."""
    text, is_open = first.text, first.is_open
    for line in lines if text.count('"') % 2 else ():
        text, is_open = f"{text}\n{line.text}", line.is_open
        if text.count('"') % 2 == 0 or text.count("\n") > _MOST_LINES:
            break
    return first._replace(text=text, is_open=is_open)


def _split(text: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader(text.splitlines(keepends=True), delimiter=delimiter), [])]
    except csv.Error:
        return []


def _is_marked(cell: str, marked: re.Pattern[str]) -> bool:
    """Return whether a cell is a count with marks of thousands, and cannot be an address."""
    return marked.fullmatch(cell) is not None and not (
        cell.count(".") == _DOTS_OF_ADDRESS and all(int(part) <= _HIGHEST_OF_ADDRESS for part in cell.split("."))
    )


def _to_message(titles: Sequence[str], cells: Sequence[str]) -> str:
    """Return the message of a row; marks of thousands go where one of its counts shows which mark it is."""
    shown = next((found["mark"] or "." for cell in cells if (found := _LONG_COUNT.fullmatch(cell)) is not None), None)
    marked = None if shown is None else re.compile(rf"\d{{1,3}}(?:{re.escape(shown)}\d{{3}})+")
    named = {
        title: cell.replace(shown or "", "") if marked is not None and _is_marked(cell, marked) else cell
        for title, cell in zip(titles, cells, strict=True)
        if cell not in _EMPTY
    }
    return json.dumps(nest_names(named), ensure_ascii=False)
