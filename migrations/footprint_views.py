"""The views of regions, their hours, and the cost and carbon of transfers."""

from collections.abc import Sequence
from dataclasses import replace

from migrations.warehouse_views import Column, View

REGIONS_OF_LINKS = View(
    "link_regions",
    "Dimension: the electricity regions of a link's ends as they are now, and what is known of its network's energy.",
    "public.links l JOIN public.endpoints s ON s.id = l.source_id JOIN public.endpoints d ON d.id = l.destination_id"
    " LEFT JOIN public.regions sr ON sr.tenant_id = s.tenant_id AND sr.name = s.region"
    " LEFT JOIN public.regions dr ON dr.tenant_id = d.tenant_id AND dr.name = d.region"
    " LEFT JOIN public.endpoint_pairs p ON p.source_id = s.id AND p.destination_id = d.id",
    (
        ("link_id", "The link; see warehouse.links.", "l.id"),
        ("source_region", "Region of the source; NULL: unknown.", "s.region"),
        ("source_currency", "Currency of its prices, by ISO 4217.", "sr.currency"),
        ("destination_region", "Region of the destination; NULL: unknown.", "d.region"),
        ("destination_currency", "Currency of its prices, by ISO 4217.", "dr.currency"),
        ("network_low_j_per_gb", "J a GB (1e9 bytes): of the network path, at least.", "p.network_low_j_per_gb"),
        ("network_high_j_per_gb", "J a GB (1e9 bytes): of the network path, at most.", "p.network_high_j_per_gb"),
        ("network_energy_source", "Where the two are from; NULL: unknown.", "p.network_energy_source"),
    ),
)

REGION_HOURS = View(
    "region_hours",
    "Facts: one row an hour of a region. Hours that nobody stated are not there.",
    "public.region_hours",
    (
        ("region", "Name of the region."),
        ("starts_at", "Begin of the hour."),
        ("price_per_kwh", "In the region's currency; may be negative; NULL: unknown."),
        ("carbon_g_per_kwh", "g of CO2 a kWh; NULL: unknown."),
    ),
)

REGION_MEANS = """
    CREATE FUNCTION warehouse.region_means(place text, begins timestamptz, ends timestamptz,
                                           OUT price_per_kwh double precision, OUT carbon_g_per_kwh double precision)
    LANGUAGE sql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
    SET debug_print_parse = off SET debug_print_rewritten = off SET debug_print_plan = off
    BEGIN ATOMIC
        SELECT CASE WHEN sum(s) FILTER (WHERE price IS NOT NULL) >= max(wanted_s) - 1e-6
                    THEN sum(price * s) / nullif(sum(s), 0) END,
               CASE WHEN sum(s) FILTER (WHERE carbon IS NOT NULL) >= max(wanted_s) - 1e-6
                    THEN sum(carbon * s) / nullif(sum(s), 0) END
          FROM (SELECT h.price_per_kwh AS price, h.carbon_g_per_kwh AS carbon,
                       extract(epoch FROM least(last, h.starts_at + interval '1 hour')
                                          - greatest(begins, h.starts_at))::double precision AS s,
                       extract(epoch FROM last - begins)::double precision AS wanted_s
                  FROM (SELECT greatest(ends, begins + interval '1 millisecond') AS last) span
                  JOIN public.region_hours h
                    ON h.region = place AND h.starts_at > begins - interval '1 hour' AND h.starts_at < last) hours;
    END
"""
"""Means over a time, weighted by it; NULL as soon as a part of it is unknown. Not inlined: see `reader_isolation`."""

# The network takes (1 / share - 1) times what both end systems take: tradewind.grid.network_energy.
_BOTH_J = "(source_energy_j + destination_energy_j)"
_MOVED_GB = "(bytes_moved / 1e9)"


def _of_end(host: str) -> Sequence[Column]:
    means = "s" if host == "source" else "d"

    def times(energy: str, value: str) -> str:
        return f"{host}_{energy}_j / 3.6e6 * {means}.{value}_per_kwh"

    return (
        (f"{host}_region", f"Electricity region of the {host} as it is now; NULL: unknown.", f"l.{host}_region"),
        (f"{host}_currency", "Currency of its prices, by ISO 4217.", f"l.{host}_currency"),
        (f"{host}_price_per_kwh", "Mean price during the transfer; NULL: unknown.", f"{means}.price_per_kwh"),
        (f"{host}_carbon_g_per_kwh", "g of CO2 a kWh: mean during it; NULL: unknown.", f"{means}.carbon_g_per_kwh"),
        (f"{host}_cost", f"Of the {host}'s total energy, in its currency.", times("energy", "price")),
        (f"{host}_dynamic_cost", f"Of the {host}'s dynamic energy, in its currency.", times("dynamic", "price")),
        (f"{host}_carbon_g", f"g of CO2: of the {host}'s total energy.", times("energy", "carbon_g")),
        (f"{host}_dynamic_carbon_g", f"g of CO2: of the {host}'s dynamic energy.", times("dynamic", "carbon_g")),
    )


TRANSFER_FOOTPRINTS = View(
    "transfer_footprints",
    "Facts: one row a transfer: cost and carbon of the hosts' metered energy by end, NULL where anything is unknown, "
    "and apart from them the energy of the network path as a range.",
    "public.transfer_logs t LEFT JOIN warehouse.rows_of_link_regions() l USING (link_id)"
    " CROSS JOIN LATERAL warehouse.region_means(l.source_region, t.started_at, t.ended_at) s"
    " CROSS JOIN LATERAL warehouse.region_means(l.destination_region, t.started_at, t.ended_at) d"
    " WHERE chunk IS NULL OR chunk = 'whole'",
    (
        ("id", "The record; see warehouse.transfers.", "t.id"),
        ("link_id", "The link; see warehouse.links.", "link_id"),
        ("transfer_id", "The transfer that the record belongs to; NULL for logs of other tools.", "t.transfer_id"),
        ("day", "Day (UTC) of started_at.", "(t.started_at AT TIME ZONE 'UTC')::date"),
        ("started_at", "Begin.", "t.started_at"),
        *_of_end("source"),
        *_of_end("destination"),
        (
            "network_low_j",
            "J: of the network path, at least; in no energy of hosts. NULL: unknown.",
            f"coalesce(l.network_low_j_per_gb * {_MOVED_GB}, {_BOTH_J} * (1 / 0.90 - 1))",
        ),
        (
            "network_high_j",
            "J: of the network path, at most; in no energy of hosts. NULL: unknown.",
            f"coalesce(l.network_high_j_per_gb * {_MOVED_GB}, {_BOTH_J} * (1 / 0.25 - 1))",
        ),
        (
            "network_source",
            "Where the two are from; NULL: unknown, or estimated from the 25 to 90 % that end systems take of all.",
            "l.network_energy_source",
        ),
    ),
)

CURRENT_FOOTPRINTS = replace(
    TRANSFER_FOOTPRINTS,
    source=TRANSFER_FOOTPRINTS.source.replace(
        "chunk IS NULL OR chunk = 'whole'", "(chunk IS NULL OR chunk = 'whole') AND NOT superseded"
    ),
)
"""As whole transfers: of a transfer that was logged twice, the latest record."""
