"""The audit log: entries are added and read, never changed."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Select, func, insert, or_, select

from services.application.shared.audit import Actor, ActorKind, AuditEntry
from services.persistence.tables import api_keys, audit_log, users


class AuditLog:
    """Audit entries of one tenant, by the actor of the transaction."""

    def __init__(self, connection: Connection, tenant_id: UUID, actor: Actor) -> None:
        self._connection, self._tenant_id, self._actor = connection, tenant_id, actor

    def note(self, action: str, subject: str, **detail: Any) -> None:
        self._connection.execute(
            insert(audit_log).values(
                tenant_id=self._tenant_id,
                actor_kind=self._actor.kind.value,
                actor_id=self._actor.id,
                action=action,
                subject=subject,
                detail=detail,
            )
        )

    def of_book(
        self, book_id: UUID, *, limit: int, before: int | None = None, but: Sequence[str] = ()
    ) -> Sequence[AuditEntry]:
        """Return changes of one price book before an entry, the newest first; ``but`` : actions that are left out."""
        detail = audit_log.c.detail
        is_of_it = or_(detail["id"].astext == str(book_id), detail["book"].astext == str(book_id))
        action = audit_log.c.action
        return self._read(
            self._select_newest(limit, before).where(action.startswith("price"), action.not_in(but), is_of_it)
        )

    def list_page(self, *, before: int | None = None, limit: int, about: str | None = None) -> Sequence[AuditEntry]:
        """Return entries before one, the newest first; ``about`` : the beginning of their action."""
        query = self._select_newest(limit, before)
        if about is not None:
            query = query.where(audit_log.c.action.startswith(about, autoescape=True))
        return self._read(query)

    def _select_newest(self, limit: int, before: int | None) -> Select[Any]:
        query = (
            select(audit_log, func.coalesce(users.c.login, api_keys.c.name, "service").label("actor"))
            .outerjoin(users, users.c.id == audit_log.c.actor_id)
            .outerjoin(api_keys, api_keys.c.id == audit_log.c.actor_id)
            .order_by(audit_log.c.id.desc())
            .limit(limit)
        )
        return query if before is None else query.where(audit_log.c.id < before)

    def _read(self, query: Select[Any]) -> Sequence[AuditEntry]:
        return [
            AuditEntry(
                id=row.id,
                at=row.at,
                actor_kind=ActorKind(row.actor_kind),
                actor=row.actor,
                action=row.action,
                subject=row.subject,
                detail=row.detail,
            )
            for row in self._connection.execute(query)
        ]
