"""EXPLAIN as a query: COPY takes no such statement, so that its lines become a SELECT of their own.

It runs by the tenant's login and within all limits of a query. What plans say of other tenants' rows is the views' and
the tables' to prevent: see decision 44.
"""

import json
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any, cast

import psycopg
from psycopg import sql

from services.persistence.warehouse.row_sizes import Column, format_names
from services.persistence.warehouse.sql_text import find_first_word
from tradewind.errors import TooLarge
from tradewind.units import format_bytes

MOST_LINES = 100_000


def is_explain(statement: str, columns: Sequence[Column]) -> bool:
    """Return whether the statement, which PostgreSQL has prepared with these columns, asks for a plan."""
    return find_first_word(statement).upper() == "EXPLAIN" and [column.name for column in columns] == ["QUERY PLAN"]


def explain(connection: psycopg.Connection, statement: str, columns: Sequence[Column], *, most_bytes: int) -> str:
    """Return a SELECT of the lines of the plan, under their name and in their type.

    Raises
    ------
    TooLarge : the plan has more bytes than a row may have, or more than `MOST_LINES`; the rest of it is not read.
    """
    texts: list[str] = []
    size_bytes = 0
    with connection.cursor() as cursor, closing(_stream(cursor, statement)) as lines:
        for (line,) in lines:
            text = line if isinstance(line, str) else json.dumps(line, indent=2)
            size_bytes += len(text.encode())
            if size_bytes > most_bytes:
                raise TooLarge(f"the plan has more than {format_bytes(most_bytes)}, the limit of a row")
            if len(texts) == MOST_LINES:
                raise TooLarge(f"the plan has more than {MOST_LINES} lines, the limit")
            texts.append(text)
        kind = "text" if cursor.description is None else cursor.description[0].type_display
    array = sql.Literal(texts).as_string(connection)
    return f"SELECT unnest({array}::text[])::{kind} AS {format_names(columns)}"


def _stream(cursor: psycopg.Cursor, statement: str) -> Generator[tuple[Any, ...], None, None]:
    """Read the lines one by one; where this is closed before the last, the statement is cancelled."""
    return cast("Generator[tuple[Any, ...], None, None]", cursor.stream(statement.encode()))
