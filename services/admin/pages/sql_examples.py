"""Example queries on the page of SQL."""

from typing import NamedTuple


class Example(NamedTuple):
    name: str
    sql: str


EXAMPLES = (
    Example(
        "The newest transfers",
        """\
SELECT t.started_at, l.source, l.destination, l.mover, t.throughput_bps / 1e6 AS mbit_s, t.energy_j, t.status
  FROM whole_transfers t JOIN links l USING (link_id)
 ORDER BY t.started_at DESC""",
    ),
    Example(
        "Throughput by concurrency, link by link",
        """\
SELECT l.source || ' → ' || l.destination AS link, t.concurrency AS files_at_once,
       avg(t.throughput_bps) / 1e6 AS mbit_s, count(*) AS transfers
  FROM whole_transfers t JOIN links l USING (link_id)
 WHERE t.status = 'succeeded' AND t.concurrency IS NOT NULL
 GROUP BY 1, 2 ORDER BY 1, 2""",
    ),
    Example(
        "What a gigabyte takes on each link",
        """\
SELECT l.source || ' → ' || l.destination AS link, t.energy_ends, 1e9 * sum(t.energy_j) / sum(t.bytes_moved) AS j_per_gb
  FROM whole_transfers t JOIN links l USING (link_id)
 WHERE t.energy_j IS NOT NULL
 GROUP BY 1, 2 ORDER BY 2, 3""",
    ),
    Example(
        "CO2 and cost of hosts by region",
        """\
SELECT source_region AS region, source_currency AS currency, count(*) AS transfers,
       sum(source_carbon_g) AS carbon_g, sum(source_cost) AS cost
  FROM transfer_footprints
 WHERE source_carbon_g IS NOT NULL OR source_cost IS NOT NULL
 GROUP BY 1, 2 ORDER BY 1""",
    ),
    Example(
        "Moved hour by hour",
        """\
SELECT date_trunc('hour', started_at) AS hour, sum(bytes_moved) / 1e9 AS gigabytes
  FROM whole_transfers
 GROUP BY 1 ORDER BY 1""",
    ),
)
