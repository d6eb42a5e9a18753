"""Run analysts' SQL by database accounts of their tenant and stream it in constant memory.

A query has a connection of its own that was authenticated as the tenant's account, so that no text in it can switch to
another role: not even to the application's, although SET ROLE would make it a member of that one.

PostgreSQL prepares it first as it was written, which reports errors at their place, that it is one statement, that it
has rows, and the types of its parameters. Then COPY sends the rows; it takes no parameters, so `bound_statement` makes
them literals.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import quote
from uuid import UUID

import psycopg

from services.application.shared.ports import Clock
from services.application.warehouse.query import Query, QueryLimits, StoredLogin
from services.application.warehouse.query_log import QueryEnd, QueryOutcome
from services.persistence.roles import build_login_url
from services.persistence.warehouse.bound_statement import bind_parameters, to_query_refused
from services.persistence.warehouse.explained import explain, is_explain
from services.persistence.warehouse.row_streams import ROW_STREAMS, Rows, RowStream
from tradewind.errors import QueryRefused, TooLarge, TradewindError, Unavailable
from tradewind.units import format_bytes

CONNECT_PATIENCE_S = 5
CANCEL_PATIENCE_S = 5.0

_LOGIN_REFUSED = re.compile(r'password authentication failed|role ".*" (does not exist|is not permitted to log in)')
"""By its words: libpq hides PostgreSQL's code of an error that ended a connection before it was made."""

GetLogin = Callable[[bool], StoredLogin]
"""Returns the account to connect as; with ``True``, a renewed one."""


