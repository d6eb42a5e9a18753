"""Rows of a CSV log from its lines: quoted fields may hold line breaks, and comments stand between rows."""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.clock.dates import find_date
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.header import is_comment
from tradewind_agent.history.importers.instants import describe_epoch
from tradewind_agent.history.importers.log_text import Line

_RULER = re.compile(r"[|+ ]*:?[-=]{2,}[-=+|: ]*|\(?\d+ rows?(?: (?:in set|selected|affected)\b.*)?[).]?")
"""Lines that clients of databases draw below a header, and write below the last row."""

SURE_SUMS = "(?:grand |sub-?)?totals?|sums?|summe|gesamt"
"""Words of sums that name nothing else."""

SUMS = f"{SURE_SUMS}|somme|totale|suma"

_TOTALS = re.compile(
    rf"[\s,;|\"']*(?:{SUMS}|average|avg|mean|median|min(?:imum)?|max(?:imum)?|std|st(?:d\.?)? ?dev(?:iation)?"
    r"|variance|p(?:90|95|99)|\d{1,2}th percentile"
    r"|durchschnitt|mittelwert|moyenne|media|promedio|итого|合计|合計|平均)"
    r"\s*(?:[:.]|\([^)]*\))?\s*(?:$|[\"',;\t|])",
    re.IGNORECASE,
)
"""How rows begin that sum up others."""

_SURE_TOTALS = re.compile(rf"[\s\"']*(?:{SURE_SUMS}|average)[\s\"':]*$", re.IGNORECASE)

_DESCRIBED = re.compile(r"[\s\"']*(?:count|25%|50%|75%)[\s\"']*")
"""Further names of rows in what pandas writes of a table, below no title; below one, they may be shares of losses."""

_MOST_LINES = 100
"""Lines of one row; a quote that is not closed by then is a stray one."""


def join_rows(columns: Columns, lines: Iterable[Line]) -> Iterator[Line]:
    """Yield rows under the numbers of their first lines; empty lines and comments are left out.

    A stray quote must not swallow the rows after it: lines are joined only if that makes a row as wide as the header.
    """
    source, waiting = iter(lines), deque[Line]()
    while (line := waiting.popleft() if waiting else next(source, None)) is not None:
        if line.text[:1].isalnum() and '"' not in line.text and " row" not in line.text:
            yield line  # most lines
        elif line.fault is None and _opens_quote(columns, line.text):
            _take_lines(source, waiting)
            yield _join(columns, line, waiting)
        elif line.fault is not None or not _is_no_row(line.text):
            yield line


def _is_no_row(text: str) -> bool:
    """Return whether a line is empty, a comment, or drawn by a client of a database."""
    return is_comment(text) or not text.strip(" ,;\t|") or _RULER.fullmatch(text.strip()) is not None


def repeats_header(columns: Columns, text: str) -> bool:
    """Return whether a line is the header again, in whatever quotes and case, as where files were put together."""
    titles = [title.lower() for title in columns.header[columns.has_row_names :]]
    if text[:1].isdigit() or titles[0][:1] not in text[:40].lower():  # nearly always
        return False
    try:
        cells = [cell.strip().lower() for cell in columns.split(text)]
    except InvalidValue:
        return False
    return cells[: len(titles)] == titles and not any(cells[len(titles) :])


def is_totals(columns: Columns, text: str) -> bool:
    """Return whether a row sums up others: its first cell says so, and it has no start. A user may be called Max.

    A row whose first cell holds no quantity and says total is one, also with the span of all.
    """
    if not columns.header[0].strip() and _DESCRIBED.fullmatch(text.partition(columns.delimiter)[0]) is not None:
        return True
    if _TOTALS.match(text) is None:
        return False
    at = columns.place.get("start", columns.place.get("date"))
    try:
        cells = columns.split(text)
    except InvalidValue:
        return True
    if 0 not in columns.place.values() and _SURE_TOTALS.match(cells[0]) is not None:
        return True
    return at is None or at >= len(cells) or not (describe_epoch(cells[at].strip()) or find_date(cells[at].strip()))


def _opens_quote(columns: Columns, text: str) -> bool:
    """Return whether a field begins with a quote that the line does not close."""
    if text.count('"') % 2 == 0:
        return False
    return text.startswith('"') or f'{columns.delimiter}"' in text or f'{columns.delimiter} "' in text


def _take_lines(source: Iterator[Line], waiting: deque[Line]) -> None:
    while len(waiting) < _MOST_LINES and (line := next(source, None)) is not None:
        waiting.append(line)


def _join(columns: Columns, first: Line, waiting: deque[Line]) -> Line:
    """Return the row that begins with ``first``; its further lines are taken from those that wait."""
    pieces = [first.text]
    for count, line in enumerate(waiting, start=1):
        if line.fault is not None:
            break
        pieces.append(line.text)
        if line.text.count('"') % 2:
            if not _is_row(columns, pieces):
                break
            for _ in range(count):
                waiting.popleft()
            return first._replace(text="\n".join(pieces), is_open=line.is_open)
    return first


def _is_row(columns: Columns, pieces: list[str]) -> bool:
    try:
        lines = (f"{piece}\n" for piece in pieces)
        rows = list(csv.reader(lines, delimiter=columns.delimiter, skipinitialspace=True, strict=True))
    except csv.Error:
        return False
    return len(rows) == 1 and len(rows[0]) >= len(columns.header)


def count_open_bytes(part: bytes) -> int:
    """Return how many bytes at the end of a part of a log belong to a row whose quote the part does not close."""
    if part.count(b'"') % 2 == 0:
        return 0
    end = len(part)
    for _ in range(_MOST_LINES):
        start = part.rfind(b"\n", 0, max(end - 1, 0)) + 1
        if part.count(b'"', start, end) % 2:
            return len(part) - start
        end = start
        if not end:
            break
    return 0
