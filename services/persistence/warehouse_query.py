"""Analysts' SQL, run by logins of their tenant and streamed in flat memory.

A query has a connection of its own on which the tenant's login was authenticated, so that nothing in its text can put
on another role: not the application's, of which it would be a member, had it come by SET ROLE.

It is prepared as it was written first, which tells errors at their place, that it is one statement, that it has rows,
and the types of its parameters. Then COPY sends the rows, which takes no parameters: they are written into the text as
literals of these types.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import quote
from uuid import UUID

import psycopg
from psycopg import pq

from services.application.query_warehouse import (
    Parameter,
    Query,
    QueryLimits,
    StoredLogin,
)
from services.persistence.roles import login_url
from services.persistence.row_sizes import Column
from services.persistence.row_streams import ROW_STREAMS, Rows, RowStream
from services.persistence.sql_text import SqlText
from tradewind.errors import QueryRefused, TooLarge, Unavailable
from tradewind.units import format_bytes

CONNECT_PATIENCE_S = 5
CANCEL_PATIENCE_S = 5.0
_HINTS = {
    "42501": "; a reader sees the views of the schema warehouse, see GET /v1/warehouse/schema",
    "42P01": "; GET /v1/warehouse/schema lists what there is",
    "25006": "; the warehouse is read-only",
}

_LOGIN_REFUSED = re.compile(r'password authentication failed|role ".*" (does not exist|is not permitted to log in)')
"""By its words: libpq keeps PostgreSQL's code of what ended a connection that was never made to itself."""

GetLogin = Callable[[bool], StoredLogin]
"""The login to connect as; made anew if asked to."""


