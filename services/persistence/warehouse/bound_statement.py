"""An analyst's statement with its values as literals, as COPY, which takes no parameters, needs it.

PostgreSQL itself confirms where the parameters are: each place first gets a parameter of its own, and a statement that
does not have all of them as parameters is refused. So a value only ever replaces a parameter, and can be read only as a
literal. The final statement is prepared alone too, so that it is one complete statement: it cannot end the statement
around it, which limits and counts its rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from psycopg import pq

from services.application.warehouse.query import Parameter
from services.persistence.warehouse.row_sizes import Column, make_names_unique
from services.persistence.warehouse.sql_text import SqlText
from tradewind.errors import QueryRefused

_HINTS = {
    "42501": "; a reader sees the views of the schema warehouse, see GET /v1/warehouse/schema",
    "42P01": "; GET /v1/warehouse/schema lists what there is",
    "25006": "; the warehouse is read-only",
}
_UNCLEAR = "parameters, or the end, cannot be distinguished from the rest of the statement; write it more simply"


@dataclass(frozen=True, slots=True)
class _PreparedStatement:
    """A statement as PostgreSQL prepares it; ``parameter_types`` : numbers in pg_type."""

    parameter_types: Sequence[int]
    columns: Sequence[Column]

    @property
    def column_types(self) -> Sequence[int]:
        return [column.type for column in self.columns]


def bind_parameters(
    connection: psycopg.Connection, sql: str, parameters: Sequence[Parameter]
) -> tuple[str, Sequence[Column]]:
    """Return the statement with literals for its parameters and without its last semicolon, and its uniquely named
    columns.

    Raises
    ------
    QueryRefused : it is no statement, several, or one without rows, or the values do not suit it.
    """
    if "\0" in sql:
        raise QueryRefused("SQL cannot hold a zero byte", position=sql.index("\0") + 1)
    described = _describe(connection, sql)
    types = described.parameter_types
    if not described.columns:
        raise QueryRefused("this statement has no rows; ask with SELECT, VALUES, TABLE, WITH or EXPLAIN")
    if len(types) != len(parameters):
        raise QueryRefused(f"the statement has {len(types)} parameters ($1, …), but {len(parameters)} were given")
    text = SqlText(sql)
    if text.parameters and max(text.parameters) > len(types):
        raise QueryRefused(_UNCLEAR)
    names = _list_type_names(connection, types)
    if text.places:
        _confirm_places(connection, text, types, names)
    literals = {number: _format_literal(connection, value) for number, value in enumerate(parameters, start=1)}
    filled = text.fill(lambda _, number: f"CAST({literals[number]} AS {names[number - 1]})")
    if filled != sql:
        probed = _describe(connection, filled)
        if probed.parameter_types or probed.column_types != described.column_types:
            raise QueryRefused(_UNCLEAR)
    return filled, make_names_unique(described.columns)


def _confirm_places(connection: psycopg.Connection, text: SqlText, types: Sequence[int], names: Sequence[str]) -> None:
    """Have PostgreSQL see a parameter in each place where the text has one.

    Each is numbered behind those of the statement, so that a missed one cannot take its place, and typed by its own
    cast only: PostgreSQL prepares nothing with a number that it does not meet.
    """
    probe = text.fill(lambda place, number: f"CAST(${len(types) + place} AS {names[number - 1]})")
    try:
        found = len(_describe(connection, probe, types).parameter_types)
    except QueryRefused as refused:
        raise QueryRefused(_UNCLEAR) from refused
    if found != len(types) + text.places:
        raise QueryRefused(_UNCLEAR)


def _describe(
    connection: psycopg.Connection, sql: str, parameter_types: Sequence[int] | None = None
) -> _PreparedStatement:
    """Prepare the statement, which runs nothing.

    Raises
    ------
    QueryRefused : it is no statement, or several.
    """
    for result in (
        connection.pgconn.prepare(b"", sql.encode(), parameter_types),
        described := connection.pgconn.describe_prepared(b""),
    ):
        if result.status != pq.ExecStatus.COMMAND_OK:
            error = psycopg.errors.error_from_result(result)
            position = error.diag.statement_position
            raise to_query_refused(error, int(position) if position else None) from error
    encoding = connection.info.encoding
    columns = [
        Column((described.fname(index) or b"").decode(encoding), described.ftype(index), described.fmod(index))
        for index in range(described.nfields)
    ]
    return _PreparedStatement([described.param_type(index) for index in range(described.nparams)], columns)


def to_query_refused(error: psycopg.Error, position: int | None = None) -> QueryRefused:
    """Return PostgreSQL's message about a statement, with its position."""
    message = error.diag.message_primary or str(error).partition("\n")[0]
    hint = f" ({error.diag.message_hint})" if error.diag.message_hint else ""
    at = f" at character {position}" if position else ""
    return QueryRefused(
        f"{message}{at}{hint}{_HINTS.get(error.sqlstate or '', '')}", sqlstate=error.sqlstate, position=position
    )


def _list_type_names(connection: psycopg.Connection, types: Sequence[int]) -> Sequence[str]:
    if not types:
        return ()
    query = "SELECT format_type(oid, NULL) FROM unnest(%s::oid[]) WITH ORDINALITY AS asked(oid, nth) ORDER BY nth"
    return [name for (name,) in connection.execute(query, [list(types)])]


def _format_literal(connection: psycopg.Connection, value: Parameter) -> str:
    if value is None:
        return "NULL"
    text = str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else repr(value)
    return pq.Escaping(connection.pgconn).escape_literal(text.encode()).decode()
