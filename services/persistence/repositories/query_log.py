"""The log of queries of one tenant."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select

from services.application.shared.audit import Actor
from services.application.warehouse.query import Query
from services.application.warehouse.query_log import (
    MOST_CHARACTERS,
    MOST_MESSAGE_CHARACTERS,
    MOST_OF_ACTOR,
    RETAINED,
    LoggedQuery,
    QueryEnd,
    QueryOutcome,
)
from services.persistence.tables import query_log

_LOG = query_log.c


class QueryLogs:
    """Queries that ended."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def add(self, query: Query, end: QueryEnd, *, actor: Actor) -> None:
        """Add a query of an actor; remove what is older than the log retains, or too much of the actor's."""
        text = query.sql.replace("\0", "\ufffd")
        self._connection.execute(
            insert(query_log).values(
                tenant_id=self._tenant_id,
                actor_kind=actor.kind.value,
                actor_id=actor.id,
                started_at=end.started_at,
                duration_s=end.duration_s,
                sql=text[:MOST_CHARACTERS],
                characters=len(text),
                format=query.format.value,
                outcome=end.outcome.value,
                rows=end.rows,
                bytes=end.bytes,
                sqlstate=end.sqlstate,
                message=None if end.message is None else end.message[:MOST_MESSAGE_CHARACTERS],
            )
        )
        oldest = (
            select(_LOG.id).where(_is_of(actor)).order_by(_LOG.id.desc()).offset(MOST_OF_ACTOR).limit(1)
        ).scalar_subquery()
        self._connection.execute(delete(query_log).where(_is_of(actor), _LOG.id <= oldest))
        self._connection.execute(delete(query_log).where(_LOG.started_at < end.started_at - RETAINED))

    def list_of(self, actor: Actor, *, limit: int, before: int | None = None) -> Sequence[LoggedQuery]:
        """Return the newest queries of an actor, of those with a lower id than ``before``."""
        earlier = [] if before is None else [_LOG.id < before]
        found = self._connection.execute(
            select(query_log).where(_is_of(actor), *earlier).order_by(_LOG.id.desc()).limit(limit)
        )
        return [
            LoggedQuery(
                id=row.id,
                sql=row.sql,
                characters=row.characters,
                format=row.format,
                end=QueryEnd(
                    started_at=row.started_at,
                    duration_s=row.duration_s,
                    outcome=QueryOutcome(row.outcome),
                    rows=row.rows,
                    bytes=row.bytes,
                    sqlstate=row.sqlstate,
                    message=row.message,
                ),
            )
            for row in found
        ]


def _is_of(actor: Actor) -> ColumnElement[bool]:
    return and_(_LOG.actor_kind == actor.kind.value, _LOG.actor_id == actor.id)
