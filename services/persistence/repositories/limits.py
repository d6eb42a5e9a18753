"""Caps of a tenant, of its endpoints and of the paths between them."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from services.application.limits.caps import Limit, LimitScope
from services.application.limits.learned_caps import MAX_AGE, MOST_LEARNED_OF_KEY, LearnedCap
from services.persistence.repositories.billing.customers import NEWEST_HOLDERS
from services.persistence.repositories.endpoints import Endpoints
from services.persistence.tables import api_keys, endpoints, learned_limits, limits
from tradewind.errors import InvalidValue


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
            if limit.scope is LimitScope.ENDPOINT:
                of_endpoint = learned_limits.c.endpoint_id == place["source_id"]
                self._connection.execute(delete(learned_limits).where(of_endpoint))
            return
        self._connection.execute(
            insert(limits)
            .values(tenant_id=self._tenant_id, **place, **caps)
            .on_conflict_do_update(index_elements=["tenant_id", "scope", "source_id", "destination_id"], set_=caps)
        )

    def list_learned(self) -> Sequence[LearnedCap]:
        """Return the caps that agents have learned within their lifetime."""
        rows = self._connection.execute(
            select(learned_limits, endpoints.c.name, api_keys.c.name.label("key_name"), NEWEST_HOLDERS.c.customer_id)
            .join(endpoints, endpoints.c.id == learned_limits.c.endpoint_id)
            .join(api_keys, api_keys.c.id == learned_limits.c.key_id)
            .outerjoin(NEWEST_HOLDERS, NEWEST_HOLDERS.c.key_id == learned_limits.c.key_id)
            .where(learned_limits.c.refused_at > func.now() - MAX_AGE)
        )
        return [
            LearnedCap(
                endpoint=row.name,
                key_id=row.key_id,
                customer=row.customer_id or row.key_name,
                streams=row.streams,
                refused_at=row.refused_at,
            )
            for row in rows
        ]

    def put_learned(self, endpoint: str, key_id: UUID, *, streams: int, refused_at: datetime) -> None:
        """Store what the agents of a key have learned of an endpoint; an earlier refusal replaces no later one.

        What has had its lifetime is removed.

        Raises
        ------
        InvalidValue : the key has learned of too many endpoints within that time.
        """
        is_over = learned_limits.c.refused_at <= func.now() - MAX_AGE
        self._connection.execute(delete(learned_limits).where(is_over))
        names = Endpoints(self._connection, self._tenant_id)
        of_key = select(func.count()).select_from(learned_limits).where(learned_limits.c.key_id == key_id)
        others = of_key.where(learned_limits.c.endpoint_id.is_distinct_from(names.find([endpoint]).get(endpoint)))
        if self._connection.execute(others).scalar_one() >= MOST_LEARNED_OF_KEY:
            raise InvalidValue("endpoint", f"is one too many: a key learns of {MOST_LEARNED_OF_KEY:,} in a day")
        (endpoint_id,) = names.resolve([endpoint]).values()
        statement = insert(learned_limits).values(
            tenant_id=self._tenant_id,
            endpoint_id=endpoint_id,
            key_id=key_id,
            streams=streams,
            refused_at=refused_at,
        )
        sent = statement.excluded
        self._connection.execute(
            statement.on_conflict_do_update(
                index_elements=["tenant_id", "endpoint_id", "key_id"],
                set_={"streams": sent.streams, "refused_at": sent.refused_at},
                where=learned_limits.c.refused_at <= sent.refused_at,
            )
        )
