"""How transfers ended, summed up for the overview."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, and_, func, or_, select

from services.application.overview import AgreementsKept, Day, Tuned
from services.persistence.tables import endpoints, links, transfers


class Outcomes:
    """Ends of one tenant's transfers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def live(self, now: datetime) -> int:
        """How many transfers are live."""
        alive = and_(transfers.c.ended_at.is_(None), transfers.c.silent_at > now)
        return self._connection.execute(select(func.count()).select_from(transfers).where(alive)).scalar_one()

    def agreements(self, since: datetime) -> AgreementsKept:
        """Agreements of the transfers that began since then and ended."""
        kept = transfers.c.agreement_kept
        row = self._connection.execute(
            select(
                func.count().filter(kept.is_(True)).label("kept"),
                func.count().filter(kept.is_(False)).label("missed"),
                func.count().filter(kept.is_(None)).label("open"),
            ).where(transfers.c.started_at >= since, transfers.c.ended_at.is_not(None))
        ).one()
        return AgreementsKept(row.kept, row.missed, row.open)

    def days(self, since: datetime) -> Sequence[Day]:
        """What ended, by the day of its begin, in order; days without a transfer are left out."""
        day = func.to_char(func.timezone("UTC", transfers.c.started_at), "YYYY-MM-DD")
        rows = self._connection.execute(
            select(
                day.label("day"),
                func.count().label("transfers"),
                func.sum(transfers.c.bytes_moved).label("bytes_moved"),
                func.sum(transfers.c.energy_j).label("energy_j"),
            )
            .where(transfers.c.started_at >= since, transfers.c.ended_at.is_not(None))
            .group_by(day)
            .order_by(day)
        )
        return [Day(row.day, row.transfers, int(row.bytes_moved), row.energy_j) for row in rows]

    def tuned(self, since: datetime, *, limit: int) -> Sequence[Tuned]:
        """What transfers reached that succeeded, by link, those that moved most first."""
        told = transfers.c
        source, destination = endpoints.alias("source"), endpoints.alias("destination")
        time_s = func.sum(8.0 * told.bytes_moved / told.throughput_bps)
        metered = func.sum(told.bytes_moved).filter(told.energy_j.is_not(None))
        rows = self._connection.execute(
            select(
                links.c.id,
                func.count().label("transfers"),
                func.sum(told.bytes_moved).label("bytes_moved"),
                (8.0 * func.sum(told.bytes_moved) / time_s).label("throughput_bps"),
                (func.sum(told.energy_j) / metered).label("j_per_byte"),
            )
            .join(source, source.c.name == told.source)
            .join(destination, destination.c.name == told.destination)
            .join(
                links,
                and_(
                    links.c.source_id == source.c.id,
                    links.c.destination_id == destination.c.id,
                    links.c.mover == told.mover,
                    or_(links.c.network == told.network, and_(links.c.network.is_(None), told.network.is_(None))),
                ),
            )
            .where(told.started_at >= since, told.status == "succeeded", told.throughput_bps > 0, told.bytes_moved > 0)
            .group_by(links.c.id)
            .order_by(func.sum(told.bytes_moved).desc())
            .limit(limit)
        )
        return [
            Tuned(
                link_id=row.id,
                transfers=row.transfers,
                bytes_moved=int(row.bytes_moved),
                throughput_bps=float(row.throughput_bps),
                j_per_byte=None if row.j_per_byte is None else float(row.j_per_byte),
            )
            for row in rows
        ]