class WarehouseQuery:
    """One query of one tenant; see `QueryRun`.

    Parameters
    ----------
    database_url : of the database, for any role.
    note : notes the statement, before it runs.
    record : records how it ended.
    """

    def __init__(
        self,
        query: Query,
        *,
        tenant_id: UUID,
        database_url: str,
        login: GetLogin,
        note: Callable[[], None],
        record: Callable[[QueryEnd], None],
        clock: Clock,
        limits: QueryLimits,
    ) -> None:
        self.tenant_id = tenant_id
        self._query = query
        self._database_url = database_url
        self._login = login
        self._note = note
        self._record = record
        self._clock = clock
        self._limits = limits
        self._cancel: Callable[[], None] | None = None
        self._cancelled = False
        self._stream: RowStream | None = None
        self._sent_bytes = 0

    def cancel(self) -> None:
        self._cancelled = True
        if self._cancel is not None:
            self._cancel()

    def read_chunks(self) -> Iterator[bytes]:
        started_at, started_s = self._clock.now(), time.monotonic()
        outcome, error = QueryOutcome.CANCELLED, None  # as long as nothing else is known: the caller stopped reading
        try:
            yield from self._run()
            outcome = QueryOutcome.CUT if self._stream is not None and self._stream.cut else QueryOutcome.COMPLETED
        except TradewindError as failed:
            outcome, error = self._find_outcome(failed), failed
            raise
        except Exception:
            outcome = QueryOutcome.FAILED
            raise
        finally:
            self._record(
                QueryEnd(
                    started_at=started_at,
                    duration_s=time.monotonic() - started_s,
                    outcome=outcome,
                    rows=0 if self._stream is None else self._stream.sent_rows,
                    bytes=self._sent_bytes,
                    sqlstate=error.sqlstate if isinstance(error, QueryRefused) else None,
                    message=None if error is None else str(error),
                )
            )

    def _find_outcome(self, error: TradewindError) -> QueryOutcome:
        match error:
            case TooLarge():
                return QueryOutcome.TOO_LARGE
            case _ if self._cancelled:
                return QueryOutcome.CANCELLED
            case QueryRefused(sqlstate=psycopg.errors.QueryCanceled.sqlstate):
                return QueryOutcome.STOPPED
            case Unavailable():
                return QueryOutcome.UNAVAILABLE
            case _:
                return QueryOutcome.REFUSED

    def _run(self) -> Iterator[bytes]:
        query, limits = self._query, self._limits
        rows = min(query.limit or limits.rows, limits.rows)
        self._note()
        with self._translate_failures(), self._open_connection() as connection:
            self._set_cancel(lambda: connection.cancel_safe(timeout=CANCEL_PATIENCE_S))
            statement, columns = bind_parameters(connection, query.sql, query.parameters)
            if is_explain(statement, columns):
                statement = explain(connection, statement, columns, most_bytes=limits.row_bytes)
            rows_to_send = Rows(statement=statement, columns=columns, limit=rows, most_bytes=limits.row_bytes)
            self._stream = stream = ROW_STREAMS[query.format](connection, rows_to_send)
            self._set_cancel(stream.cancel)
            try:
                yield from self._limit_bytes(stream.read_chunks())
            finally:
                stream.close()
        if stream.cut and query.limit is None:
            raise TooLarge(f"the query has more than {rows} rows, the limit; aggregate, or ask for fewer with limit")

    def _limit_bytes(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the answer up to its limit of bytes."""
        for chunk in chunks:
            if self._sent_bytes + len(chunk) > self._limits.answer_bytes:
                self.cancel()
                most = format_bytes(self._limits.answer_bytes)
                raise TooLarge(f"the answer has more than {most}, the limit; ask for fewer columns or rows")
            self._sent_bytes += len(chunk)
            yield chunk

    def _set_cancel(self, cancel: Callable[[], None]) -> None:
        self._cancel = cancel
        if self._cancelled:
            raise Unavailable("the query was cancelled")

    @contextmanager
    def _open_connection(self) -> Iterator[psycopg.Connection]:
        try:
            connection = self._connect(self._login(False))
        except psycopg.OperationalError as refused:
            if not _LOGIN_REFUSED.search(str(refused)):
                raise  # another password would not help, and would take the account from running queries
            connection = self._connect(self._login(True))
        try:
            yield connection
        finally:
            connection.close()

    def _connect(self, login: StoredLogin) -> psycopg.Connection:
        url = build_login_url(self._database_url, login.name, password=login.password)
        options = (
            f"-c statement_timeout={self._limits.seconds * 1000:.0f} -c default_transaction_read_only=on"
            " -c standard_conforming_strings=on -c client_encoding=UTF8"
        )
        separator = "&" if "?" in url else "?"
        return psycopg.connect(
            f"{url}{separator}options={quote(options)}",
            autocommit=True,
            connect_timeout=CONNECT_PATIENCE_S,
            application_name="tradewind warehouse",
        )

    @contextmanager
    def _translate_failures(self) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.QueryCanceled as stopped:
            raise QueryRefused(
                f"the query was stopped after {self._limits.seconds:g} s, the limit", sqlstate=stopped.sqlstate
            ) from stopped
        except psycopg.errors.OutOfMemory as large:
            raise QueryRefused(
                "the query was stopped: it needs more memory than the database gives to one; "
                "filter or aggregate earlier, or ask in parts",
                sqlstate=large.sqlstate,
            ) from large
        except psycopg.errors.SyntaxError as wrong:  # the statement is well-formed, and cannot be part of a query
            raise QueryRefused(
                "only rows can be asked for: one SELECT, VALUES, TABLE, WITH or EXPLAIN that changes nothing",
                sqlstate=wrong.sqlstate,
            ) from wrong
        except psycopg.errors.ProgramLimitExceeded as large:
            raise TooLarge(large.diag.message_primary or str(large)) from large
        except psycopg.OperationalError as away:
            if away.sqlstate is None or away.sqlstate.startswith(("08", "53300", "57P")):
                raise Unavailable("the database does not answer now, or is asked too much; try again") from away
            raise to_query_refused(away) from away
        except psycopg.Error as error:
            raise to_query_refused(error) from error
