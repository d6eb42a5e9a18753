"""Tenants: each sees, and is created within, its own unit of work."""

from uuid import UUID

from sqlalchemy import Connection, insert, select
from sqlalchemy.dialects.postgresql import insert as insert_or_replace

from services.application.billing.issuer import Issuer
from services.persistence.tables import statement_issuers, tenants


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

    def find_issuer(self) -> Issuer | None:
        """Return who issues statements; ``None`` until a provider says so."""
        row = self._connection.execute(select(statement_issuers)).one_or_none()
        return None if row is None else Issuer(row.name, tuple(row.address))

    def set_issuer(self, issuer: Issuer) -> None:
        values = {"name": issuer.name, "address": list(issuer.address)}
        self._connection.execute(
            insert_or_replace(statement_issuers)
            .values(tenant_id=self._tenant_id, **values)
            .on_conflict_do_update(index_elements=["tenant_id"], set_=values)
        )
