"""Cumulative known bytes of endpoints, in chunks under a version: what the load of other links is read from."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlalchemy import Connection, delete, func, insert, select, update

from services.application.learned import CurveChunk
from services.persistence.tables import endpoint_curves, endpoints


class Curves:
    """Curves of one tenant's endpoints."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def endpoints_behind(self) -> Sequence[UUID]:
        """Endpoints whose logs are newer than their curve."""
        return (
            self._connection.execute(
                select(endpoints.c.id)
                .where(endpoints.c.logs_version > endpoints.c.curve_version)
                .order_by(endpoints.c.id)
            )
            .scalars()
            .all()
        )

    def logs_version(self, endpoint_id: UUID) -> int:
        """Version of the endpoint's logs; take it before the logs are read."""
        return int(
            self._connection.execute(select(endpoints.c.logs_version).where(endpoints.c.id == endpoint_id)).scalar_one()
        )

    def replace(self, endpoint_id: UUID, chunks: Iterable[CurveChunk], *, version: int) -> None:
        """Put a curve that covers the logs up to ``version`` in the place of the one before; again is harmless."""
        self._connection.execute(delete(endpoint_curves).where(endpoint_curves.c.endpoint_id == endpoint_id))
        values = [
            {
                "tenant_id": self._tenant_id,
                "endpoint_id": endpoint_id,
                "version": version,
                "ordinal": ordinal,
                "times_s": list(chunk.times_s),
                "moved_bytes": list(chunk.moved_bytes),
            }
            for ordinal, chunk in enumerate(chunks)
        ]
        if values:
            self._connection.execute(insert(endpoint_curves), values)
        self._connection.execute(
            update(endpoints)
            .where(endpoints.c.id == endpoint_id)
            .values(curve_version=func.greatest(endpoints.c.curve_version, version))
        )

    def append(self, endpoint_id: UUID, chunk: CurveChunk, *, version: int) -> None:
        """Add a chunk for logs that are all later than the curve so far."""
        highest = select(func.coalesce(func.max(endpoint_curves.c.ordinal), -1)).where(
            endpoint_curves.c.endpoint_id == endpoint_id
        )
        self._connection.execute(
            insert(endpoint_curves).values(
                tenant_id=self._tenant_id,
                endpoint_id=endpoint_id,
                version=version,
                ordinal=self._connection.execute(highest).scalar_one() + 1,
                times_s=list(chunk.times_s),
                moved_bytes=list(chunk.moved_bytes),
            )
        )
        self._connection.execute(
            update(endpoints)
            .where(endpoints.c.id == endpoint_id)
            .values(curve_version=func.greatest(endpoints.c.curve_version, version))
        )

    def of(self, endpoint_id: UUID) -> Sequence[CurveChunk]:
        """Chunks of an endpoint's curve, in order."""
        rows = self._connection.execute(
            select(endpoint_curves.c.times_s, endpoint_curves.c.moved_bytes)
            .where(endpoint_curves.c.endpoint_id == endpoint_id)
            .order_by(endpoint_curves.c.ordinal)
        )
        return [CurveChunk(tuple(row.times_s), tuple(row.moved_bytes)) for row in rows]
