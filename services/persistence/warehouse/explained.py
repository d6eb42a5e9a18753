"""EXPLAIN as a query: COPY takes no such statement, so that a function of the database reads its lines.

It runs by the tenant's login and within all limits of a query. What plans say of other tenants' rows is the views' and
the tables' to prevent: see decision 44.
"""

from collections.abc import Sequence

import psycopg
from psycopg import sql

from services.persistence.warehouse.row_sizes import Column, format_names
from services.persistence.warehouse.sql_text import find_first_word

MOST_LINES = 100_000


def is_explain(statement: str, columns: Sequence[Column]) -> bool:
    """Return whether the statement, which PostgreSQL has prepared with these columns, asks for a plan."""
    return find_first_word(statement).upper() == "EXPLAIN" and [column.name for column in columns] == ["QUERY PLAN"]


def explain(connection: psycopg.Connection, statement: str, columns: Sequence[Column], *, most_bytes: int) -> str:
    """Return a SELECT of the lines of the plan, under their name and in their type.

    It fails where the plan has more bytes than a row may have, be it in one line, or more than `MOST_LINES`.
    """
    (column,) = columns
    kind = connection.adapters.types[column.type].name
    explained = sql.Literal(statement).as_string(connection)
    lines = f"warehouse.read_plan({explained}, {most_bytes}, {MOST_LINES})"
    return f"SELECT line::{kind} AS {format_names(columns)} FROM {lines} AS line"  # noqa: S608 -- of literals and numbers
