"""A query of the warehouse to Arrow by the SDK, beside adbc alone on the same rows; memory of the API for many rows.

Both read every column of the view of transfers as the same tenant, under the same row-level security, into one Arrow
table: ours through HTTP, the baseline straight from the database. They run in turn, and the ratio is the median of the
pairs'. Memory is the high-water mark of the API's process after all queries; how much of it one that has answered a
query of one row holds is told beside it.
"""

import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid4

import adbc_driver_postgresql.dbapi as adbc
import psycopg

from benchmarks.ingest import api_process
from benchmarks.processes import peak_rss_mb
from benchmarks.report import Value, arguments, write
from services.application.authenticate import Scope, new_secret
from services.application.manage_keys import register_tenant
from services.bootstrap import container
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.persistence.store import prepare_database
from tradewind.wire.inventory import NewKey
from tradewind_agent.client import Client

FULL_ROWS, QUICK_ROWS = 1_000_000, 100_000
FULL_PAIRS, QUICK_PAIRS = 5, 3
SQL = "SELECT * FROM warehouse.transfers"


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/warehouse.json``."""
    options = arguments(__doc__.partition("\n")[0]).parse_args(argv)
    rows, pairs = (QUICK_ROWS, QUICK_PAIRS) if options.quick else (FULL_ROWS, FULL_PAIRS)
    started_at = datetime.now(UTC)
    with EmbeddedPostgres.temporary(tcp=True) as postgres, EmbeddedValkey.temporary() as valkey:
        database_url = prepare_database(postgres.url())
        tenant_id, secret = analyst(database_url, valkey.url())
        store_rows(postgres.url(), tenant_id, rows)
        with (
            api_process(database_url, valkey.url()) as (address, process),
            Client(address, secret) as client,
        ):
            assert process.pid is not None
            client.warehouse.query(f"{SQL} LIMIT 1").arrow()
            idle_mb = peak_rss_mb(process.pid)
            results = list(compare(client, rows, pairs))
            peak_mb = peak_rss_mb(process.pid)
    summary: dict[str, Value] = {
        "arrow_ratio": statistics.median(float(pair["ratio"]) for pair in results),  # type: ignore[arg-type]  # figures
        "peak_rss_mb": peak_mb,
        "idle_rss_mb": idle_mb,
    }
    write("warehouse", quick=options.quick, results=results, summary=summary, started_at=started_at)
    return 0


def compare(client: Client, rows: int, pairs: int) -> Iterator[dict[str, Value]]:
    """Read the same rows both ways in turn; the first pair warms up and is not told."""
    dsn = client.warehouse.credentials().dsn
    for pair in range(pairs + 1):
        ours_s, adbc_s = by_sdk(client, rows), by_adbc(dsn, rows)
        if pair:
            yield {  # x
                "case": f"pair {pair}",
                "rows": rows,
                "rows_per_s": rows / ours_s,
                "adbc_rows_per_s": rows / adbc_s,
                "ratio": adbc_s / ours_s,
            }


def by_sdk(client: Client, rows: int) -> float:
    """Seconds until the table is there."""
    began = time.perf_counter()
    table = client.warehouse.query(SQL).arrow()
    seconds = time.perf_counter() - began
    assert table.num_rows == rows
    return seconds


def by_adbc(dsn: str, rows: int) -> float:
    """The same of the baseline, its connection included."""
    began = time.perf_counter()
    with adbc.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute(SQL)
        table = cursor.fetch_arrow_table()
    seconds = time.perf_counter() - began
    assert table.num_rows == rows
    return seconds


def analyst(database_url: str, redis_url: str) -> tuple[UUID, str]:
    """A new tenant, and the secret of a key for its queries."""
    tenant_id = uuid4()
    with container(database_url=database_url, redis_url=redis_url) as parts:
        first_key = NewKey(name="benchmark", scopes=(Scope.ANALYST,))
        with parts.store.unit_of_work(tenant_id) as uow:
            made = register_tenant("benchmark", first_key, new_secret(), uow=uow, clock=parts.clock)
    return tenant_id, made.secret


def store_rows(admin_url: str, tenant_id: UUID, rows: int) -> None:
    """Rows of one month with half of their columns filled, as logs of an agent that meters one end have them."""
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute("SELECT ensure_log_partitions(ARRAY['2026-01-01']::date[])")
        admin.execute(STORED, {"tenant": tenant_id, "rows": rows, "link": uuid4(), "batch": uuid4()})
        admin.execute("ANALYZE transfer_logs")


STORED = """
    INSERT INTO transfer_logs (
        tenant_id, id, link_id, batch_id, received_at, started_at, ended_at, protocol, direction, mover_version,
        bandwidth_bps, rtt_s, file_count, total_bytes, mean_file_bytes, concurrency, parallelism, pipelining,
        status, bytes_moved, files_done, files_failed, throughput_bps, usage_cpu, usage_nic,
        source_energy_j, source_base_w, source_energy_method, source_energy_quality)
    SELECT %(tenant)s, uuidv7(), %(link)s, %(batch)s, at + interval '1 minute', at, at + interval '40 seconds',
           'https', 'download', '0.1.0', 1e9, 0.06, 10 + n %% 90, 1000000 * (n %% 1000 + 1), 1e5 * (n %% 1000 + 1),
           1 + n %% 32, 1 + n %% 8, n %% 16, 'succeeded', 1000000 * (n %% 1000 + 1), 10, 0, 2e5 * (n %% 1000 + 1),
           0.3, 0.5, 100 + n %% 500, 35, 'rapl', 'measured'
      FROM (SELECT n, timestamptz '2026-01-01' + n * interval '2 seconds' AS at FROM generate_series(1, %(rows)s) n)
"""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
