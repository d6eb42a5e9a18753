"""Tenants: each sees, and is created within, its own unit of work."""

from uuid import UUID

from sqlalchemy import Connection, insert, select

from services.persistence.tables import tenants


class Tenants:
    """The tenant of a unit of work."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def add(self, name: str) -> None:
        """Register the unit of work's own tenant."""
        self._connection.execute(insert(tenants).values(id=self._tenant_id, name=name))

    def get_name(self) -> str:
        """Return the name of the unit of work's own tenant."""
        name: str = self._connection.execute(select(tenants.c.name).where(tenants.c.id == self._tenant_id)).scalar_one()
        return name
