"""Ports to the repositories of the warehouse: accounts, the log of queries, saved queries: one protocol a repository.

The application may not import `services.persistence`, which implements them; `services.application.shared.unit_of_work`
gives access to them in one transaction of one tenant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from services.application.shared.audit import Actor
    from services.application.warehouse.database_accounts import PersonalLogin
    from services.application.warehouse.query import LoginKind, Query, StoredLogin
    from services.application.warehouse.query_log import LoggedQuery, QueryEnd
    from services.application.warehouse.saved_queries import SavedQuery


class DatabaseAccountRepository(Protocol):
    """Database accounts that read one tenant's warehouse; a port because the application may not import persistence."""

    def find(self, kind: LoginKind) -> StoredLogin | None: ...
    def take_slot(self, kind: LoginKind) -> None:
        """Wait for, and hold until the end of the transaction, the right to open an account of this kind."""

    def hold(self, kind: LoginKind) -> StoredLogin | None: ...
    def open(self, kind: LoginKind, password: str, *, at: datetime) -> StoredLogin: ...
    def close(self, kind: LoginKind) -> bool:
        """Remove the account; return whether there was one."""

    def find_personal(self, user_id: UUID) -> PersonalLogin | None: ...
    def count_personal(self) -> int: ...
    def open_personal(self, user_id: UUID, password: str, *, at: datetime, until: datetime | None) -> StoredLogin: ...
    def extend_personal(self, user_id: UUID, *, until: datetime) -> None: ...
    def close_personal(self, user_id: UUID) -> bool:
        """Remove the user's account; return whether there was one."""


class QueryLogRepository(Protocol):
    """Queries of one tenant that ended; a port because the application may not import persistence."""

    def add(self, query: Query, end: QueryEnd, *, actor: Actor) -> None:
        """Add a query; remove what is older than the log retains, or too much of the actor's."""

    def list_of(self, actor: Actor, *, limit: int, before: int | None = None) -> Sequence[LoggedQuery]: ...


class SavedQueryRepository(Protocol):
    """Queries that users of one tenant saved; a port because the application may not import persistence."""

    def list_all(self) -> Sequence[SavedQuery]: ...
    def put(self, name: str, sql: str, *, author_id: UUID, at: datetime) -> UUID | None:
        """Add a query, or replace its author's own of that name; return ``None`` where the name is another user's."""

    def remove(self, query_id: UUID) -> None: ...
    def hand_over(self, author_id: UUID, *, to: UUID) -> None: ...
