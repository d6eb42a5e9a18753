"""The warehouse as analysts see it: its views, its address for their tools, and their queries."""

from collections.abc import Callable, Sequence
from uuid import UUID

import psycopg

from services.application.shared.audit import Actor
from services.application.shared.ports import Clock
from services.application.warehouse.query import Query, QueryLimits, SchemaColumn, SchemaView, StoredLogin
from services.application.warehouse.query_log import QueryEnd
from services.persistence.failures import translate_failures
from services.persistence.roles import build_login_url, replace_address
from services.persistence.warehouse.query import WarehouseQuery

LOOPBACK = "127.0.0.1"


class Warehouse:
    """The warehouse of every tenant.

    Parameters
    ----------
    database_url : of the application's role.
    login : returns the account of a tenant for the service's queries; with ``True``, a renewed one.
    note : notes a statement before it runs: tenant, actor, query.
    record : records how a query ended.
    clock : of the start of queries.
    reader_address : host and port at which analysts reach the database; None: those that the service uses.
    """

    def __init__(
        self,
        database_url: str,
        *,
        login: Callable[[UUID, bool], StoredLogin],
        note: Callable[[UUID, Actor, Query], None],
        record: Callable[[UUID, Actor, Query, QueryEnd], None],
        clock: Clock,
        limits: QueryLimits,
        reader_address: str | None = None,
    ) -> None:
        self._database_url = database_url
        self._login = login
        self._note = note
        self._record = record
        self._clock = clock
        self._reader_address = reader_address
        self.limits = limits

    def query(self, tenant_id: UUID, query: Query, *, actor: Actor) -> WarehouseQuery:
        """Return the query of an actor, not started yet."""

        def ensure_login(renew: bool) -> StoredLogin:
            return self._login(tenant_id, renew)

        return WarehouseQuery(
            query,
            tenant_id=tenant_id,
            database_url=self._database_url,
            login=ensure_login,
            note=lambda: self._note(tenant_id, actor, query),
            record=lambda end: self._record(tenant_id, actor, query, end),
            clock=self._clock,
            limits=self.limits,
        )

    def describe_schema(self) -> Sequence[SchemaView]:
        """Return the views by name; columns in their own order."""
        views: dict[tuple[str, str], list[SchemaColumn]] = {}
        with translate_failures(), psycopg.connect(self._database_url) as connection:
            for view, view_comment, name, kind, comment in connection.execute(_SCHEMA):
                columns = views.setdefault((view, view_comment or ""), [])
                columns.append(SchemaColumn(name=name, type=kind, comment=comment or ""))
        return [SchemaView(name=name, comment=comment, columns=columns) for (name, comment), columns in views.items()]

    def build_address(self, login: StoredLogin) -> str:
        """Return the URL by which a user's tool reaches the database as ``login``."""
        url = build_login_url(self._database_url, login.name, password=login.password)
        if self._reader_address is not None:
            return replace_address(url, self._reader_address)
        with translate_failures(), psycopg.connect(self._database_url) as connection:
            host, port = connection.info.host, connection.info.port
            listens = connection.execute("SHOW listen_addresses").fetchone()
        # A socket admits its owner only; others come over TCP, where the login has a password.
        if host.startswith("/") and listens != ("",):
            return replace_address(url, f"{LOOPBACK}:{port}")
        return url


_SCHEMA = """
    SELECT c.relname AS view, obj_description(c.oid, 'pg_class') AS view_comment, a.attname AS name,
           format_type(a.atttypid, a.atttypmod) AS type, col_description(c.oid, a.attnum) AS comment
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relnamespace = 'warehouse'::regnamespace AND c.relkind = 'v'
     ORDER BY c.relname, a.attnum
"""
