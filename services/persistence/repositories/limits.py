"""Caps of a tenant, of its endpoints and of the paths between them."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.postgresql import insert

from services.application.limits.caps import Limit, LimitScope
from services.persistence.repositories.endpoints import Endpoints
from services.persistence.tables import endpoints, limits


class LimitsOfTenant:
    """Limits of one tenant, one for a place."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def list_all(self) -> Sequence[Limit]:
        """Return every limit: the tenant's, then those of endpoints, then of links, by name."""
        source, destination = endpoints.alias("source"), endpoints.alias("destination")
        rows = self._connection.execute(
            select(limits, source.c.name.label("source"), destination.c.name.label("destination"))
            .outerjoin(source, source.c.id == limits.c.source_id)
            .outerjoin(destination, destination.c.id == limits.c.destination_id)
            .order_by(source.c.name, destination.c.name)
        )
        found = [
            Limit(
                scope=LimitScope(row.scope),
                source=row.source,
                destination=row.destination,
                concurrency=row.concurrency,
                streams=row.streams,
            )
            for row in rows
        ]
        return sorted(found, key=lambda limit: list(LimitScope).index(limit.scope))

    def put(self, limit: Limit) -> None:
        """Set, replace or, where nothing is limited, remove the limit of a place; unknown names become endpoints."""
        names = [name for name in (limit.source, limit.destination) if name is not None]
        ids = Endpoints(self._connection, self._tenant_id).resolve(names)
        place = {
            "scope": limit.scope.value,
            "source_id": None if limit.source is None else ids[limit.source],
            "destination_id": None if limit.destination is None else ids[limit.destination],
        }
        caps = {"concurrency": limit.concurrency, "streams": limit.streams}
        if limit.concurrency is None and limit.streams is None:
            there = (limits.c[name].is_not_distinct_from(value) for name, value in place.items())
            self._connection.execute(delete(limits).where(*there))
            return
        self._connection.execute(
            insert(limits)
            .values(tenant_id=self._tenant_id, **place, **caps)
            .on_conflict_do_update(index_elements=["tenant_id", "scope", "source_id", "destination_id"], set_=caps)
        )
