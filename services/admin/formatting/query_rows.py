"""Rows of a query for a page: columns with the kind of their values, and cells as text."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from tradewind.errors import QueryRefused
from tradewind.wire.warehouse import parse_integer, parse_number

LONGEST_CELL = 400
DIGITS = 8


class ValueKind(StrEnum):
    """The kind of a column's values."""

    NUMBERS = "numbers"
    TIMES = "times"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    held: ValueKind


@dataclass(frozen=True, slots=True)
class QueryRows:
    """An answer that fits a page; ``cut`` : there are more rows."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    cut: bool

    @classmethod
    def of_json(cls, body: bytes) -> "QueryRows":
        """Return the rows of an answer of ``POST /v1/warehouse/query``, with lists and objects as text.

        Raises
        ------
        QueryRefused : lists are nested deeper than Python reads or writes them.
        """
        try:
            answer = json.loads(body, parse_int=parse_integer, parse_float=parse_number)
            rows = [[_flatten(value) for value in row.values()] for row in answer["rows"]]
        except RecursionError as wrong:
            raise QueryRefused("the answer holds JSON that is too deep for a page; download it") from wrong
        names = list(answer["rows"][0]) if rows else []
        columns = [Column(name, _classify_values([row[place] for row in rows])) for place, name in enumerate(names)]
        return cls(columns, rows, bool(answer["cut"]))

    def values(self, place: int) -> Sequence[Any]:
        return [row[place] for row in self.rows]

    def of(self, held: ValueKind) -> Sequence[int]:
        """Return the places of the columns of that kind."""
        return [place for place, column in enumerate(self.columns) if column.held is held]


def cell(value: Any) -> str:
    """Return a value as a page writes it."""
    match value:
        case None:
            return "–"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.{DIGITS}g}"
        case str():
            text = value.encode(errors="backslashreplace").decode()  # half a surrogate pair, which JSON can name alone
        case _:
            text = str(value)
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"


def _flatten(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value


def _classify_values(values: Sequence[Any]) -> ValueKind:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return ValueKind.NUMBERS
    if known and all(isinstance(value, str) and _is_time(value) for value in known):
        return ValueKind.TIMES
    return ValueKind.TEXT


def _is_time(text: str) -> bool:
    for kind in (date, datetime):
        try:
            kind.fromisoformat(text)
        except ValueError:
            continue
        return len(text) >= len("2026-01-01")
    return False
