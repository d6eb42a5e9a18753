"""Known bytes of endpoints by month: a month is made again only when it has more rows than its curve knows."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, func, or_, select
from sqlalchemy.dialects.postgresql import insert

from services.application.learned import Curve
from services.persistence.tables import endpoint_curves, endpoints, links, transfer_logs


class Curves:
    """Curves of one tenant's endpoints."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def outdated_months(self, endpoint_id: UUID) -> Mapping[datetime, int]:
        """Months whose rows are more than the stored curve knows, and how many rows they have.

        The endpoint is locked until the transaction ends, so that two tasks do not make the same curve.
        """
        self._connection.execute(select(endpoints.c.id).where(endpoints.c.id == endpoint_id).with_for_update())
        here = select(links.c.id).where(or_(links.c.source_id == endpoint_id, links.c.destination_id == endpoint_id))
        month = func.date_trunc("month", transfer_logs.c.started_at, "UTC").label("month")
        counted = self._connection.execute(
            select(month, func.count()).where(transfer_logs.c.link_id.in_(here)).group_by(month)
        )
        known = {
            row.month: row.rows
            for row in self._connection.execute(
                select(endpoint_curves.c.month, endpoint_curves.c.rows).where(
                    endpoint_curves.c.endpoint_id == endpoint_id
                )
            )
        }
        return {begins: rows for begins, rows in counted if rows > known.get(begins, 0)}

    def put(self, endpoint_id: UUID, month: datetime, rows: int, curve: Curve) -> None:
        """Replace the curve of one month."""
        values = {"rows": rows, "times_s": list(curve.times_s), "rate_steps": list(curve.rate_steps)}
        self._connection.execute(
            insert(endpoint_curves)
            .values(tenant_id=self._tenant_id, endpoint_id=endpoint_id, month=month, **values)
            .on_conflict_do_update(index_elements=["endpoint_id", "month"], set_=values)
        )

    def of_endpoint(self, endpoint_id: UUID) -> Sequence[Curve]:
        """The months' curves, the oldest first."""
        rows = self._connection.execute(
            select(endpoint_curves.c.times_s, endpoint_curves.c.rate_steps)
            .where(endpoint_curves.c.endpoint_id == endpoint_id)
            .order_by(endpoint_curves.c.month)
        )
        return [Curve(row.times_s, row.rate_steps) for row in rows]
