"""EXPLAIN as a query: COPY takes no such statement, so that its lines become a SELECT of their own.

It runs by the tenant's login and within all limits of a query. What plans say of other tenants' rows is the views' and
the tables' to prevent: see decision 44.
"""

import json
import re
from collections.abc import Sequence

import psycopg
from psycopg import sql

from services.persistence.warehouse.row_sizes import Column, format_names
from tradewind.errors import TooLarge
from tradewind.units import format_bytes

_EXPLAIN = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*EXPLAIN\b", re.IGNORECASE | re.DOTALL)


def is_explain(statement: str) -> bool:
    """Return whether the statement, which PostgreSQL has prepared, asks for a plan."""
    return _EXPLAIN.match(statement) is not None


def explain(connection: psycopg.Connection, statement: str, columns: Sequence[Column], *, most_bytes: int) -> str:
    """Return a SELECT of the lines of the plan, under their name and in their type.

    Raises
    ------
    TooLarge : the plan has more bytes than a row may have.
    """
    with connection.cursor() as cursor:
        lines = [line for (line,) in cursor.execute(statement.encode()).fetchall()]
        kind = "text" if cursor.description is None else cursor.description[0].type_display
    texts = [line if isinstance(line, str) else json.dumps(line, indent=2) for line in lines]
    if sum(map(len, texts)) > most_bytes:
        raise TooLarge(f"the plan has more than {format_bytes(most_bytes)}, the limit of a row")
    array = sql.Literal(texts).as_string(connection)
    return f"SELECT unnest({array}::text[])::{kind} AS {format_names(columns)}"
