"""Log rows of a busy tenant in a database that is stored between runs, for the benchmark of pages.

A small part is uploaded as a file, and the service's own workers make models of its links; the other links join the
same endpoints over other networks, and have the same models. The database makes the rows by one statement a day, over
those links and the settings and data sets of benchmarks. They are stored as uploads are: every index, check and trigger
is at work. Some of them are transfers of the service, with an SLA and a price; the others are imported.

A day is stored in one transaction, so that an interrupted run continues with the next day. A run on a later day adds
the days that have started since.
"""

import shutil
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg

from benchmarks.pipeline import DroppingOutbox, refresh_models, run_workers, store_logs
from benchmarks.support.report import ROOT
from benchmarks.support.stored_database import (
    digest_row_sources,
    has_rows,
    open_stored_server,
    print_now,
    record_row_sources,
)
from benchmarks.support.workload import draw_ndjson_lines
from services.application.logs.roll_up import RollUp
from services.bootstrap import build_container
from services.embedded.valkey import EmbeddedValkey
from services.persistence.migrate import prepare_database
from services.persistence.store import Store
from services.processes import NICENESS
from tradewind.units import GB

FOLDER = ROOT / "var" / "bench" / "pages"
DAYS = 80
TRANSFERS = 50_000
LEAST_ROWS_A_TRANSFER = 10
LEARNED_LINKS = 5
LEARNED_ROWS_A_LINK = 200
BYTES_A_ROW = 750
"""In the database: the row, its indexes, and the other rows of a transfer of the service."""
SPARE = 1.5
"""Factor for the write-ahead log."""
ROWS_A_SECOND = 15_000
"""Stored and rolled up on two cores; used for the time that is printed at the start."""
DAYS_BETWEEN_REPORTS = 5
DAYS_AT_ONCE = 2


@dataclass(frozen=True)
class StoredRows:
    """A running database with the rows of one tenant.

    Attributes
    ----------
    admin : connection of the superuser, made from ``admin_url``.
    server_id : the process id of the server.
    rows_a_transfer : one of so many rows is a transfer of the service.
    """

    admin: psycopg.Connection
    admin_url: str
    database_url: str
    tenant_id: UUID
    server_id: int
    rows_a_transfer: int