class WarehouseQuery:
    """One query of one tenant; see `QueryRun`.

    Parameters
    ----------
    database_url : of the database, for any role.
    """

    def __init__(
        self, query: Query, *, tenant_id: UUID, database_url: str, login: GetLogin, limits: QueryLimits
    ) -> None:
        self.tenant_id = tenant_id
        self._query = query
        self._database_url = database_url
        self._login = login
        self._limits = limits
        self._cancel: Callable[[], None] | None = None
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled = True
        if self._cancel is not None:
            self._cancel()

    def chunks(self) -> Iterator[bytes]:
        query, limits = self._query, self._limits
        rows = min(query.limit or limits.rows, limits.rows)
        with self._failures_told(), self._connected() as connection:
            self._cancellable_by(lambda: connection.cancel_safe(timeout=CANCEL_PATIENCE_S))
            statement, columns = _bound(connection, query.sql, query.parameters)
            asked = Rows(statement=statement, columns=columns, limit=rows, most_bytes=limits.row_bytes)
            stream: RowStream = ROW_STREAMS[query.format](connection, asked)
            self._cancellable_by(stream.cancel)
            try:
                yield from self._within(stream.chunks())
            finally:
                stream.close()
        if stream.cut and query.limit is None:
            raise TooLarge(f"the query has more than {rows} rows, the limit; aggregate, or ask for fewer with limit")

    def _within(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The answer as far as it may go."""
        sent = 0
        for chunk in chunks:
            sent += len(chunk)
            if sent > self._limits.answer_bytes:
                self.cancel()
                most = format_bytes(self._limits.answer_bytes)
                raise TooLarge(f"the answer has more than {most}, the limit; ask for fewer columns or rows")
            yield chunk

    def _cancellable_by(self, cancel: Callable[[], None]) -> None:
        self._cancel = cancel
        if self._cancelled:
            raise Unavailable("the query was cancelled")

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection]:
        try:
            connection = self._connect(self._login(False))
        except psycopg.OperationalError as refused:
            if not _LOGIN_REFUSED.search(str(refused)):
                raise  # another password would not help, and take the login from the queries that run
            connection = self._connect(self._login(True))
        try:
            yield connection
        finally:
            connection.close()

    def _connect(self, login: StoredLogin) -> psycopg.Connection:
        url = login_url(self._database_url, login.name, password=login.password)
        options = f"-c statement_timeout={self._limits.seconds * 1000:.0f} -c default_transaction_read_only=on"
        separator = "&" if "?" in url else "?"
        return psycopg.connect(
            f"{url}{separator}options={quote(options)}",
            autocommit=True,
            connect_timeout=CONNECT_PATIENCE_S,
            application_name="tradewind warehouse",
        )

    @contextmanager
    def _failures_told(self) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.QueryCanceled as stopped:
            raise QueryRefused(
                f"the query was stopped after {self._limits.seconds:g} s, the limit", sqlstate=stopped.sqlstate
            ) from stopped
        except psycopg.errors.SyntaxError as wrong:  # what was asked is well-formed, and cannot be part of a query
            raise QueryRefused(
                "only rows can be asked for: one SELECT, VALUES, TABLE or WITH that changes nothing",
                sqlstate=wrong.sqlstate,
            ) from wrong
        except psycopg.errors.ProgramLimitExceeded as large:
            raise TooLarge(large.diag.message_primary or str(large)) from large
        except psycopg.OperationalError as away:
            if away.sqlstate is None or away.sqlstate.startswith(("08", "53300", "57P")):
                raise Unavailable("the database does not answer now, or is asked too much; try again") from away
            raise _refusal(away) from away
        except psycopg.Error as error:
            raise _refusal(error) from error


def _refusal(error: psycopg.Error, position: int | None = None) -> QueryRefused:
    told = error.diag.message_primary or str(error).partition("\n")[0]
    hint = f" ({error.diag.message_hint})" if error.diag.message_hint else ""
    at = f" at character {position}" if position else ""
    return QueryRefused(
        f"{told}{at}{hint}{_HINTS.get(error.sqlstate or '', '')}", sqlstate=error.sqlstate, position=position
    )


def _bound(connection: psycopg.Connection, sql: str, parameters: Sequence[Parameter]) -> tuple[str, Sequence[Column]]:
    """The statement with its parameters as literals, once the server has parsed it as it was written; its columns."""
    types, columns = _described(connection, sql)
    text_ = SqlText(sql)
    if len(types) != len(parameters):
        raise QueryRefused(f"the statement has {len(types)} parameters ($1, …), but {len(parameters)} were given")
    if text_.parameters and max(text_.parameters) != len(types):
        raise QueryRefused("parameters cannot be told from the rest of the statement; write it more plainly")
    names = _type_names(connection, types)
    escaping = pq.Escaping(connection.pgconn)
    literals = {}
    for number, (value, name) in enumerate(zip(parameters, names, strict=True), start=1):
        escaped = "NULL" if value is None else escaping.escape_literal(_text_of(value).encode()).decode()
        literals[number] = f"CAST({escaped} AS {name})"
    return text_.filled(literals), columns


def _described(connection: psycopg.Connection, sql: str) -> tuple[Sequence[int], Sequence[Column]]:
    """Prepare the statement: the types of its parameters, and its columns.

    Raises
    ------
    QueryRefused : it is no statement, several, or one without rows.
    """
    if "\0" in sql:
        raise QueryRefused("SQL cannot hold a zero byte", position=sql.index("\0") + 1)
    for result in (
        connection.pgconn.prepare(b"", sql.encode()),
        described := connection.pgconn.describe_prepared(b""),
    ):
        if result.status != pq.ExecStatus.COMMAND_OK:
            error = psycopg.errors.error_from_result(result)
            position = error.diag.statement_position
            raise _refusal(error, int(position) if position else None) from error
    if described.nfields == 0:
        raise QueryRefused("this statement has no rows; ask with SELECT, VALUES, TABLE or WITH")
    encoding = connection.info.encoding
    columns = [
        Column((described.fname(index) or b"").decode(encoding), described.ftype(index))
        for index in range(described.nfields)
    ]
    return [described.param_type(index) for index in range(described.nparams)], columns


def _type_names(connection: psycopg.Connection, types: Sequence[int]) -> Sequence[str]:
    if not types:
        return ()
    query = "SELECT format_type(oid, NULL) FROM unnest(%s::oid[]) WITH ORDINALITY AS asked(oid, nth) ORDER BY nth"
    return [name for (name,) in connection.execute(query, [list(types)])]


def _text_of(value: Parameter) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)
