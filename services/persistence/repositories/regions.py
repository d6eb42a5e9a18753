"""Electricity regions, their hours, and which endpoints are in them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, delete, select, text
from sqlalchemy.dialects.postgresql import insert

from services.application.grid.regions import PlaceOfEndpoint, RegionFootprint, StoredRegion
from services.persistence.tables import endpoint_pairs, endpoints, region_hours, regions
from tradewind.grid.hours import Gap, Hour
from tradewind.wire.regions import NetworkEnergyOfPath

_REGIONS = """
    SELECT r.name, r.currency, count(h.starts_at) AS hours, min(h.starts_at) AS first_hour,
           max(h.starts_at) AS last_hour, count(*) FILTER (WHERE h.price_per_kwh < 0) AS negative_prices,
           count(*) FILTER (WHERE h.next_at > h.starts_at + interval '1 hour') AS gap_count
      FROM regions r LEFT JOIN (SELECT *, lead(starts_at) OVER (PARTITION BY region ORDER BY starts_at) AS next_at
                                  FROM region_hours WHERE CAST(:name AS text) IS NULL OR region = :name) h
                            ON h.region = r.name
     WHERE CAST(:name AS text) IS NULL OR r.name = :name
     GROUP BY r.name, r.currency ORDER BY r.name
"""

_GAPS = text("""
    SELECT starts_at + interval '1 hour' AS starts_at, next_at AS ends_at
      FROM (SELECT starts_at, lead(starts_at) OVER (ORDER BY starts_at) AS next_at
              FROM region_hours WHERE region = :name) h
     WHERE next_at > starts_at + interval '1 hour'
     ORDER BY starts_at DESC LIMIT :limit
""")

_PLACES = text("""
    SELECT n.name AS given, e.name AS endpoint, e.region, r.currency
      FROM (SELECT alias AS name, endpoint_id FROM endpoint_aliases WHERE alias = ANY(:names)
             UNION ALL SELECT name, id FROM endpoints WHERE name = ANY(:names)) n
      JOIN endpoints e ON e.id = n.endpoint_id LEFT JOIN regions r ON r.name = e.region
""")

_FOOTPRINTS = text("""
    SELECT e.region, e.currency, count(*) AS ends, sum(e.energy_j) AS energy_j, sum(e.carbon_g) AS carbon_g,
           sum(e.cost) AS cost, count(*) FILTER (WHERE e.carbon_g IS NULL AND e.cost IS NULL) AS unknown_ends
      FROM warehouse.transfer_footprints f JOIN warehouse.transfers t USING (id)
     CROSS JOIN LATERAL (VALUES
           (f.source_region, f.source_currency, t.source_energy_j, f.source_carbon_g, f.source_cost),
           (f.destination_region, f.destination_currency, t.destination_energy_j, f.destination_carbon_g,
            f.destination_cost)) AS e(region, currency, energy_j, carbon_g, cost)
     WHERE f.started_at >= :since AND t.started_at >= :since AND e.energy_j IS NOT NULL
     GROUP BY e.region, e.currency ORDER BY e.region NULLS LAST
