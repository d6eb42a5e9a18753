"""Tables that searches export of JSON messages: each row as the message that it was.

The titles are the names of members, often behind ``_source.`` or ``data.``, as of Kibana, OpenSearch and pandas. A
table of transfers with other titles is CSV.
"""

import csv
import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.reading.flattened import nest_names, read_truth
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
    frozenset({"DATE", "START", "NBYTES", "STREAMS", "TYPE", "CODE"}),
)
"""Members by which messages of known services are known: of FTS, rucio, XRootD, dCache, and GridFTP."""

_DELIMITERS = (",", ";", "\t")
_EMPTY = frozenset({"", "-", "(null)", "null", "NaN", "nan"})
_LONG_COUNT = re.compile(
    r"\d{1,3}(?P<mark>[,' \u00a0\u202f])\d{3}(?:(?P=mark)\d{3})+|\d{1,3}\.\d{3}\.\d{3}(?:\.\d{3}(?:\.\d{3})+)?"
)
"""A count with several marks of thousands, which no fraction looks like, nor an IPv4 address."""

_DOTS_OF_ADDRESS, _HIGHEST_OF_ADDRESS = 3, 255

_LINES_BEFORE = 5
"""Lines among which the titles are looked for: of Excel's ``sep=``, or of a name, may be before them."""

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


def has_table(beginning: str) -> bool:
    """Return whether a log that begins so is a table of messages."""
    lines = [line for line in beginning.split("\n") if line.strip()][:_LINES_BEFORE]
    return any(find_delimiter(line) is not None for line in lines)


def open_table(lines: Iterator[Line]) -> Iterator[Line]:
    """Yield lines; those of a table of messages as a message a row, under the numbers of their first lines."""
    looked_at = 0
    for line in lines:
        delimiter = None if line.fault is not None else find_delimiter(line.text.removeprefix("\ufeff"))
        if delimiter is not None:
            yield from _read_rows(_split(line.text, delimiter), delimiter, lines)
            return
        yield line
        looked_at += bool(line.text.strip())
        if looked_at == _LINES_BEFORE:
            break
    yield from lines


def _read_rows(titles: Sequence[str], delimiter: str, lines: Iterator[Line]) -> Iterator[Line]:
    known, fault, waiting = frozenset(titles), None, deque[Line]()
    while (first := waiting.popleft() if waiting else next(lines, None)) is not None:
        if first.fault is not None or not first.text.strip():
            yield first
            continue
        line = _join(first, lines, waiting, is_row=lambda text: len(_split(text, delimiter)) == len(titles))
        cells = _split(line.text, delimiter)
        if cells == titles:
            continue
        if len(known.intersection(cells)) > len(titles) / 2:
            fault = InvalidValue(
                "row", f"is behind line {line.number}, where other columns begin; split the file there"
            )
        reason = fault or _find_fault(line, cells, titles)
        yield line._replace(fault=reason) if reason else line._replace(text=_to_message(titles, cells))


def _find_fault(line: Line, cells: Sequence[str], titles: Sequence[str]) -> InvalidValue | None:
    if line.text.count('"') % 2:
        return InvalidValue("row", "has a quote that is not closed")
    if len(cells) != len(titles):
        return InvalidValue("row", f"has {len(cells)} fields where the header has {len(titles)}")
    if line.is_open:
        return InvalidValue(
            "row", "has no line end and may be cut off; end the file with a line break if it is complete"
        )
    return None


def _join(first: Line, lines: Iterator[Line], waiting: deque[Line], *, is_row: Callable[[str], bool]) -> Line:
    """Return a row with the lines that its quotes hold; behind a stray quote lines wait to be rows of their own."""
    if first.text.count('"') % 2 == 0:
        return first
    text = first.text
    for count in range(1, _MOST_LINES):
        if count > len(waiting):
            if (line := next(lines, None)) is None:
                break
            waiting.append(line)
        line = waiting[count - 1]
        text = f"{text}\n{line.text}"
        if line.text.count('"') % 2:
            if line.fault is not None or not is_row(text):
                break
            for _ in range(count):
                waiting.popleft()
            return first._replace(text=text, is_open=line.is_open)
    return first


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
        title: read_truth(cell.replace(shown or "", "") if marked is not None and _is_marked(cell, marked) else cell)
        for title, cell in zip(titles, cells, strict=True)
        if cell not in _EMPTY
    }
    return json.dumps(nest_names(named), ensure_ascii=False)
