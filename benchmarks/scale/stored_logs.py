"""A database with the logs of one tenant, made as fast as possible and stored between runs.

Rows are copied in without indexes and triggers, which are restored afterwards: the result is what uploads would have
left, except the marks of daily rollups, which no refresh reads.
"""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
from psycopg import sql

from benchmarks.pipeline import DroppingOutbox
from benchmarks.scale.rows import COLUMNS, Span, draw_csv_blocks
from benchmarks.support.report import ROOT
from benchmarks.support.stored_database import (
    digest_row_sources,
    has_rows,
    open_stored_server,
    print_now,
    record_row_sources,
)
from benchmarks.support.workload import FIRST_START, SPAN, LinkLaw, draw_link_laws
from services.application.logs.rows import NewRows
from services.embedded.postgres import EmbeddedPostgres
from services.persistence.migrate import prepare_database
from services.persistence.store import Store
from tradewind.transfer import LinkKey
from tradewind.units import GB

FOLDER = ROOT / "var" / "bench" / "scale"
ROW_SOURCES = ("benchmarks/support/workload.py", "benchmarks/scale/rows.py")
"""Files that rows depend on."""

BYTES_A_ROW = 1_000
"""Disk space while rows are copied in: the row, its indexes, the write-ahead log."""


@dataclass(frozen=True, slots=True)
class Size:
    """The number of rows and links."""

    rows: int
    links: int

    def __str__(self) -> str:
        return f"{self.rows}-rows-{self.links}-links"


@dataclass(frozen=True)
class StoredLogs:
    """A running database with the rows of one tenant, and the connection of its superuser."""

    server: EmbeddedPostgres
    admin: psycopg.Connection
    database_url: str
    tenant_id: UUID
    laws: Sequence[LinkLaw]
    link_ids: Sequence[UUID]


@contextmanager
def open_stored_logs(size: Size, *, seed: int, folder: Path) -> Iterator[StoredLogs]:
    """Yield the rows without a model; make them, unless they are in ``folder`` already.

    Raises
    ------
    SystemExit : there is no room, or another run uses the folder.
    """
    folder, row_sources = folder / name_stored(size, seed), digest_row_sources(ROW_SOURCES, f"{seed}")
    with open_stored_server(folder, row_sources) as server:
        database_url = prepare_database(server.url())
        with psycopg.connect(server.url(), autocommit=True) as admin:
            if not has_rows(server):
                require_room(folder, size.rows)
                make_rows(admin, database_url, size, seed)
                record_row_sources(server, row_sources)
            tenant_id, link_ids = read_ids(admin)
            forget_models(admin)
            yield StoredLogs(server, admin, database_url, tenant_id, draw_link_laws(size.links, seed), link_ids)


def name_stored(size: Size, seed: int) -> str:
    """Return the name of what a run stores."""
    return f"{size}-seed-{seed}"


def require_room(folder: Path, rows: int) -> None:
    needed, free = rows * BYTES_A_ROW, shutil.disk_usage(folder).free
    if free < needed:
        raise SystemExit(f"{folder}: {needed / GB:.1f} GB are needed, {free / GB:.1f} GB are free; --rows takes fewer")


def make_rows(admin: psycopg.Connection, database_url: str, size: Size, seed: int) -> None:
    """Make a tenant, its links and their rows."""
    tenant_id, laws, started = uuid4(), draw_link_laws(size.links, seed), time.monotonic()
    keys = [LinkKey(law.source, law.destination, law.network, "tradewind") for law in laws]
    with Store(database_url, DroppingOutbox()) as store, store.unit_of_work(tenant_id) as uow:
        uow.tenants.add("benchmark")
        found = uow.links.resolve(keys)
        uow.commit()
    link_ids = [found[key].id for key in keys]
    span = Span(FIRST_START, SPAN)
    months = sorted({date(at.year, at.month, 1) for at in (span.starts_at, span.starts_at + span.lasts)})
    first, last = months[0], months[-1]
    months_to_cover = [date(first.year, month, 1) for month in range(first.month, last.month + 1)]
    admin.execute("SELECT ensure_log_partitions(%s)", [months_to_cover])
    admin.execute("SET maintenance_work_mem = '512MB'")
    with remove_indexes(admin):
        add_rows(admin, size.rows, laws=laws, link_ids=link_ids, span=span, tenant_id=tenant_id, seed=seed)
    admin.execute(COUNT_LINKS)
    admin.execute("VACUUM ANALYZE")  # as autovacuum does while logs come in
    admin.execute("CHECKPOINT")
    (bytes_,) = admin.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
    print_now(f"{size.rows:,} rows in {time.monotonic() - started:.0f} s; the database has {bytes_ / GB:.1f} GB")


