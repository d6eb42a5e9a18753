"""Known load of endpoints by month: a month is computed again only when it has more rows than its curve."""

from array import array
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import Connection, func, or_, select
from sqlalchemy.dialects.postgresql import insert

from services.application.models.learned_model import EndpointLoad, KnownLoadCurve, Span
from services.persistence.tables import endpoint_curves, links, transfer_logs


class Curves:
    """Curves of one tenant's endpoints."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def list_outdated_months(self, endpoint_id: UUID) -> Mapping[datetime, int]:
        """Return the months with more rows than their stored curve, and how many rows they have.

        Counts all rows of the endpoint: once a release, not once a link.
        """
        # As an array, which the index looks up link by link; a subquery would be joined to the logs of all
        # links.
        here = func.array(
            select(links.c.id)
            .where(or_(links.c.source_id == endpoint_id, links.c.destination_id == endpoint_id))
            .scalar_subquery()
        )
        month = func.date_trunc("month", transfer_logs.c.started_at, "UTC").label("month")
        counted = self._connection.execute(
            select(month, func.count()).where(transfer_logs.c.link_id == func.any(here)).group_by(month)
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

    def put(self, endpoint_id: UUID, month: datetime, rows: int, curve: KnownLoadCurve) -> None:
        """Replace the curve of one month."""
        ends_s = max(curve.times_s[-1:], default=0.0)
        values = {
            "rows": rows,
            "ends_at": datetime.fromtimestamp(ends_s, UTC),
            "times_s": curve.times_s.tobytes(),
            "rate_steps": curve.rate_steps.tobytes(),
        }
        self._connection.execute(
            insert(endpoint_curves)
            .values(tenant_id=self._tenant_id, endpoint_id=endpoint_id, month=month, **values)
            .on_conflict_do_update(index_elements=["endpoint_id", "month"], set_=values)
        )

    def sum_during(self, endpoint_id: UUID, span: Span) -> EndpointLoad:
        """Return the curves of the months in which anything moved during ``span``.

        A transfer outside the span adds the same to R(t) all through it.
        """
        known = self._connection.execute(
            select(endpoint_curves.c.month, endpoint_curves.c.rows)
            .where(
                endpoint_curves.c.endpoint_id == endpoint_id,
                endpoint_curves.c.month <= span.ends_at,
                endpoint_curves.c.ends_at >= span.begins_at,
            )
            .order_by(endpoint_curves.c.month)
        )
        rows_by_month = tuple((row.month, row.rows) for row in known)
        months = [month for month, _ in rows_by_month]
        return EndpointLoad(endpoint_id, rows_by_month, lambda: self._of_months(endpoint_id, months))

    def _of_months(self, endpoint_id: UUID, months: Sequence[datetime]) -> Sequence[KnownLoadCurve]:
        rows = self._connection.execute(
            select(endpoint_curves.c.times_s, endpoint_curves.c.rate_steps)
            .where(endpoint_curves.c.endpoint_id == endpoint_id, endpoint_curves.c.month.in_(months))
            .order_by(endpoint_curves.c.month)
        )
        return [KnownLoadCurve(array("d", row.times_s), array("d", row.rate_steps)) for row in rows]
