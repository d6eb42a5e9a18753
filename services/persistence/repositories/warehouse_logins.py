"""Logins by which a tenant's rows are read: one for its people's own tools, one for the service's queries."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from services.application.query_warehouse import LoginKind, StoredLogin
from services.persistence.tables import warehouse_logins


class WarehouseLogins:
    """The logins of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def find(self, kind: LoginKind) -> StoredLogin | None:
        found = self._connection.execute(
            select(warehouse_logins.c.password, warehouse_logins.c.created_at).where(warehouse_logins.c.kind == kind)
        ).first()
        return found and StoredLogin(self._name(kind), found.password, found.created_at)

    def open(self, kind: LoginKind, password: str, *, at: datetime) -> StoredLogin:
        """Make the login, or give it another password; a rival who does the same waits for this transaction."""
        values = {"password": password, "created_at": at}
        self._connection.execute(
            insert(warehouse_logins)
            .values(tenant_id=self._tenant_id, kind=kind.value, **values)
            .on_conflict_do_update(index_elements=["tenant_id", "kind"], set_=values)
        )
        self._connection.execute(select(func.open_warehouse_login(kind.value, password)))
        return StoredLogin(self._name(kind), password, at)

    def close(self, kind: LoginKind) -> bool:
        """Remove the login and end its sessions; whether there was one."""
        removed = self._connection.execute(delete(warehouse_logins).where(warehouse_logins.c.kind == kind.value))
        self._connection.execute(select(func.close_warehouse_login(kind.value)))
        return bool(removed.rowcount)

    def _name(self, kind: LoginKind) -> str:
        return f"tradewind_{kind.value}_{self._tenant_id.hex}"
