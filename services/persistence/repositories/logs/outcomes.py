"""What was moved and how transfers finished, summed up for pages from the daily rollups."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, and_, func, select, text, true, tuple_

from services.application.monitoring.gain import MovedOnLink
from services.application.monitoring.overview import Day, MeteredEnds, SlaOutcomes, TunedTransfers
from services.persistence.repositories.logs.rollups import BY_HOUR, ENDED
from services.persistence.tables import daily_rollups, hourly_rollups, transfers
from tradewind.gain import MovedTotals
from tradewind.units import BITS_PER_BYTE

_DAILY, _HOURLY = daily_rollups.c, hourly_rollups.c

_LATEST_SLA_OUTCOMES = text(
    f"""
    SELECT {", ".join(f"{ENDED[name]} AS {name}" for name in ("ended", "kept", "missed", "unpromised"))}
      FROM transfers
     WHERE started_at >= :since AND ended_at IS NOT NULL AND link_id = coalesce(CAST(:link_id AS uuid), link_id)
    """  # noqa: S608 - of constants
)


class Outcomes:
    """Finished transfers of one tenant, of one of its links where that is given."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def live(self, now: datetime) -> int:
        """Return how many transfers are live."""
        alive = and_(transfers.c.ended_at.is_(None), transfers.c.silent_at > now)
        return self._connection.execute(select(func.count()).select_from(transfers).where(alive)).scalar_one()

    def count_sla_outcomes(self, since: date, link_id: UUID | None = None) -> SlaOutcomes:
        """Count the SLA outcomes of the transfers that started on that day or later, and finished."""
        counted = (_DAILY.ended, _DAILY.kept, _DAILY.missed, _DAILY.unpromised)
        sums = (func.coalesce(func.sum(each), 0) for each in counted)
        row = self._connection.execute(select(*sums).where(_filter(since, link_id))).one()
        ended, met, missed, unpromised = map(int, row)
        return SlaOutcomes(met, missed, unpromised, ended - met - missed - unpromised)

    def list_days(self, since: date, link_id: UUID | None = None) -> Sequence[Day]:
        """Return what was recorded by day, in order, without days that have no transfer."""
        rows = self._connection.execute(
            select(_DAILY.day, *(func.sum(_DAILY[name]).label(name) for name in BY_HOUR))
            .where(_filter(since, link_id), _DAILY.transfers > 0)
            .group_by(_DAILY.day)
            .order_by(_DAILY.day)
        )
        return [_to_day(row.day.isoformat(), row) for row in rows]

    def count_latest_sla_outcomes(self, since: datetime, link_id: UUID | None = None) -> SlaOutcomes:
        """Count the SLA outcomes of the transfers that started since a time, and finished, from their rows."""
        row = self._connection.execute(_LATEST_SLA_OUTCOMES, {"since": since, "link_id": link_id}).one()
        return SlaOutcomes(row.kept, row.missed, row.unpromised, row.ended - row.kept - row.missed - row.unpromised)

    def list_hours(self, since: datetime, link_id: UUID | None = None) -> Sequence[Day]:
        """Return what was logged by hour from a full hour on, in order, without hours that have no transfer."""
        first = since.astimezone(UTC)
        rows = self._connection.execute(
            select(_HOURLY.day, _HOURLY.hour, *(func.sum(_HOURLY[name]).label(name) for name in BY_HOUR))
            .where(tuple_(_HOURLY.day, _HOURLY.hour) >= (first.date(), first.hour))
            .where(true() if link_id is None else _HOURLY.link_id == link_id)
            .group_by(_HOURLY.day, _HOURLY.hour)
            .order_by(_HOURLY.day, _HOURLY.hour)
        )
        return [_to_day(f"{row.day} {row.hour:02}:00", row) for row in rows]

    def list_tuned(self, since: date, *, limit: int, link_id: UUID | None = None) -> Sequence[TunedTransfers]:
        """Return what successful transfers of the service reached, by link, those that moved most first."""
        moved = func.sum(_DAILY.tuned_bytes)
        rows = self._connection.execute(
            select(
                _DAILY.link_id,
                func.sum(_DAILY.tuned_transfers).label("transfers"),
                moved.label("bytes_moved"),
                func.sum(_DAILY.tuned_s).label("time_s"),
                *(
                    (
                        func.sum(_DAILY[f"tuned_{ends}_j"]) / func.nullif(func.sum(_DAILY[f"tuned_{ends}_bytes"]), 0)
                    ).label(ends)
                    for ends in MeteredEnds
                ),
            )
            .where(_filter(since, link_id), _DAILY.tuned_transfers > 0)
            .group_by(_DAILY.link_id)
            .order_by(moved.desc())
            .limit(limit)
        )
        return [
            TunedTransfers(
                link_id=row.link_id,
                transfers=int(row.transfers),
                bytes_moved=int(row.bytes_moved),
                throughput_bps=BITS_PER_BYTE * float(row.bytes_moved) / row.time_s,
                j_per_byte={ends: float(getattr(row, ends)) for ends in MeteredEnds if getattr(row, ends) is not None},
            )
            for row in rows
        ]

    def count_metered(self, link_ids: Collection[UUID]) -> Mapping[UUID, Mapping[MeteredEnds, int]]:
        """Return how many logs were metered at which ends, by link, over all days."""
        rows = self._connection.execute(
            select(_DAILY.link_id, *(func.sum(_DAILY[f"metered_{ends}"]).label(ends) for ends in MeteredEnds))
            .where(_DAILY.link_id.in_(link_ids))
            .group_by(_DAILY.link_id)
        )
        return {row.link_id: {ends: int(getattr(row, ends)) for ends in MeteredEnds} for row in rows}

    def count_metered_since(self, since: date, link_id: UUID | None = None) -> Mapping[MeteredEnds, int]:
        """Return how many logs of transfers that started on that day or later were metered at which ends."""
        sums = (func.coalesce(func.sum(_DAILY[f"metered_{ends}"]), 0).label(ends) for ends in MeteredEnds)
        row = self._connection.execute(select(*sums).where(_filter(since, link_id))).one()
        return {ends: int(getattr(row, ends)) for ends in MeteredEnds}

    def sum_moved(self, *, limit: int) -> Sequence[MovedOnLink]:
        """Return what all logs of a link have moved, of the links with most transfer time, over all days."""
        time_s, bytes_moved = func.sum(_DAILY.duration_s), func.sum(_DAILY.bytes_moved)
        rows = self._connection.execute(
            select(
                _DAILY.link_id,
                func.sum(_DAILY.transfers).label("transfers"),
                bytes_moved.label("bytes_moved"),
                time_s.label("duration_s"),
                func.min(_DAILY.day).label("first_day"),
                func.max(_DAILY.day).label("last_day"),
                func.sum(_DAILY.measured_energy_j + _DAILY.modelled_energy_j).label("energy_j"),
                func.sum(_DAILY.metered_bytes).label("metered_bytes"),
            )
            .where(_DAILY.transfers > 0)
            .group_by(_DAILY.link_id)
            .order_by(time_s.desc(), _DAILY.link_id)
            .limit(limit)
        )
        return [
            MovedOnLink(
                link_id=row.link_id,
                totals=MovedTotals(
                    transfers=int(row.transfers),
                    bytes_moved=int(row.bytes_moved),
                    duration_s=row.duration_s,
                    first_day=row.first_day,
                    last_day=row.last_day,
                    energy_j=row.energy_j if row.metered_bytes else None,
                ),
            )
            for row in rows
        ]


def _to_day(name: str, row: Row[Any]) -> Day:
    return Day(
        day=name,
        transfers=int(row.transfers),
        bytes_moved=int(row.bytes_moved),
        measured_energy_j=row.measured_energy_j,
        modelled_energy_j=row.modelled_energy_j,
        metered_bytes=int(row.metered_bytes),
    )


def _filter(since: date, link_id: UUID | None) -> ColumnElement[bool]:
    return and_(_DAILY.day >= since, true() if link_id is None else _DAILY.link_id == link_id)
