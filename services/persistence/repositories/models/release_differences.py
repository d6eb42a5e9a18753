"""Differences between two releases: links by the models they hold, and the tiers of those that differ."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, text

from tradewind.wire.releases import ChangeKind, LinkChange, LinkMetrics, TierBounds, TierChange

# There are a few thousand links at most; clusters and tiers are read only of models that differ.
_DIFFERING = """
    held AS (
        SELECT link_id, max(link_model_id::text) FILTER (WHERE release_id = :before)::uuid AS before,
               max(link_model_id::text) FILTER (WHERE release_id = :after)::uuid AS after
          FROM release_links WHERE release_id IN (:before, :after) GROUP BY link_id
    ), differing AS (
        SELECT * FROM held WHERE before IS DISTINCT FROM after
    )
"""

_SAME = text(f"WITH {_DIFFERING} SELECT count(*) FROM held WHERE before = after")  # noqa: S608 - made of the above


def _format_figures(model: str) -> str:
    return f"""
        SELECT count(*) AS clusters, sum(accuracy * rows) / nullif(sum(rows), 0) AS accuracy,
               sum(coverage90 * rows) / nullif(sum(rows), 0) AS coverage90,
               sum(regret * tiers) / nullif(sum(tiers), 0) AS regret, coalesce(sum(tiers), 0) AS tiers
          FROM (
            SELECT (c.accuracy->>'throughput.accuracy')::float8 AS accuracy,
                   (c.accuracy->>'throughput.coverage90')::float8 AS coverage90,
                   (c.accuracy->>'throughput.rows')::float8 AS rows, p.regret, p.tiers
              FROM clusters c,
                LATERAL (SELECT avg(regret) AS regret, count(*) AS tiers FROM sla_partitions
                          WHERE cluster_id = c.id) p
             WHERE c.link_model_id = differing.{model}
          ) each
    """  # noqa: S608 - made of two words


_LINKS = text(
    f"""
    WITH {_DIFFERING}
    SELECT differing.link_id, source.name AS source, destination.name AS destination, l.network, l.mover,
           differing.before, differing.after,
           {", ".join(f"{m}.{f} AS {m}_{f}" for m in ("old", "new") for f in LinkMetrics.model_fields)}
      FROM differing
      JOIN links l ON l.id = differing.link_id
      JOIN endpoints source ON source.id = l.source_id
      JOIN endpoints destination ON destination.id = l.destination_id,
        LATERAL ({_format_figures("before")}) old, LATERAL ({_format_figures("after")}) new
     ORDER BY source.name, destination.name, l.mover, l.network
    """  # noqa: S608 - made of the expressions above
)

_TIERS = text(
    f"""
    WITH {_DIFFERING}, old AS (
        SELECT differing.link_id, p.* FROM differing
          JOIN clusters c ON c.link_model_id = differing.before JOIN sla_partitions p ON p.cluster_id = c.id
    ), new AS (
        SELECT differing.link_id, p.* FROM differing
          JOIN clusters c ON c.link_model_id = differing.after JOIN sla_partitions p ON p.cluster_id = c.id
    )
    SELECT tier_id, coalesce(new.link_id, old.link_id) AS link_id, names.name,
           coalesce(new.kind, old.kind) AS kind, coalesce(new.confidence, old.confidence) AS confidence,
           coalesce(new.energy_basis, old.energy_basis) AS energy_basis,
           old.lower AS old_lower, old.upper AS old_upper, new.lower AS new_lower, new.upper AS new_upper
      FROM old FULL JOIN new USING (tier_id) LEFT JOIN tier_names names USING (tier_id)
     WHERE (old.lower, old.upper) IS DISTINCT FROM (new.lower, new.upper)
        OR old.lower IS NULL OR new.lower IS NULL
     ORDER BY link_id, kind, confidence, energy_basis, coalesce(new.lower, old.lower), tier_id
    """  # noqa: S608 - made of the expressions above
)


class ReleaseDifferences:
    """Differences of two releases of one tenant; ``before`` is ``None`` where there is no current one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def count_same(self, before: int | None, after: int) -> int:
        """Return how many links have the same model in both."""
        return int(self._connection.execute(_SAME, {"before": before, "after": after}).scalar_one())

    def list_links(self, before: int | None, after: int) -> Sequence[LinkChange]:
        """Return links with another model, or with one in only one of the two, by their names."""
        rows = self._connection.execute(_LINKS, {"before": before, "after": after})
        return [
            LinkChange(
                link_id=row.link_id,
                source=row.source,
                destination=row.destination,
                network=row.network,
                mover=row.mover,
                change=_change(row.before, row.after),
                before=_find_figures(row, "old", row.before),
                after=_find_figures(row, "new", row.after),
            )
            for row in rows
        ]

    def list_tiers(self, before: int | None, after: int) -> Sequence[TierChange]:
        """Return tiers of those links with other bounds, or in only one of the two."""
        rows = self._connection.execute(_TIERS, {"before": before, "after": after})
        return [
            TierChange(
                tier_id=row.tier_id,
                link_id=row.link_id,
                name=row.name,
                kind=row.kind,
                confidence=row.confidence,
                energy_basis=row.energy_basis,
                change=_change(row.old_lower, row.new_lower),
                before=None if row.old_lower is None else TierBounds(lower=row.old_lower, upper=row.old_upper),
                after=None if row.new_lower is None else TierBounds(lower=row.new_lower, upper=row.new_upper),
            )
            for row in rows
        ]


def _change(before: Any, after: Any) -> ChangeKind:
    if before is None:
        return ChangeKind.GAINED
    return ChangeKind.LOST if after is None else ChangeKind.CHANGED


def _find_figures(row: Row[Any], which: str, model_id: UUID | None) -> LinkMetrics | None:
    if model_id is None:
        return None
    return LinkMetrics(**{name: getattr(row, f"{which}_{name}") for name in LinkMetrics.model_fields})
