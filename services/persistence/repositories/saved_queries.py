"""Queries that analysts save under a name."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.dialects.postgresql import insert

from services.application.warehouse.saved_queries import SavedQuery
from services.persistence.tables import saved_queries, users


class SavedQueries:
    """The saved queries of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def list_all(self) -> Sequence[SavedQuery]:
        """Return all queries, by name."""
        rows = self._connection.execute(
            select(saved_queries, users.c.login)
            .join(users, users.c.id == saved_queries.c.author_id)
            .order_by(saved_queries.c.name)
        )
        return [
            SavedQuery(
                id=row.id,
                name=row.name,
                sql=row.sql,
                author_id=row.author_id,
                author=row.login,
                saved_at=row.saved_at,
            )
            for row in rows
        ]

    def put(self, name: str, sql: str, *, author_id: UUID, at: datetime) -> UUID | None:
        """Add a query, or replace its author's own of that name; return ``None`` where another author has the name."""
        values = {"sql": sql, "saved_at": at}
        found: UUID | None = self._connection.execute(
            insert(saved_queries)
            .values(tenant_id=self._tenant_id, name=name, author_id=author_id, **values)
            .on_conflict_do_update(
                index_elements=["tenant_id", "name"], set_=values, where=saved_queries.c.author_id == author_id
            )
            .returning(saved_queries.c.id)
        ).scalar_one_or_none()
        return found

    def remove(self, query_id: UUID) -> None:
        self._connection.execute(delete(saved_queries).where(saved_queries.c.id == query_id))

    def hand_over(self, author_id: UUID, *, to: UUID) -> None:
        """Make another user the author of all queries of a user."""
        self._connection.execute(
            update(saved_queries).where(saved_queries.c.author_id == author_id).values(author_id=to)
        )
