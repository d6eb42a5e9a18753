"""The view of tiers, in which a tier that its provider has not named goes by its range, as on the pages."""

from dataclasses import replace

from migrations.dimension_views import TIERS
from migrations.warehouse_views import Column

# As tradewind.units and tradewind.tiers.partitions format a quantity: three digits, with a prefix or without.
FORMAT_QUANTITY = """
    CREATE FUNCTION warehouse.format_quantity(value double precision, unit text, has_prefix boolean) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
        SELECT trim_scale(rounded / scale)::text || ' ' || prefix || unit
          FROM (
            SELECT CASE WHEN value = 0 THEN 0
                        ELSE round(value::numeric, 2 - floor(log(abs(value)::numeric))::integer) END AS rounded
          ) AS digits,
          LATERAL (
            SELECT prefix, scale
              FROM (VALUES ('T', 1e12), ('G', 1e9), ('M', 1e6), ('k', 1e3), ('', 1)) AS prefixes (prefix, scale)
             WHERE (has_prefix AND abs(rounded) >= scale) OR scale = 1
             ORDER BY scale DESC LIMIT 1
          ) AS chosen
    $$
"""

_LOWER = "CASE WHEN abs(p.lower) < 1e-6 * abs(p.upper) THEN 0 ELSE p.lower END"


def _format_range(unit: str, *, factor: str = "1", has_prefix: str = "true") -> str:
    lower, upper = (
        f"warehouse.format_quantity({factor} * ({bound}), '{unit}', {has_prefix})" for bound in (_LOWER, "p.upper")
    )
    return f"{lower} || ' to ' || {upper}"


_LABEL = f"""CASE p.kind WHEN 'throughput_at_least' THEN {_format_range("bit/s")}
    WHEN 'energy_at_most' THEN {_format_range("J/GB", factor="1e9")}
    WHEN 'power_at_most' THEN {_format_range("W", has_prefix="false")}
    ELSE replace(p.kind, '_', ' ') END
    || ' at ' || round((100 * p.confidence)::numeric) || '%'
    || CASE p.energy_basis WHEN 'dynamic' THEN ' dynamic' ELSE '' END"""

_TIER: Column = (
    "tier",
    "Name that the provider gave it; else its range as on the pages, such as 40 Mbit/s to 80 Mbit/s at 90%.",
    f"coalesce(n.name, {_LABEL})",
)

TIERS_WITH_LABELS = replace(TIERS, columns=tuple(_TIER if column[0] == "tier" else column for column in TIERS.columns))