""")


class Regions:
    """The regions of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def list_all(self) -> Sequence[StoredRegion]:
        """Return all regions by name."""
        return self._read(None)

    def find(self, name: str) -> StoredRegion | None:
        return next(iter(self._read(name)), None)

    def put(self, name: str, currency: str | None) -> None:
        """Create a region, or give it a currency."""
        self._connection.execute(
            insert(regions)
            .values(tenant_id=self._tenant_id, name=name, currency=currency)
            .on_conflict_do_update(index_elements=["tenant_id", "name"], set_={"currency": currency})
        )

    def remove(self, name: str) -> bool:
        """Remove a region with its hours; return whether there was one."""
        return self._connection.execute(delete(regions).where(regions.c.name == name)).rowcount > 0

    def put_hours(self, name: str, hours: Sequence[Hour]) -> int:
        """Store hours, and return how many of them replaced stored ones.

        A value that an upload does not have stays: prices and carbon intensities may come from different files.
        """
        if not hours:
            return 0
        before = self._count(name)
        rows = [{"tenant_id": self._tenant_id, "region": name, **hour._asdict()} for hour in hours]
        adding = insert(region_hours)
        new = adding.excluded
        self._connection.execute(
            adding.on_conflict_do_update(
                index_elements=["tenant_id", "region", "starts_at"],
                set_={
                    column: text(f"coalesce(excluded.{column}, region_hours.{column})")
                    for column in ("price_per_kwh", "carbon_g_per_kwh")
                    if column in new
                },
            ),
            rows,
        )
        return len(hours) - (self._count(name) - before)

    def list_hours(self, name: str, begin: datetime, end: datetime) -> Sequence[Hour]:
        """Return the hours that begin after ``begin`` and before ``end``."""
        at = region_hours.c.starts_at
        rows = self._connection.execute(
            select(at, region_hours.c.price_per_kwh, region_hours.c.carbon_g_per_kwh)
            .where(region_hours.c.region == name, at > begin, at < end)
            .order_by(at)
        )
        return [Hour(*row) for row in rows]

    def list_gaps(self, name: str, limit: int) -> Sequence[Gap]:
        """Return the newest gaps, in the order of time."""
        rows = self._connection.execute(_GAPS, {"name": name, "limit": limit})
        return [Gap(row.starts_at, row.ends_at) for row in rows][::-1]

    def list_endpoints(self) -> Mapping[str, Sequence[str]]:
        """Return the names of the endpoints in each region."""
        found: dict[str, list[str]] = {}
        rows = self._connection.execute(
            select(endpoints.c.region, endpoints.c.name)
            .where(endpoints.c.region.is_not(None))
            .order_by(endpoints.c.name)
        )
        for region, name in rows:
            found.setdefault(region, []).append(name)
        return found

    def find_places(self, names: Collection[str]) -> Mapping[str, PlaceOfEndpoint]:
        """Return for each name or alias of an endpoint its region; unknown names are absent."""
        rows = self._connection.execute(_PLACES, {"names": list(names)})
        return {row.given: PlaceOfEndpoint(row.endpoint, row.region, row.currency) for row in rows}

    def sum_footprints(self, since: datetime) -> Sequence[RegionFootprint]:
        """Return what the metered ends of transfers since a time took, by region."""
        return [RegionFootprint(*row) for row in self._connection.execute(_FOOTPRINTS, {"since": since})]

    def find_network_energy(self, source: str, destination: str) -> NetworkEnergyOfPath | None:
        """Return what is known of the network's energy between two endpoints, by their own names."""
        start, end = endpoints.alias("start"), endpoints.alias("finish")
        row = self._connection.execute(
            select(endpoint_pairs)
            .join(start, start.c.id == endpoint_pairs.c.source_id)
            .join(end, end.c.id == endpoint_pairs.c.destination_id)
            .where(start.c.name == source, end.c.name == destination)
        ).one_or_none()
        return None if row is None else read_network_energy(row)

    def _read(self, name: str | None) -> Sequence[StoredRegion]:
        rows = self._connection.execute(text(_REGIONS), {"name": name})
        return [StoredRegion(*row) for row in rows]

    def _count(self, name: str) -> int:
        counting = text("SELECT count(*) FROM region_hours WHERE region = :name")
        return int(self._connection.execute(counting, {"name": name}).scalar_one())


def read_network_energy(row: Row[Any]) -> NetworkEnergyOfPath | None:
    """Return the network's energy as a row of pairs has it."""
    if row.network_energy_source is None:
        return None
    return NetworkEnergyOfPath(
        low_j_per_gb=row.network_low_j_per_gb, high_j_per_gb=row.network_high_j_per_gb, source=row.network_energy_source
    )