def add_rows(
    admin: psycopg.Connection,
    rows: int,
    *,
    laws: Sequence[LinkLaw],
    link_ids: Sequence[UUID],
    span: Span,
    tenant_id: UUID,
    seed: int,
) -> None:
    """Copy rows in."""
    copied, reported_s = 0, time.monotonic()
    columns = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
    statement = sql.SQL("COPY transfer_logs ({}) FROM STDIN WITH (FORMAT csv)").format(columns)
    blocks = draw_csv_blocks(
        rows, laws=laws, link_ids=link_ids, span=span, tenant_id=tenant_id, batch_id=uuid4(), seed=seed
    )
    with admin.cursor() as cursor, cursor.copy(statement) as copy:
        for block in blocks:
            copy.write(block)
            copied += block.count(b"\n")
            if time.monotonic() - reported_s > REPORT_EVERY_S:
                reported_s = time.monotonic()
                print_now(f"{copied:,} of {rows:,} rows copied")


REPORT_EVERY_S = 30.0


@contextmanager
def remove_indexes(admin: psycopg.Connection) -> Iterator[None]:
    """Remove all indexes, keys and triggers of the logs within the block, and restore them afterwards."""
    indexes = admin.execute(
        """
        SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
         WHERE indrelid = 'transfer_logs'::regclass AND NOT indisprimary
        """
    ).fetchall()
    key, columns = admin.execute(
        """
        SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
         WHERE conrelid = 'transfer_logs'::regclass AND contype = 'p'
        """
    ).fetchone() or ("", "")
    for name, _ in indexes:
        admin.execute(f"DROP INDEX {name}")
    admin.execute(f'ALTER TABLE transfer_logs DROP CONSTRAINT "{key}"')
    admin.execute("SET session_replication_role = replica")
    yield
    admin.execute("RESET session_replication_role")
    admin.execute(f'ALTER TABLE transfer_logs ADD CONSTRAINT "{key}" {columns}')
    for _, definition in indexes:
        admin.execute(definition.replace(" ON ONLY ", " ON ", 1))  # of all months, not only of their parent


def add_new_logs(data: StoredLogs, links: Sequence[UUID], rows: int, *, seed: int) -> None:
    """Add new rows of some links, of the last day, counted as an upload counts them; other ones in each run."""
    (before,) = data.admin.execute("SELECT sum(rows)::bigint FROM links").fetchone() or (0,)
    laws = dict(zip(data.link_ids, data.laws, strict=True))
    span = Span(FIRST_START + SPAN - timedelta(days=1), timedelta(days=1))
    add_rows(
        data.admin,
        rows,
        laws=[laws[each] for each in links],
        link_ids=links,
        span=span,
        tenant_id=data.tenant_id,
        seed=seed + int(before),
    )
    with Store(data.database_url, DroppingOutbox()) as store, store.unit_of_work(data.tenant_id) as uow:
        uow.links.count({each: NewRows(rows // len(links), datetime.now(UTC)) for each in links})
        uow.commit()


def read_ids(admin: psycopg.Connection) -> tuple[UUID, Sequence[UUID]]:
    """Return the tenant, and its links in the order of their laws."""
    (tenant_id,) = admin.execute("SELECT id FROM tenants").fetchone() or (None,)
    ids = [link_id for (link_id,) in admin.execute(LINKS_IN_ORDER)]
    return tenant_id, ids


def forget_models(admin: psycopg.Connection) -> None:
    """Restore the state before the first refresh: no release, no model, no curve."""
    admin.execute("TRUNCATE releases, link_models, endpoint_curves CASCADE")
    admin.execute("UPDATE links SET fitted_version = 0, refit_rows = NULL, refit_at = NULL")


COUNT_LINKS = """
    UPDATE links SET rows = counted.rows, last_log_at = counted.last_log_at, logs_version = 1
      FROM (SELECT link_id, count(*) AS rows, max(ended_at) AS last_log_at FROM transfer_logs GROUP BY 1) counted
     WHERE counted.link_id = links.id
"""

LINKS_IN_ORDER = """
    SELECT l.id FROM links l JOIN endpoints s ON s.id = l.source_id JOIN endpoints d ON d.id = l.destination_id
     ORDER BY substring(d.name FROM '[0-9]+')::int, substring(s.name FROM '[0-9]+')::int
"""