@contextmanager
def open_stored_rows(
    rows: int,
    *,
    links: int,
    seed: int,
    folder: Path,
    transfers: int = TRANSFERS,
    keys: int = 20,
    days: int = DAYS,
    niceness: Mapping[str, int] = NICENESS,
) -> Iterator[StoredRows]:
    """Yield the database with ``rows`` rows over the last ``days`` days; make the days that are missing.

    ``transfers`` : of the service, at most a tenth of the rows. ``keys`` : customers, each with a key, by whose agents
    the transfers of the service were made in turn.

    Raises
    ------
    SystemExit : there is no room, or another run uses the database.
    """
    folder = folder / f"{rows}-rows-{transfers}-transfers-{links}-links-seed-{seed}"
    parameters = f"{seed} {LEARNED_LINKS} {LEARNED_ROWS_A_LINK} {MORE_LINKS} {BATCH} {LOGS} {ENDS} {QUOTES} {KEYS}"
    makers = digest_row_sources(["benchmarks/support/workload.py"], parameters)
    with open_stored_server(folder, makers) as server:
        print_now(
            f"{rows:,} rows over {links} links are stored in {server.folder}; remove the folder to free the space"
        )
        database_url = prepare_database(server.url())
        with psycopg.connect(server.url(), autocommit=True) as admin, Store(database_url, DroppingOutbox()) as store:
            if not has_rows(server):
                require_room(server.folder, rows)
                learn_links(database_url, seed, niceness)
                admin.execute(MORE_LINKS, {"each": links // LEARNED_LINKS - 1})
                admin.execute(KEYS, {"keys": keys})
                record_row_sources(server, makers)
            tenant_id = fetch_value(admin, "SELECT id FROM tenants")
            rows_a_transfer = max(rows // transfers, LEAST_ROWS_A_TRANSFER)
            stored = StoredRows(admin, server.url(), database_url, tenant_id, server.process_id, rows_a_transfer)
            fill_days(stored, store, days, rows // days)
            yield stored


def require_room(folder: Path, rows: int) -> None:
    """Print what filling takes, and refuse it where the disk has no room."""
    needed, free = rows * BYTES_A_ROW * SPARE, shutil.disk_usage(folder).free
    minutes = 1 + rows / ROWS_A_SECOND / 60
    print_now(f"filling: about {needed / GB:.1f} GB ({free / GB:.0f} GB are free), {minutes:.0f} minutes or more")
    if free < needed:
        raise SystemExit("too little room; --rows takes fewer, --quick a hundredth")


def learn_links(database_url: str, seed: int, niceness: Mapping[str, int]) -> None:
    """Make links with endpoints and models, by an upload and the workers."""
    tenant_id, rows = uuid4(), LEARNED_LINKS * LEARNED_ROWS_A_LINK
    print_now(f"learning {LEARNED_LINKS} links from {rows:,} rows")
    store_logs(database_url, tenant_id, draw_ndjson_lines(rows, links=LEARNED_LINKS, seed=seed))
    with (
        EmbeddedValkey.temporary() as valkey,
        build_container(database_url=database_url, redis_url=valkey.url()) as parts,
        run_workers(database_url, valkey.url(), niceness=niceness),
    ):
        refresh_models(parts, tenant_id)


def fill_days(stored: StoredRows, store: Store, days: int, rows_a_day: int) -> None:
    """Store and roll up the days that are missing, the oldest first."""
    admin, started = stored.admin, time.monotonic()
    admin.execute("CREATE SCHEMA IF NOT EXISTS benchmark")
    admin.execute("CREATE TABLE IF NOT EXISTS benchmark.days (day date PRIMARY KEY)")
    today = datetime.now(UTC).date()
    filled = {day for (day,) in admin.execute("SELECT day FROM benchmark.days")}
    missing = sorted({today - timedelta(days=ago) for ago in range(days)} - filled)
    if not missing:
        return
    for table in ("log", "quote"):
        admin.execute(f"SELECT ensure_{table}_partitions(%s)", [sorted({day.replace(day=1) for day in missing})])
    with ThreadPoolExecutor(DAYS_AT_ONCE) as pool:
        for number, _ in enumerate(pool.map(lambda day: store_day(stored, day, rows_a_day), missing), 1):
            RollUp(store.unit_of_work).run(stored.tenant_id)
            if number % DAYS_BETWEEN_REPORTS == 0:
                print_now(f"{number * rows_a_day:,} rows stored and rolled up in {time.monotonic() - started:.0f} s")
    admin.execute(COUNT_LINKS)
    admin.execute("VACUUM ANALYZE")  # as autovacuum does while logs come in
    admin.execute("CHECKPOINT")
    size = fetch_value(admin, "SELECT pg_database_size(current_database())")
    print_now(f"filled in {time.monotonic() - started:.0f} s; the database has {size / GB:.1f} GB")


def store_day(stored: StoredRows, day: date, rows: int) -> None:
    """Store all rows of one day, and mark the day as stored, in one transaction."""
    with psycopg.connect(stored.admin_url) as connection:
        store_rows(connection, stored, datetime(day.year, day.month, day.day, tzinfo=UTC), rows)
        connection.execute("INSERT INTO benchmark.days VALUES (%s)", [day])


def store_rows(admin: psycopg.Connection, stored: StoredRows, begins_at: datetime, rows: int) -> None:
    """Store rows of one day, spread over it and over all links."""
    values = {
        "tenant": stored.tenant_id,
        "batch": uuid4(),
        "rows": rows,
        "begins": begins_at,
        "rows_a_transfer": min(stored.rows_a_transfer, max(rows // LEAST_ROWS_A_TRANSFER, 1)),
    }
    with admin.transaction():
        for statement in (BATCH, LOGS, ENDS, QUOTES):
            admin.execute(statement, values)


def mark_days(stored: StoredRows, since: date | None = None) -> None:
    """Mark daily roll-ups to be made again, as if their rows had changed: from a day on, or all."""
    if since is None:
        stored.admin.execute("SELECT mark_all_days()")
    else:
        stored.admin.execute(MARK, {"since": since})


def fetch_value(admin: psycopg.Connection, query: str) -> Any:
    (value,) = admin.execute(query).fetchone() or (None,)
    return value


# Settings, data sets and rates are those of the benchmarks' workload, chosen by the row's number instead of at random.
LOGS = """
    INSERT INTO transfer_logs (
        tenant_id, id, link_id, batch_id, received_at, started_at, ended_at, protocol, direction, mover_version, chunk,
        transfer_id, bandwidth_bps, rtt_s, min_rtt_s, loss_rate, buffer_bytes, file_count, total_bytes, mean_file_bytes,
        concurrency, parallelism, pipelining, io_block_bytes, status, bytes_moved, files_done, files_failed,
        throughput_bps, retransmitted_bytes, usage_cpu, usage_memory, usage_nic, source_energy_j, source_dynamic_j,
        source_base_w, source_energy_method, source_energy_quality)
    SELECT %(tenant)s, uuidv7(), link, %(batch)s, at + interval '2 minutes', at, at + seconds * interval '1 s', 'https',
           'download', '0.1.0', 'whole', CASE WHEN n %% %(rows_a_transfer)s = 0 THEN gen_random_uuid() END,
           1e9, 0.06, 0.05, 1e-5, 4194304, files, files * size, size, (ARRAY[1,2,3,4,6,8,12,16,24,32])[1 + n %% 10],
           (ARRAY[1,2,3,4,6,8])[1 + n / 10 %% 6], (ARRAY[0,1,2,4,8,16,32])[1 + n / 60 %% 7], 262144, 'succeeded',
           files * size, files, 0, 8.0 * files * size / seconds, n %% 1000, 0.3, 0.31, 0.5,
           (60 + n %% 20) * seconds, (25 + n %% 20) * seconds, 35, CASE n %% 2 WHEN 0 THEN 'rapl' ELSE 'cpu_model' END,
           CASE n %% 2 WHEN 0 THEN 'measured' ELSE 'calibrated' END
      FROM (
          SELECT n, (10 + n %% 190)::bigint AS files, (ARRAY[65536, 2097152, 134217728])[1 + n %% 3] AS size,
                 20.0 + n %% 40 AS seconds, known.ids[1 + n * 7919 %% cardinality(known.ids)] AS link,
                 %(begins)s::timestamptz + n * (interval '1 day' / (%(rows)s + 1)) AS at
            FROM generate_series(1, %(rows)s) n,
                 (SELECT array_agg(id ORDER BY id) AS ids FROM links WHERE tenant_id = %(tenant)s) known
      ) drawn
"""

BATCH = """
    INSERT INTO batches (id, tenant_id, idempotency_key, content_sha256, received_at, accepted, rejected,
        already_stored, rejections)
    VALUES (%(batch)s, %(tenant)s, %(batch)s, sha256(%(batch)s::text::bytea), %(begins)s, %(rows)s, 0, 0, '[]')
"""

ENDS = """
    INSERT INTO transfers (tenant_id, id, started_at, source, destination, network, mover, sla, file_count, total_bytes,
        sequence, journalled_sequence, bytes_moved, throughput_bps, ended_at, status, energy_j, energy, agreement_kept,
        link_id, duration_s, key_id)
    SELECT g.tenant_id, g.transfer_id, g.started_at, s.name, d.name, l.network, l.mover, 'deadline', g.file_count,
           g.total_bytes, 8, 8, g.bytes_moved, g.throughput_bps, g.ended_at, g.status, g.source_energy_j,
           CASE WHEN g.source_energy_j IS NULL THEN '[]'
                ELSE jsonb_build_array(jsonb_build_object('host', 'source', 'total_j', g.source_energy_j,
                    'method', g.source_energy_method, 'quality', g.source_energy_quality)) END,
           g.total_bytes %% 11 <> 0, g.link_id, extract(epoch FROM g.ended_at - g.started_at)::float8,
           known.ids[1 + (hashtext(g.id::text) & 1023) %% greatest(cardinality(known.ids), 1)]
      FROM transfer_logs g
      JOIN (SELECT array_agg(id ORDER BY id) AS ids FROM api_keys WHERE tenant_id = %(tenant)s) known ON true
      JOIN links l ON l.id = g.link_id
      JOIN endpoints s ON s.id = l.source_id JOIN endpoints d ON d.id = l.destination_id
     WHERE g.tenant_id = %(tenant)s AND g.transfer_id IS NOT NULL
       AND g.started_at >= %(begins)s AND g.started_at < %(begins)s::timestamptz + interval '1 day'
    ON CONFLICT DO NOTHING
"""

QUOTES = """
    INSERT INTO quotes (tenant_id, transfer_id, at, key_id, link_id, tier_id, book_id, amount, currency, energy_basis,
        sla, total_bytes, throughput_bps)
    SELECT t.tenant_id, t.id, t.started_at, t.key_id, t.link_id,
           tiers.ids[1 + mod(t.number, cardinality(tiers.ids))], gen_random_uuid(),
           round((t.total_bytes / 1e9 * 0.02)::numeric, 6), 'EUR', 'total', 'deadline',
           t.total_bytes, t.throughput_bps
      FROM (
          SELECT *, (hashtext(id::text) & 1048575) AS number FROM transfers
           WHERE tenant_id = %(tenant)s AND started_at >= %(begins)s
             AND started_at < %(begins)s::timestamptz + interval '1 day'
      ) t,
      (SELECT array_agg(DISTINCT tier_id) AS ids FROM sla_partitions WHERE tenant_id = %(tenant)s) tiers
    ON CONFLICT DO NOTHING
"""

KEYS = """
    WITH key AS (
        INSERT INTO api_keys (tenant_id, name, prefix, secret_sha256, scopes, weight, rate_factor, created_at)
        SELECT tenants.id, 'customer ' || n, 'tw_' || substr(md5(n::text), 1, 8), sha256(n::text::bytea), '{agent}', 1,
               1, now()
          FROM tenants, generate_series(1, %(keys)s) n
        RETURNING tenant_id, id, name
    ), customer AS (
        INSERT INTO customers (tenant_id, number, name, contact_name, contact_email, note, created_at)
        SELECT tenant_id, row_number() OVER (), name, '', '', '', now() FROM key
        RETURNING id, name
    )
    INSERT INTO customer_keys (tenant_id, key_id, from_at, customer_id)
    SELECT key.tenant_id, key.id, '2000-01-01', customer.id FROM key JOIN customer USING (name)
"""

MORE_LINKS = """
    WITH made AS (
        INSERT INTO links (tenant_id, source_id, destination_id, network, mover)
        SELECT tenant_id, source_id, destination_id, concat_ws(' ', network, 'by way', n), mover
          FROM links, generate_series(1, %(each)s) n
        RETURNING *
    )
    INSERT INTO release_links (tenant_id, release_id, link_id, link_model_id, state, verdict, logs_version)
    SELECT r.tenant_id, r.release_id, made.id, r.link_model_id, r.state, r.verdict, r.logs_version
      FROM made JOIN links l USING (tenant_id, source_id, destination_id, mover)
      JOIN release_links r ON r.link_id = l.id
     WHERE made.network LIKE concat_ws(' ', l.network, 'by way %%')
"""

COUNT_LINKS = """
    UPDATE links SET rows = counted.rows, last_log_at = counted.last_log_at
      FROM (SELECT link_id, count(*) AS rows, max(ended_at) AS last_log_at FROM transfer_logs GROUP BY 1) counted
     WHERE counted.link_id = links.id
"""

MARK = """
    INSERT INTO rollup_marks (tenant_id, day, link_id)
    SELECT tenant_id, day, link_id FROM daily_rollups WHERE day >= %(since)s
"""
